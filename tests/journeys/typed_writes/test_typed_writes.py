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
    """Sending a typed record back writes nothing, for every type of cell."""
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
    """A value that equals the cell or its displayed text in another notation is not written."""
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
"""Field, value sent, and value and text of the cell afterwards. These values do not
become dates.
"""


@pytest.mark.parametrize(("field", "sent", "value", "text"), CHANGES)
def test_another_value_is_written(
    typed: Api, field: str, sent: object, value: object, text: str
) -> None:
    """A value of another type, and a text in a column of another type, are stored as sent."""
    answer = patch(typed, "Typed/2", {field: sent})

    assert answer.status_code == 200
    assert spent(typed)[1] == 1
    assert held(typed, "Typed", 2, field) == (value, text)


@pytest.mark.parametrize("way", ["row", "filter", "upsert"])
def test_a_number_that_displays_nothing_is_emptied(typed: Api, way: str) -> None:
    """`null` empties a cell with a number, even if the format displays nothing."""
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
    """A date or time for a column of its type is stored as a number and displayed with
    the format.
    """
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
    """A duration in a time-of-day column gets a duration format, so that it is read as a
    duration.
    """
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
    """A date-time with an offset gets 400 with the field and the right notation."""
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
    """A date gets the format of its cell, otherwise that of the last record's row."""
    typed.get("Chain")
    sent = {"day": "2026-03-04"}
    answer = patch(typed, f"Chain/{row}", sent) if row < 6 else post(typed, "Chain", sent)

    assert answer.status_code in (200, 201)
    assert held(typed, "Chain", row, "day") == (46085, text)


def test_the_format_of_a_column_without_a_cached_end(fresh: Api) -> None:
    """Without a cached end of the worksheet, a date still gets the format of the last record."""
    updated = patch(fresh, "Chain/4", {"day": "2026-03-04"})
    calls = fresh.emulator.calls()

    assert updated.status_code == 200
    assert calls == (1, 1)
    assert held(fresh, "Chain", 4, "day") == (46085, "04-Mar-2026")


def test_the_format_of_the_first_data_row(typed: Api) -> None:
    """Without a format in the cell and the last record, a date gets that of the first data row."""
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
def test_the_type_of_an_empty_column(typed: Api, form: str, way: str) -> None:
    """An empty column has the type of its format, else of table or validation, else text."""
    requests, value, text = EMPTY_COLUMNS[form]
    if requests:
        edit(typed, *requests)
    sent = {"day": "2026-03-04"}
    answer = patch(typed, "Blank/2", sent) if way == "update" else post(typed, "Blank", sent)
    row = 2 if way == "update" else 3

    assert answer.status_code in (200, 201)
    assert held(typed, "Blank", row, "day") == (value, text)


def test_formats_of_other_cells_stay(typed: Api) -> None:
    """Writing a date keeps the formats of the other cells of an updated or a new row."""
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


def test_a_new_row_keeps_the_formats_of_its_blank_cells(start: OpenGateway) -> None:
    """A created row keeps formats that people set in the blank row, and dates get theirs."""
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


def test_each_cell_of_new_rows_has_its_own_format(typed: Api) -> None:
    """In rows of one request, dates get the format of their column, and other cells keep theirs."""
    typed.get("Chain")
    created = post(
        typed,
        "Chain",
        [{"name": "a", "day": "2026-03-04"}, {"name": "b", "day": "soon"}, {"name": "c"}],
    )

    assert created.status_code == 201
    assert typed.emulator.texts("Chain")[5:] == [["a", "04-Mar-2026"], ["b", "soon"], ["c"]]


def test_a_date_replaces_a_formula_that_displays_a_date(typed: Api) -> None:
    """A date written over a formula keeps the date format that the formula displayed."""
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
"""Method, path, body, and calls of a gateway with an empty cache.

The worksheet has formulas, so new rows of an upsert cost a read of the last rows.
"""


@pytest.mark.parametrize("case", COSTS)
def test_calls_of_a_typed_write(fresh: Api, case: str) -> None:
    """A date adds no call to updates and creates, and one read to filters and upserts
    that write it.
    """
    method, path, body, calls = COSTS[case]

    answer = (patch if method == "PATCH" else post)(fresh, path, body)

    assert answer.status_code in (200, 201)
    assert spent(fresh) == calls


def test_calls_of_typed_creates_one_after_another(fresh: Api) -> None:
    """The formats of columns are cached with the header, so later creates cost one write."""
    calls = []
    for body in [{"price": 1}, {"day": "2026-03-04"}, {"day": "2026-03-05"}, {"price": 2}]:
        before = fresh.emulator.calls()
        assert post(fresh, "Typed", body).status_code == 201
        calls.append(spent(fresh, before))

    assert calls == [(1, 1), (0, 1), (0, 1), (0, 1)]
    assert [row[1] for row in fresh.emulator.texts("Typed")[4:6]] == ["3/4/2026", "3/5/2026"]


def test_calls_of_forms(fresh: Api) -> None:
    """A typed form costs the same calls as a date."""
    calls = []
    for method, path in [("POST", "Form"), ("POST", "Form"), ("PATCH", "Form/2")]:
        before = fresh.emulator.calls()
        answer = fresh.send(method, f"{path}?values=typed", data={"count": "7"})
        assert answer.status_code in (200, 201)
        calls.append(spent(fresh, before))

    assert calls == [(1, 1), (0, 1), (1, 1)]
    assert [held(fresh, "Form", row, "count") for row in (2, 3, 4)] == [(7, "7")] * 3


def test_writes_of_one_batch(fresh: Api) -> None:
    """Typed and other creates in one batch are each stored as sent."""
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


def test_an_upsert_uses_cached_formats_for_new_rows(fresh: Api) -> None:
    """A new row with a date costs an upsert no read if the formats are cached."""
    post(fresh, "Typed", {"day": "2026-03-04"})
    before = fresh.emulator.calls()

    answer = post(fresh, "Typed?on_conflict=name", [{"name": "x", "day": "2026-03-05"}])

    assert answer.status_code == 201
    assert spent(fresh, before) == (2, 1)


def test_columns_that_moved_have_their_own_formats(fresh: Api) -> None:
    """Cached formats are used only with the header that they were read with."""
    post(fresh, "Typed", {"day": "2026-03-04"})
    lines = {"sheetId": TABS.index("Typed"), "dimension": "COLUMNS", "startIndex": 1, "endIndex": 2}
    edit(fresh, {"moveDimension": {"source": lines, "destinationIndex": 9}})

    answer = post(fresh, UPSERT, [{"name": "x", "day": "2026-03-05", "text": "2026-03-05"}])

    assert answer.status_code == 201
    assert held(fresh, "Typed", 5, "day") == (46086, "3/5/2026")
    assert held(fresh, "Typed", 5, "text") == ("2026-03-05", "2026-03-05")


def test_updates_without_dates_request_no_formats(typed: Api) -> None:
    """Updates without dates neither request nor send number formats."""
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


def test_a_deleted_last_row_costs_two_reads(fresh: Api) -> None:
    """If people deleted the last row, a date gets the format of the first data row."""
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
def test_long_rows_cost_one_more_read(start: OpenGateway, path: str, row: int, reads: int) -> None:
    """If the first rows exceed the answer limit, the gateway reads only the first data row.

    In the create, one read fails, and two find the new row.
    """
    api = start({"google.max_answer_bytes": 100_000})

    post(api, path, {"day": "2026-03-04"})

    assert held(api, "Long", row, "day") == (46085, "2026-03-04")
    assert spent(api) == (reads, 1)


def test_numbers_of_many_digits(typed: Api) -> None:
    """Numbers of many digits are stored exactly; an integer over 2**53 gets 400."""
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
def test_a_lost_answer_to_a_typed_write(
    typed: Api, path: str, fault: Mapping[str, Any], is_done: bool
) -> None:
    """A date whose answer was lost is written once, and the client gets the success."""
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
def test_a_typed_write_of_unknown_outcome(
    start: OpenGateway, path: str, is_form: bool, is_done: bool
) -> None:
    """The retry of a typed write of unknown outcome completes the write once, with its types."""
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
    """Send the request. With `heals`, remove the faults of Google first."""
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
def test_a_date_is_written_over_one_with_the_same_display(
    typed: Api, field: str, type_: str, pattern: str, longer: str, shorter: str
) -> None:
    """A date that differs only in hidden seconds or time of day is written."""
    edit(typed, formatted("Typed", 2, COLUMNS.index(field), type_, pattern))
    assert patch(typed, "Typed/2", {field: longer}).json()[field] == longer
    _, text = held(typed, "Typed", 2, field)

    assert patch(typed, "Typed/2", {field: text}).json()[field] == shorter


@pytest.mark.parametrize(
    ("field", "type_", "pattern", "sent"),
    [
        ("day", "DATE", "yyyy", "2026-03-04"),
        ("day", "DATE", "dd.mm", "2026-03-04"),
        ("clock", "TIME", "[h]", "10:30:00"),
    ],
)
def test_a_new_key_that_its_format_does_not_display_is_refused(
    typed: Api, field: str, type_: str, pattern: str, sent: str
) -> None:
    """An upsert would add a row for such a key each time. A create writes it."""
    edit(typed, formatted("Typed", 2, COLUMNS.index(field), type_, pattern, rows=2))
    before = typed.emulator.everything()

    answer = post(typed, f"Typed?on_conflict={field}", [{"name": "x", field: sent}])

    assert refused(answer) == (400, 104)
    (problem,) = answer.json()["errors"]
    assert problem["pointer"] == f"#/0/{field}"
    assert f'"{pattern}"' in problem["detail"]
    assert typed.emulator.everything() == before
    assert post(typed, "Typed", {"name": "x", field: sent}).status_code == 201
    assert post(typed, "Typed?on_conflict=name", {"name": "y", field: sent}).status_code == 201


def test_a_new_key_that_its_format_displays_is_found_again(typed: Api) -> None:
    """A format without the year displays the day and the month, which is enough for a date."""
    edit(typed, formatted("Typed", 2, COLUMNS.index("day"), "DATE", "d mmm", rows=2))
    answers = [post(typed, "Typed?on_conflict=day", {"day": "2026-03-04"}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [201, 200]
    (created,), (found,) = (answer.json()["results"] for answer in answers)
    assert (created["rowIndex"], created["day"]) == (found["rowIndex"], "2026-03-04")


def test_a_formula_with_a_text_format_is_not_changed(typed: Api) -> None:
    """Sending back a text that its format displays with additions writes nothing."""
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
