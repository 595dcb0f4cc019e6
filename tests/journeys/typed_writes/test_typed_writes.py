"""Typed writes, as in the contract's section *Typed writes*: cells before and after, and calls."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from tests.journeys.conftest import (
    Api,
    OpenGateway,
)
from tests.journeys.failure import refused
from tests.journeys.typed_writes.sheets import (
    BATCH,
    COLUMNS,
    SEARCH,
    TABS,
    cells_of,
    edit,
    formatted,
    held,
    patch,
    post,
    spent,
    where,
)


@pytest.mark.parametrize("way", ["row", "list", "filter", "upsert"])
def test_a_typed_record_sent_back_changes_nothing(typed: Api, way: str) -> None:
    """Numbers, moments, booleans, errors, results of formulas and texts are left as they are."""
    records = typed.get("Typed?values=typed").json()["results"]
    before = typed.emulator.everything()
    assert records[0] == {
        "rowIndex": 2, "name": "ann", "day": "2026-02-01", "at": "2026-02-01T10:30:00",
        "clock": "21:15:00", "length": "PT25H30M", "price": 5, "share": 0.5, "done": True,
        "text": "2026-02-01", "sum": 10, "bad": None, "empty": None,
    }  # fmt: skip

    match way:
        case "row":
            answers = [patch(typed, f"Typed/{each['rowIndex']}", each) for each in records]
        case "list":
            answers = [patch(typed, "Typed", records)]
        case "filter":
            filters = [where(name=each["name"]) for each in records]
            answers = [
                patch(typed, f"Typed?{each}", record)
                for each, record in zip(filters, records, strict=True)
            ]
        case _:
            answers = [post(typed, "Typed?on_conflict=name", records)]

    assert [answer.status_code for answer in answers] == [200] * len(answers)
    assert spent(typed)[1] == 0
    assert typed.emulator.everything() == before


SPELLINGS: list[tuple[str, object]] = [
    ("price", 5.0),
    ("price", "5"),
    ("day", "2026-02-01T00:00"),
    ("at", "2026-02-01 10:30"),
    ("at", "2026-02-01T10:30:00.000"),
    ("clock", "21:15"),
    ("clock", "9:15:00 PM"),
    ("length", "25:30:00"),
    ("length", "PT1530M"),
    ("done", "TRUE"),
    ("text", "2026-02-01"),
    ("sum", 10),
    ("sum", "10"),
    ("bad", None),
    ("bad", "#DIV/0!"),
    ("empty", None),
    ("empty", ""),
]


@pytest.mark.parametrize(("field", "sent"), SPELLINGS)
def test_a_value_in_another_spelling_changes_nothing(typed: Api, field: str, sent: object) -> None:
    """The same number or moment, and the text that the cell displays, are not written."""
    before = typed.emulator.everything()

    answer = patch(typed, "Typed/2", {field: sent})

    assert answer.status_code == 200
    assert spent(typed)[1] == 0
    assert typed.emulator.everything() == before


CHANGES: list[tuple[str, object, object, str]] = [
    ("price", 6, 6, "6"),
    ("price", "05", "05", "05"),
    ("price", True, True, "TRUE"),
    ("done", False, False, "FALSE"),
    ("done", 1, 1, "1"),
    ("text", "5", "5", "5"),
    ("text", 5, 5, "5"),
    ("sum", 11, 11, "11"),
    ("sum", "=1+1", "=1+1", "=1+1"),
    ("bad", "", None, ""),
    ("bad", 1, 1, "1"),
    ("price", None, None, ""),
    ("day", "", None, ""),
    ("day", 5, 5, "1900-01-04"),
    ("day", "soon", "soon", "soon"),
    ("day", "10:30", "10:30", "10:30"),
    ("clock", "2026-02-01", "2026-02-01", "2026-02-01"),
    ("price", "2026-02-01", "2026-02-01", "2026-02-01"),
    ("text", "2026-03-01", "2026-03-01", "2026-03-01"),
    ("text", "2026-03-01T10:30:00Z", "2026-03-01T10:30:00Z", "2026-03-01T10:30:00Z"),
    ("empty", "2026-03-01", "2026-03-01", "2026-03-01"),
    ("empty", "10:30", "10:30", "10:30"),
]
"""Field, sent value, and the cell after it: what is no moment of its column is as ever."""


@pytest.mark.parametrize(("field", "sent", "value", "text"), CHANGES)
def test_another_value_is_written(
    typed: Api, field: str, sent: object, value: object, text: str
) -> None:
    """A value of another kind, and a text in a column of another kind, are stored as they are."""
    answer = patch(typed, "Typed/2", {field: sent})

    assert answer.status_code == 200
    assert spent(typed)[1] == 1
    assert held(typed, "Typed", 2, field) == (value, text)


@pytest.mark.parametrize("way", ["row", "filter", "upsert"])
def test_a_number_that_displays_nothing_is_emptied(typed: Api, way: str) -> None:
    """`null` is another value than a number, whatever that displays."""
    edit(typed, formatted("Typed", 2, 5, "NUMBER", ";;;"))
    match way:
        case "row":
            answer = patch(typed, "Typed/2", {"price": None})
        case "filter":
            answer = patch(typed, f"Typed?{where(name='ann')}", {"price": None})
        case _:
            answer = post(typed, "Typed?on_conflict=name", [{"name": "ann", "price": None}])

    assert answer.status_code == 200
    assert held(typed, "Typed", 2, "price") == (None, "")


MOMENTS: list[tuple[str, str, float, str]] = [
    ("day", "2026-02-03", 46056, "2026-02-03"),
    ("day", "2026-02-03T12:00", 46056.5, "2026-02-03"),
    ("at", "2026-02-03", 46056, "2026-02-03 0:00:00"),
    ("at", "2026-02-03T12:00:00", 46056.5, "2026-02-03 12:00:00"),
    ("at", "2026-02-03 06:00", 46056.25, "2026-02-03 6:00:00"),
    ("clock", "12:00", 0.5, "12:00:00 PM"),
    ("clock", "18:00:00", 0.75, "6:00:00 PM"),
    ("length", "12:00", 0.5, "12:00:00"),
    ("length", "36:00:00", 1.5, "36:00:00"),
    ("length", "PT36H", 1.5, "36:00:00"),
    ("length", "-PT12H", -0.5, "-12:00:00"),
]


@pytest.mark.parametrize(("field", "sent", "value", "text"), MOMENTS)
def test_a_moment_is_stored_as_a_serial_number(
    typed: Api, field: str, sent: str, value: float, text: str
) -> None:
    """A date for a column of dates and a clock for one of clocks are numbers, and shown as such."""
    answer = patch(typed, "Typed/2", {field: sent})
    read = typed.get("Typed/2?values=typed").json()
    again = patch(typed, "Typed/2", read)

    assert answer.status_code == again.status_code == 200
    assert held(typed, "Typed", 2, field) == (value, text)
    assert typed.emulator.calls()[1] == 1


@pytest.mark.parametrize(
    ("sent", "text", "value"),
    [
        ("25:30:00", "25:30:00", "PT25H30M"),
        ("-1:30", "-1:30:00", "-PT1H30M"),
        ("PT24H", "24:00:00", "PT24H"),
    ],
)
def test_a_duration_in_a_column_of_times_of_day(
    typed: Api, sent: str, text: str, value: str
) -> None:
    """It is displayed as one, because a time of day would be read in its place."""
    answers = [patch(typed, "Typed/2", {"clock": sent}) for _ in range(2)]
    upserted = post(typed, "Typed?on_conflict=clock", {"clock": sent})

    assert [answer.json()["clock"] for answer in answers] == [value, value]
    assert held(typed, "Typed", 2, "clock")[1] == text
    assert (upserted.status_code, upserted.json()["results"][0]["rowIndex"]) == (200, 2)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "Typed/2", {"day": "2026-02-03T10:30:00.000Z", "name": "x"}),
        ("PATCH", "Typed", [{"rowIndex": 2, "day": "2026-02-03T10:30:00+02:00"}]),
        ("PATCH", "Typed?" + where(name="ann"), {"day": "2026-02-03T10:30:00Z"}),
        ("POST", "Typed", {"name": "x", "day": "2026-02-03T10:30:00Z"}),
        ("POST", "Typed", [{"name": "x"}, {"day": "2026-02-03T10:30:00Z"}]),
        (
            "POST",
            "Typed?on_conflict=name",
            [{"name": "x"}, {"name": "ann", "day": "2026-02-03T10:30Z"}],
        ),
    ],
)
def test_a_moment_with_an_offset_is_refused(
    typed: Api, method: str, path: str, body: object
) -> None:
    """The error names the field, and how to send the moment; nothing is written."""
    before = typed.emulator.everything()
    send = patch if method == "PATCH" else post

    answer = send(typed, path, body)

    assert refused(answer) == (400, 104)
    place = "#/day" if isinstance(body, dict) else f"#/{len(body) - 1}/day"  # type: ignore[arg-type]
    (problem,) = answer.json()["errors"]
    assert problem["pointer"] == place
    assert "2026-02-03T10:30:00." in problem["detail"]
    assert "Convert it to that time zone" in problem["detail"]
    assert typed.emulator.everything() == before
    assert spent(typed)[1] == 0


@pytest.mark.parametrize(
    ("row", "text"),
    [(2, "2026-03-04"), (3, "3/4/2026"), (4, "04-Mar-2026"), (6, "04-Mar-2026")],
    ids=["first row", "own format", "blank cell", "new row"],
)
def test_the_format_of_a_column(typed: Api, row: int, text: str) -> None:
    """The format is that of the written cell, else of the last record's row."""
    typed.get("Chain")
    sent = {"day": "2026-03-04"}
    answer = patch(typed, f"Chain/{row}", sent) if row < 6 else post(typed, "Chain", sent)

    assert answer.status_code in (200, 201)
    assert held(typed, "Chain", row, "day") == (46085, text)


def test_the_format_of_a_column_that_was_not_seen(fresh: Api) -> None:
    """A gateway that does not know where a small worksheet ends sees its last record, too."""
    updated = patch(fresh, "Chain/4", {"day": "2026-03-04"})
    calls = fresh.emulator.calls()

    assert updated.status_code == 200
    assert calls == (1, 1)
    assert held(fresh, "Chain", 4, "day") == (46085, "04-Mar-2026")


def test_the_format_of_the_first_data_row(typed: Api) -> None:
    """Where neither the written cell nor the last record's row has a format, it is the first's."""
    typed.get("First")
    updated = patch(typed, "First/3", {"day": "2026-03-04"})
    created = post(typed, "First", {"day": "2026-03-05"})

    assert (updated.status_code, created.status_code) == (200, 201)
    assert held(typed, "First", 3, "day") == (46085, "2026-03-04")
    assert held(typed, "First", 4, "day") == (46086, "2026-03-05")


VALIDATION = {"condition": {"type": "DATE_IS_VALID"}}
TABLE = {
    "name": "Days",
    "range": {"startRowIndex": 0, "endRowIndex": 2, "startColumnIndex": 0, "endColumnIndex": 3},
    "columnProperties": [
        {"columnIndex": 0, "columnType": "TEXT"},
        {"columnIndex": 1, "columnType": "DATE"},
    ],
}
EMPTY_COLUMNS: Mapping[str, tuple[Sequence[Mapping[str, Any]], object, str]] = {
    "own format": ([formatted("Blank", 2, 1, "DATE", "d mmm yyyy")], 46085, "4 Mar 2026"),
    "date validation": (
        [{"setDataValidation": {"range": cells_of("Blank", 2, 1), "rule": VALIDATION}}],
        46085,
        "3/4/2026",
    ),
    "native table": (
        [
            {
                "addTable": {
                    "table": {
                        **TABLE,
                        "range": {"sheetId": TABS.index("Blank"), **TABLE["range"]},  # type: ignore[dict-item]
                    }
                }
            }
        ],
        46085,
        "3/4/2026",
    ),
    "text format": ([formatted("Blank", 2, 1, "TEXT", "@")], "2026-03-04", "2026-03-04"),
    "custom number format": (
        [formatted("Blank", 2, 1, "NUMBER", "0.00")],
        "2026-03-04",
        "2026-03-04",
    ),
    "nothing": ([], "2026-03-04", "2026-03-04"),
}


@pytest.mark.parametrize("form", EMPTY_COLUMNS)
@pytest.mark.parametrize("way", ["update", "create"])
def test_the_kind_of_an_empty_column(typed: Api, form: str, way: str) -> None:
    """It is that of its own format, else of the native table or the validation, else text."""
    requests, value, text = EMPTY_COLUMNS[form]
    if requests:
        edit(typed, *requests)
    sent = {"day": "2026-03-04"}
    answer = patch(typed, "Blank/2", sent) if way == "update" else post(typed, "Blank", sent)
    row = 2 if way == "update" else 3

    assert answer.status_code in (200, 201)
    assert held(typed, "Blank", row, "day") == (value, text)


def test_formats_of_other_cells_stay(typed: Api) -> None:
    """A moment beside cells with formats changes none of them: in the row, nor in a new row."""
    edit(typed, formatted("Typed", 3, 11, "CURRENCY", '"€"0.00', rows=1))
    typed.get("Typed")
    patch(typed, "Typed/3", {"price": 7, "day": "2026-03-04", "share": 0.25, "empty": 4})
    post(typed, "Typed", {"price": 8, "day": "2026-03-05", "share": 0.25, "empty": 4})

    shown = [typed.emulator.texts("Typed")[at] for at in (2, 3)]
    picked = [
        [row[COLUMNS.index(name)] for name in ("day", "price", "share", "empty")] for row in shown
    ]
    assert picked == [["3/4/2026", "$7.00", "25%", "€4.00"], ["3/5/2026", "$8.00", "25%", "€4.00"]]


def test_formats_of_neighbours_stay(typed: Api) -> None:
    """Cells beside a moment, which one request could write, keep their formats."""
    answer = patch(
        typed,
        "Typed/3",
        {"day": "2026-03-04", "at": 46056.5, "clock": "10:00", "length": 0.5, "price": 8},
    )

    assert answer.status_code == 200
    assert typed.emulator.texts("Typed")[2][:6] == [
        "bob", "3/4/2026", "2026-02-03 12:00:00", "10:00:00", "12:00:00", "$8.00"
    ]  # fmt: skip


def test_a_new_row_keeps_the_formats_that_stand_below_the_last_record(start: OpenGateway) -> None:
    """Formats that people gave to blank rows are those of rows created there, moments or not."""
    api = start()
    grow = {
        "appendDimension": {
            "sheetId": TABS.index("Chain"),
            "dimension": "ROWS",
            "length": 5,
        }
    }
    edit(api, grow, formatted("Chain", 6, 0, "NUMBER", "0.000", rows=5))
    api.get("Chain")
    created = post(api, "Chain", {"name": 7, "day": "2026-03-04"})

    assert created.status_code == 201
    assert api.emulator.texts("Chain")[5] == ["7.000", "04-Mar-2026"]


def test_each_cell_of_new_rows_has_a_format_of_its_own(typed: Api) -> None:
    """Rows of one request: a moment gets the format of its column, the others what stands there."""
    typed.get("Chain")
    created = post(
        typed,
        "Chain",
        [{"name": "a", "day": "2026-03-04"}, {"name": "b", "day": "soon"}, {"name": "c"}],
    )

    assert created.status_code == 201
    assert typed.emulator.texts("Chain")[5:] == [["a", "04-Mar-2026"], ["b", "soon"], ["c"]]


def test_a_formula_that_displays_a_date_gives_way_to_one(typed: Api) -> None:
    """The format that a cell had from its formula stays with the moment."""
    answer = patch(typed, "Typed/3", {"sum": "2026-03-04"})

    assert answer.status_code == 200
    assert held(typed, "Typed", 3, "sum") == (46085, "3/4/2026")


# Costs.

NAMED = where(name="ann")
UPSERT = "Typed?on_conflict=name"
ROW_2 = "where=" + quote('{"rowIndex":2}')
COSTS: Mapping[str, tuple[str, str, object, tuple[int, int]]] = {
    "update": ("PATCH", "Typed/2", {"price": 7}, (1, 1)),
    "update, moment": ("PATCH", "Typed/2", {"day": "2026-03-04"}, (1, 1)),
    "update, unchanged moment": ("PATCH", "Typed/2", {"day": "2026-02-01"}, (1, 0)),
    "list, moments": (
        "PATCH", "Typed", [{"rowIndex": row, "day": f"2026-03-0{row}"} for row in (2, 3)], (1, 1)
    ),
    "create": ("POST", "Typed", {"price": 7}, (1, 1)),
    "create, moment": ("POST", "Typed", {"day": "2026-03-04"}, (1, 1)),
    "filter": ("PATCH", f"Typed?{NAMED}", {"price": 7}, (3, 1)),
    "filter, moment": ("PATCH", f"Typed?{NAMED}", {"day": "2026-03-04"}, (4, 1)),
    "filter, unchanged moment": ("PATCH", f"Typed?{NAMED}", {"day": "2026-02-01"}, (3, 0)),
    "filter of row numbers": ("PATCH", f"Typed?{ROW_2}", {"price": 7}, (3, 1)),
    "upsert": ("POST", UPSERT, [{"name": "ann", "price": 7}, {"name": "x"}], (4, 1)),
    "upsert, moment": ("POST", UPSERT, [{"name": "ann", "day": "2026-03-04"}], (4, 1)),
    "upsert, new moment": ("POST", UPSERT, [{"name": "x", "day": "2026-03-04"}], (4, 1)),
}  # fmt: skip
"""Method, path, body, and calls of a gateway that has seen nothing.

The rows have formulas, so new rows of an upsert cost a look at the end.
"""


@pytest.mark.parametrize("case", COSTS)
def test_calls_of_a_typed_write(fresh: Api, case: str) -> None:
    """A moment costs updates and creates no call more, filters and upserts one read if they write
    it."""
    method, path, body, calls = COSTS[case]

    answer = (patch if method == "PATCH" else post)(fresh, path, body)

    assert answer.status_code in (200, 201)
    assert spent(fresh) == calls


def test_calls_of_typed_creates_one_after_another(fresh: Api) -> None:
    """The formats of columns are kept as the header is; new rows have those of the row above."""
    calls = []
    for body in [{"price": 1}, {"day": "2026-03-04"}, {"day": "2026-03-05"}, {"price": 2}]:
        before = fresh.emulator.calls()
        assert post(fresh, "Typed", body).status_code == 201
        calls.append(spent(fresh, before))

    assert calls == [(1, 1), (0, 1), (0, 1), (0, 1)]
    assert [row[1] for row in fresh.emulator.texts("Typed")[4:6]] == ["3/4/2026", "3/5/2026"]


def test_calls_of_forms(fresh: Api) -> None:
    """A form costs what a moment costs."""
    calls = []
    for method, path in [("POST", "Form"), ("POST", "Form"), ("PATCH", "Form/2")]:
        before = fresh.emulator.calls()
        answer = fresh.send(method, f"{path}?values=typed", data={"count": "7"})
        assert answer.status_code in (200, 201)
        calls.append(spent(fresh, before))

    assert calls == [(1, 1), (0, 1), (1, 1)]
    assert [held(fresh, "Form", row, "count") for row in (2, 3, 4)] == [(7, "7")] * 3


def test_writes_of_one_batch(fresh: Api) -> None:
    """Typed and other creates that go to Google together: each row is stored as it was meant."""
    fresh.get("Typed")
    fresh.emulator.faults({"call": BATCH, "delay_ms": 300})
    bodies: list[tuple[str, dict[str, Any]]] = []
    for number in range(6):
        query = "?values=typed" if number % 2 else ""
        bodies.append((query, {"name": f"n{number}", "day": "2026-03-04", "price": number}))
    with ThreadPoolExecutor(len(bodies)) as pool:
        answers = [*pool.map(lambda sent: fresh.post(f"Typed{sent[0]}", json=sent[1]), bodies)]
    batches = fresh.emulator.stats()["calls"][BATCH]

    assert [answer.status_code for answer in answers] == [201] * len(bodies)
    assert batches < len(bodies)
    for (query, body), answer in zip(bodies, answers, strict=True):
        row = answer.json()["rowIndex"]
        assert held(fresh, "Typed", row, "name")[0] == body["name"]
        assert held(fresh, "Typed", row, "price")[0] == body["price"]
        assert held(fresh, "Typed", row, "day")[0] == (46085 if query else "2026-03-04")


def test_an_upsert_uses_the_kept_formats_for_new_rows(fresh: Api) -> None:
    """A row with a moment that is created by key costs no read for formats that are known."""
    post(fresh, "Typed", {"day": "2026-03-04"})
    before = fresh.emulator.calls()

    answer = post(fresh, "Typed?on_conflict=name", [{"name": "x", "day": "2026-03-05"}])

    assert answer.status_code == 201
    assert spent(fresh, before) == (2, 1)


def test_columns_that_moved_have_their_own_formats(fresh: Api) -> None:
    """Formats that are kept count for the header that they were seen with only."""
    post(fresh, "Typed", {"day": "2026-03-04"})
    lines = {"sheetId": TABS.index("Typed"), "dimension": "COLUMNS", "startIndex": 1, "endIndex": 2}
    edit(fresh, {"moveDimension": {"source": lines, "destinationIndex": 9}})

    answer = post(fresh, UPSERT, [{"name": "x", "day": "2026-03-05", "text": "2026-03-05"}])

    assert answer.status_code == 201
    assert held(fresh, "Typed", 5, "day") == (46086, "3/5/2026")
    assert held(fresh, "Typed", 5, "text") == ("2026-03-05", "2026-03-05")


def test_updates_of_no_moments_look_at_no_formats(typed: Api) -> None:
    """They request no number formats, and send none."""
    typed.emulator.check()
    api, body = typed, {"name": "x", "price": 5, "text": "soon"}
    api.send("PATCH", "Typed/2", json={**body, "day": "2026-03-04"})
    patch(api, "Typed/3", body)
    patch(api, f"Typed?{where(name='x')}", {"price": 6})
    sent = [
        each
        for each in api.emulator.take_exchanges()
        if b"Format" in each.body or "Format" in each.query
    ]

    assert sent == []


def test_a_last_row_that_is_gone_costs_two_reads(fresh: Api) -> None:
    """Formats of a last row that people removed are not missed: the first data row has them."""
    fresh.get("Chain")
    gone = {
        "sheetId": TABS.index("Chain"),
        "dimension": "ROWS",
        "startIndex": 4,
        "endIndex": 5,
    }
    edit(fresh, {"deleteDimension": {"range": gone}})
    before = fresh.emulator.calls()
    updated = patch(fresh, "Chain/4", {"day": "2026-03-04"})
    calls = spent(fresh, before)

    assert updated.status_code == 200
    assert calls == (3, 1)
    assert held(fresh, "Chain", 4, "day") == (46085, "2026-03-04")


@pytest.mark.parametrize(
    ("path", "row", "reads"), [("Long", 42, 5), ("Long/2", 2, 2)], ids=["create", "update"]
)
def test_long_rows_cost_a_read_more(start: OpenGateway, path: str, row: int, reads: int) -> None:
    """If the first rows are too large to be read at once, the first data row shows the formats.

    All rows and the answer to the create, which shows them, are too large, too: 1 read is in vain,
    and 2 find the new row.
    """
    api = start({"google.max_answer_bytes": 100_000})

    post(api, path, {"day": "2026-03-04"})

    assert held(api, "Long", row, "day") == (46085, "2026-03-04")
    assert spent(api) == (reads, 1)


def test_numbers_of_many_digits(typed: Api) -> None:
    """They are stored as they are, and displayed as Google displays them."""
    for row, number in enumerate([123456789012345, 1234567890123456, 2**53, 0.1234567890123456], 3):
        assert post(typed, "Cold", {"price": number}).status_code == 201
        assert held(typed, "Cold", row, "price")[0] == number
        assert typed.get(f"Cold/{row}?values=typed").json()["price"] == number
    shown = [row[5] for row in typed.emulator.texts("Cold")[2:]]

    assert shown == ["123456789012345", "1.23457E+15", "9.0072E+15", "0.123456789"]
    assert refused(post(typed, "Cold", {"price": 2**53 + 1})) == (400, 104)


LOST = [{"drop": True}, {"status": 503}, {"status": 200, "text": "{}"}]


@pytest.mark.parametrize("fault", LOST, ids=["dropped", "503", "members missing"])
@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("path", ["Typed", "Typed/2"])
def test_a_lost_answer(typed: Api, path: str, fault: Mapping[str, Any], is_done: bool) -> None:
    """A moment whose answer is lost is written once, and answered."""
    body = {"day": "2026-03-04", "clock": "12:00", "price": 7}
    typed.get("Typed")
    typed.emulator.faults({"call": BATCH, "apply": is_done, **fault})

    answer = post(typed, path, body)

    row = answer.json()["rowIndex"]
    assert (answer.status_code, row) == ((201, 4) if path == "Typed" else (200, 2))
    assert held(typed, "Typed", row, "day")[0] == 46085
    assert held(typed, "Typed", row, "clock")[0] == 0.5
    assert len(typed.emulator.texts("Typed")) == (4 if path == "Typed" else 3)


@pytest.mark.parametrize(
    ("path", "is_form", "is_done"),
    [("Typed", True, True), ("Typed/2", False, True), (UPSERT, True, True), (UPSERT, True, False)],
    ids=["create", "update", "upsert", "upsert, not done"],
)
def test_an_unknown_typed_write_is_finished_by_its_repeated_request(
    start: OpenGateway, path: str, is_form: bool, is_done: bool
) -> None:
    """The record of an open write knows its cells as numbers; the retry gets the rows of the
    first."""
    api = start({"google.read_timeout_seconds": 1})
    api.get("Typed")
    body = {"name": "eve", "day": "2026-03-04", "clock": "12:00", "price": "7", "done": "true"}
    mark = "&" if "?" in path else "?"
    sent: dict[str, Any] = {"data": body} if is_form else {"json": body}
    headers = {"Idempotency-Key": str(uuid4())}
    api.emulator.faults(
        {"call": BATCH, "drop": True, "apply": is_done},
        {"call": SEARCH, "times": 999, "status": 503},
    )
    first, retry, again = (
        _sent(api, f"{path}{mark}values=typed", sent, headers, heals=number == 1)
        for number in range(3)
    )

    assert refused(first) == (504, 5041)
    assert retry.status_code in (200, 201)
    assert retry.json() == again.json()
    row = 2 if path == "Typed/2" else 4
    assert held(api, "Typed", row, "day")[0] == 46085
    assert held(api, "Typed", row, "clock")[0] == 0.5
    assert held(api, "Typed", row, "price")[0] == (7 if is_form else "7")
    assert held(api, "Typed", row, "done")[0] == (True if is_form else "true")
    assert len(api.emulator.texts("Typed")) == max(3, row)


def _sent(
    api: Api, path: str, sent: Mapping[str, Any], headers: Mapping[str, str], *, heals: bool
) -> Any:
    """A request; `heals`: Google answers again before it."""
    if heals:
        api.emulator.faults()
    return api.post(path, headers=headers, **sent)


@pytest.mark.parametrize(
    ("field", "type_", "pattern", "longer", "shorter"),
    [
        ("clock", "TIME", "hh:mm", "21:15:45", "21:15:00"),
        ("at", "DATE", "yyyy-mm-dd", "2026-02-01T10:30:00", "2026-02-01"),
    ],
)
def test_a_moment_is_written_over_one_that_is_displayed_so(
    typed: Api, field: str, type_: str, pattern: str, longer: str, shorter: str
) -> None:
    """A display that cuts seconds or the time of a day does not hide a change of them."""
    edit(typed, formatted("Typed", 2, COLUMNS.index(field), type_, pattern))
    assert patch(typed, "Typed/2", {field: longer}).json()[field] == longer
    _, text = held(typed, "Typed", 2, field)

    assert patch(typed, "Typed/2", {field: text}).json()[field] == shorter


def test_a_formula_of_a_text_that_is_displayed_with_more_is_left_alone(typed: Api) -> None:
    """A typed record that is sent back whole changes no text, whatever its format adds to it."""
    formula = {"userEnteredValue": {"formulaValue": '="x"'}}
    edit(
        typed,
        {
            "updateCells": {
                "range": cells_of("Typed", 3, COLUMNS.index("text")),
                "rows": [{"values": [formula]}],
                "fields": "userEnteredValue",
            }
        },
        formatted("Typed", 3, COLUMNS.index("text"), "TEXT", '"Item "@'),
    )
    record = typed.get("Typed/3?values=typed").json()
    before = spent(typed)

    answer = patch(typed, "Typed/3", {"text": record["text"]})

    assert record["text"] == answer.json()["text"] == "x"
    assert typed.get("Typed/3").json()["text"] == "Item x"
    assert spent(typed, before)[1] == 0
