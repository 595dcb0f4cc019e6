"""Typed values: answers, tags and refusals of requests with `values=typed`, and their calls."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from tests.asgi_client import Answer
from tests.fakes import FakeWorksheet, Formatted, Held
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Surface, open_surface

JSON = ("Content-Type", "application/json")
Cells = Sequence[Held | None]

KEYS: Mapping[str, KeyRequest] = {
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED, may_delete=True)),
    "clerk": KeyRequest(
        name="clerk",
        grants=Grants(
            spreadsheets=GRANTED, may_delete=True, columns=ColumnGrant(frozenset({"name", "open"}))
        ),
    ),
}
SETTINGS: Mapping[str, object] = {
    "plans.paid.deletes": True,
    "plans.free.deletes": True,
    "plans.free.requests_per_minute": 0,
    "plans.paid.requests_per_minute": 0,
}
KEPT: Mapping[str, object] = {"cache.rows_ttl_seconds": 600, "cache.header_ttl_seconds": 600}
WINDOWS: Mapping[str, object] = {"cache.window_above_cells": 1}

CELLS: Mapping[str, tuple[Held, object]] = {
    "integer": (8804190, 8804190),
    "zero": (0, 0),
    "fraction": (Formatted(12.3, "12"), 12.3),
    "percent": (Formatted(0.125, "12.5%"), 0.125),
    "currency": (Formatted(1234.5, "$1,234.50"), 1234.5),
    "padded": (Formatted(501, "00501"), 501),
    "number with a unit": (Formatted(120, "120 kr"), 120),
    "number that displays nothing": (Formatted(0, ""), 0),
    "time that displays a plain number": (Formatted(0.4375, "10.30"), 0.4375),
    "number with the unit of a time": (Formatted(12, "12 h"), 12),
    "numeral": ("9.90", "9.90"),
    "day": (Formatted(46054, "01.02.2026"), "2026-02-01"),
    "day and month": (Formatted(46054, "1 Feb"), "2026-02-01"),
    "month": (Formatted(46054, "Feb 2026"), "2026-02-01"),
    "day with a hidden time": (Formatted(46054.4375, "01.02.2026"), "2026-02-01T10:30:00"),
    "day with its midnight": (Formatted(46054, "01.02.2026 00:00"), "2026-02-01T00:00:00"),
    "leap day": (Formatted(29280 + 8317 / 86_400, "29.02.1980 02:18:37"), "1980-02-29T02:18:37"),
    "day before 1900": (Formatted(-18136, "1850-05-05"), "1850-05-05"),
    "day with a time": (Formatted(46054.4375, "2/1/2026 10:30:00"), "2026-02-01T10:30:00"),
    "milliseconds": (
        Formatted(46054 + 0.5 / 86_400, "2026-02-01 0:00:00.500"), "2026-02-01T00:00:00.500",
    ),
    "ISO text": ("2026-02-01", "2026-02-01"),
    "time of day": (Formatted(0.4375, "10:30 AM"), "10:30:00"),
    "duration": (Formatted(1.0625, "25:30:00"), "PT25H30M"),
    "negative duration": (Formatted(-0.5, "-12:00:00"), "-PT12H"),
    "negative duration with units": (Formatted(-0.5, "-12h 00m"), "-PT12H"),
    "clock text": ("14:05", "14:05"),
    "text": ("Zürich", "Zürich"),
    "text that is not composed": ("Zu\u0308rich", "Zu\u0308rich"),
    "true": (True, True),
    "false": (False, False),
    "word": ("TRUE", "TRUE"),
    "error": ("#DIV/0!", None),
    "explained error": (Formatted("#N/A (Did not find value 'x'.)", "#N/A"), None),
    "text that begins as an error": ("#N/A is what it shows", "#N/A is what it shows"),
}  # fmt: skip
"""Cells of each class, and their values in JSON."""


@contextmanager
def opened(
    folder: Path,
    lines: Sequence[Cells],
    settings: Mapping[str, object] | None = None,
    *,
    rows: int = 0,
) -> Iterator[Surface]:
    """Open the application with the worksheet `Typed`, which has at least `rows` rows."""
    with open_surface(folder, KEYS, {**SETTINGS, **(settings or {})}) as surface:
        surface.sheets.add("Typed", lines, rows=rows)
        yield surface


def ask(
    surface: Surface,
    method: str,
    target: str,
    body: object = None,
    *headers: tuple[str, str],
    key: str = "paid",
) -> tuple[Answer, tuple[int, int]]:
    """Return the answer to a request, and its reads and writes."""
    calls = surface.calls
    before = calls.reads, calls.writes
    answer = surface.send(
        method,
        target,
        key=key,
        headers=[*headers, *([JSON] if body is not None else [])],
        body=b"" if body is None else json.dumps(body).encode(),
    )
    return answer, (calls.reads - before[0], calls.writes - before[1])


def sheet(surface: Surface) -> FakeWorksheet:
    return next(each for each in surface.sheets.worksheets if each.title == "Typed")


ROW_OF_CELLS: Sequence[Cells] = [[*CELLS], [held for held, _ in CELLS.values()]]
VALUES = {"rowIndex": 2} | {name: value for name, (_, value) in CELLS.items()}
ORDERED = "Typed?values=typed&order=" + quote("rowIndex,zero")


@pytest.mark.parametrize("settings", [{}, WINDOWS], ids=["whole", "windows"])
def test_each_class_has_its_json(tmp_path: Path, settings: Mapping[str, object]) -> None:
    """Each class of cell, such as dates or errors, has its JSON type in all answers."""
    with opened(tmp_path, ROW_OF_CELLS, settings) as surface:
        targets = ["Typed?values=typed", ORDERED, "Typed/2?values=typed"]
        listed, ordered, row = (ask(surface, "GET", each)[0] for each in targets)
        some, _ = ask(surface, "GET", "Typed/2?values=typed&keys=zero,error,day")

    assert listed.json() == ordered.json() == {"results": [VALUES], "hasNextPage": False}
    assert row.json() == VALUES
    assert some.content == b'{"rowIndex":2,"zero":0,"day":"2026-02-01","error":null}'


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("null", {"rowIndex": 2, "n": 0, "b": False, "e": None, "none": None, "past": None}),
        ("", {"rowIndex": 2, "n": 0, "b": False, "e": None, "none": "", "past": ""}),
        ("omit", {"rowIndex": 2, "n": 0, "b": False, "e": None}),
    ],
)
@pytest.mark.parametrize("more", [{}, WINDOWS], ids=["whole", "windows"])
def test_empty_cells_are_as_configured(
    tmp_path: Path, setting: str, expected: object, more: Mapping[str, object]
) -> None:
    """0 and false are not empty. An error is null, also where empty cells are left out."""
    lines: list[Cells] = [["n", "b", "e", "none", "past"], [0, False, "#REF!", ""]]
    with opened(tmp_path, lines, {"api.empty_cell": setting, **more}) as surface:
        listed, _ = ask(surface, "GET", "Typed?values=typed")
        row, _ = ask(surface, "GET", "Typed/2?values=typed")
        same = {"n": 0, "b": False, "none": None, "past": ""}
        updated, calls = ask(surface, "PATCH", "Typed/2?values=typed", same)

    assert listed.json()["results"] == [expected]
    assert row.json() == expected
    assert updated.json().items() <= row.json().items()
    assert calls == (1, 0)


def test_filters_and_order_are_the_same(tmp_path: Path) -> None:
    """The rows of a query do not depend on how they are answered."""
    lines: list[Cells] = [["n"], *([each] for each in (3, "x", Formatted(1.5, "2"), True, "", 1))]
    where = quote('{"n":{"$gte":1}}')
    with opened(tmp_path, lines) as surface:
        answers = {
            values: ask(surface, "GET", f"Typed?where={where}&order=-n&count=true&values={values}")
            for values in ("typed", "displayed")
        }
    (typed, reads), (displayed, reads_displayed) = answers["typed"], answers["displayed"]

    assert [each["n"] for each in typed.json()["results"]] == [3, 1.5, 1]
    assert [each["n"] for each in displayed.json()["results"]] == ["3", "2", "1"]
    assert typed.json()["total"] == displayed.json()["total"] == 3
    assert reads == reads_displayed


OPERATIONS: Mapping[str, tuple[str, str, object]] = {
    "list": ("GET", "Typed?values=", None),
    "read": ("GET", "Typed/2?values=", None),
    "create": ("POST", "Typed?values=", {"name": "x"}),
    "create a list": ("POST", "Typed?values=", [{"name": "x"}]),
    "update": ("PATCH", "Typed/2?values=", {"name": "x"}),
    "update a list": ("PATCH", "Typed?values=", [{"rowIndex": 2, "name": "x"}]),
    "upsert": ("POST", "Typed?on_conflict=name&values=", {"name": "x"}),
    "update by filter": ("PATCH", 'Typed?where={"name":"a"}&values=', {"name": "x"}),
    "delete by filter": ("DELETE", 'Typed?where={"name":"a"}&values=', None),
    "delete": ("DELETE", "Typed/2?values=", None),
}
NAMED: Sequence[Cells] = [["name", "open"], ["a", True]]


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_on_rows_takes_values(
    tmp_path: Path, operation: tuple[str, str, object]
) -> None:
    """`typed`, `displayed` and an empty value are accepted.

    Other words are rejected without a call.
    """
    method, target, body = operation
    for number, word in enumerate(("typed", "displayed", "", "%20Typed")):
        folder = tmp_path / str(number)
        folder.mkdir()
        with opened(folder, NAMED) as surface:
            taken, _ = ask(surface, method, target + word, body)

            assert taken.status_code < 300, taken.content
    with opened(tmp_path, NAMED) as surface:
        for wrong in ("raw", "true", "typed,displayed", "typed&values=displayed"):
            failed, calls = ask(surface, method, target + wrong, body)

            assert refused(failed) == (400, 4002)
            assert "values" in failed.json()["message"]
            assert calls == (0, 0)


@pytest.mark.parametrize("target", ["Typed?", "Typed/2?"])
def test_the_operator_chooses_the_default(tmp_path: Path, target: str) -> None:
    """`api.values` is the default. The parameter `values` overrides it."""
    with opened(tmp_path, NAMED, {"api.values": "typed"}) as surface:
        default, typed, displayed = (
            ask(surface, "GET", f"{target}{more}")[0]
            for more in ("", "values=typed", "v%61lues=displayed")
        )

    assert b'"open":true' in default.content
    assert default.content == typed.content
    assert b'"open":"TRUE"' in displayed.content


def test_reads_cost_two_calls_or_none(tmp_path: Path) -> None:
    """Typed rows cost 2 reads, 1 read after displayed rows, and none while they are cached."""
    targets = ["Typed?values=typed", "Typed/2?values=typed", "Typed?values=typed&order=name"]
    for number, first in enumerate(targets):
        folder = tmp_path / str(number)
        folder.mkdir()
        with opened(folder, NAMED, KEPT) as surface:
            assert ask(surface, "GET", first)[1] == (2, 0)
            assert [ask(surface, "GET", each)[1] for each in targets] == [(0, 0)] * 3
            assert ask(surface, "GET", "Typed")[1] == (0, 0)
    with opened(tmp_path, NAMED, KEPT) as surface:
        assert ask(surface, "GET", "Typed")[1] == (1, 0)
        assert ask(surface, "GET", "Typed/2?values=typed")[1] == (1, 0)


def test_a_value_that_changes_under_its_display_costs_no_more(tmp_path: Path) -> None:
    """If 12.3 becomes 12.4, both displayed as `12`, the next typed read shows it for 2 calls."""
    with opened(tmp_path, [["n"], [Formatted(12.3, "12")]]) as surface:
        ask(surface, "GET", "Typed?values=typed")
        sheet(surface).type(2, Formatted(12.4, "12"))
        listed, calls = ask(surface, "GET", "Typed?values=typed")

    assert listed.json()["results"] == [{"rowIndex": 2, "n": 12.4}]
    assert calls == (2, 0)


def test_written_rows_are_shown_without_a_call(tmp_path: Path) -> None:
    """Cached typed rows show the gateway's own writes, typed or not, without a call."""
    with opened(tmp_path, [["name", "n"], ["a", 1], ["b", 2]], KEPT) as surface:
        ask(surface, "GET", "Typed?values=typed")
        ask(surface, "PATCH", "Typed/2?values=typed", {"n": 0})
        ask(surface, "PATCH", "Typed/3", {"n": False})
        ask(surface, "POST", "Typed?values=typed", {"name": "c", "n": 2.5})
        listed, calls = ask(surface, "GET", "Typed?values=typed")

    assert [row["n"] for row in listed.json()["results"]] == [0, False, 2.5]
    assert calls == (0, 0)


RECORDS: Sequence[Cells] = [
    ["name", "n", "day", "e", "open"],
    ["a", 0, Formatted(46054, "01.02.2026"), "#REF!", False],
    ["b", Formatted(12.3, "12"), "x", "", True],
]
FIRST = {"rowIndex": 2, "name": "a", "n": 0, "day": "2026-02-01", "e": None, "open": False}
WRITES: Mapping[str, tuple[str, str, object, object, tuple[int, int]]] = {
    "create": (
        "POST", "Typed?values=typed", {"name": "c", "n": 0, "open": False, "e": None},
        {"rowIndex": 4, "name": "c", "n": 0, "e": None, "open": False}, (1, 1),
    ),
    "create a list": (
        "POST", "Typed?values=typed", [{"n": 1.5}, {"open": True}],
        {"results": [{"rowIndex": 4, "n": 1.5}, {"rowIndex": 5, "open": True}]}, (1, 1),
    ),
    "update": (
        "PATCH", "Typed/3?values=typed", {"n": 7, "open": False, "e": "z"},
        {"rowIndex": 3, "n": 7, "e": "z", "open": False}, (1, 1),
    ),
    "update to what it is": ("PUT", "Typed/2?values=typed", FIRST, FIRST, (1, 0)),
    "update a list": (
        "PATCH", "Typed?values=typed", [FIRST, {"rowIndex": 3, "n": 12.3, "name": "y"}],
        {"results": [FIRST, {"rowIndex": 3, "name": "y", "n": 12.3}]}, (1, 1),
    ),
    "upsert": (
        "POST", "Typed?on_conflict=name&values=typed",
        [{"name": "a", "n": 0, "e": None}, {"name": "b", "n": 3}, {"name": "c", "open": True}],
        {"results": [
            {"rowIndex": 2, "created": False, "name": "a", "n": 0, "e": None},
            {"rowIndex": 3, "created": False, "name": "b", "n": 3},
            {"rowIndex": 4, "created": True, "name": "c", "open": True},
        ]}, (3, 1),
    ),
    "update by filter": (
        "PATCH", 'Typed?where={"name":"b"}&values=typed', {"n": 5},
        {"count": 1, "results": [{"rowIndex": 3}]}, (3, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITES.values(), ids=WRITES)
def test_writes_are_answered_with_types(
    tmp_path: Path, case: tuple[str, str, object, object, tuple[int, int]]
) -> None:
    """The answer to a typed write has typed values at no further cost."""
    method, target, body, expected, cost = case
    with opened(tmp_path, RECORDS) as surface:
        answer, calls = ask(surface, method, target, body)

    assert answer.json() == expected
    assert calls == cost


def test_existing_rows_of_an_upsert_are_answered_as_they_are(tmp_path: Path) -> None:
    """With `ignore-duplicates` the answer has the typed values of an existing row."""
    prefer = ("Prefer", "resolution=ignore-duplicates")
    with opened(tmp_path, RECORDS) as surface:
        body = {"name": "b", "n": 5, "open": False}
        answer, _ = ask(surface, "POST", "Typed?on_conflict=name&values=typed", body, prefer)

    assert answer.json()["results"] == [
        {"rowIndex": 3, "created": False, "name": "b", "n": 12.3, "open": True}
    ]


def changed_under_its_display(surface: Surface) -> None:
    sheet(surface).type(3, None, Formatted(12.4, "12"))


def test_tags_cover_values_and_displays(tmp_path: Path) -> None:
    """A value that changes under the same display changes only typed ETags."""
    targets = ["Typed/3", "Typed"]
    with opened(tmp_path, RECORDS) as surface:
        before = {
            (target, values): ask(surface, "GET", f"{target}?values={values}")[0].headers["etag"]
            for target in targets
            for values in ("typed", "displayed")
        }
        changed_under_its_display(surface)
        after = {
            (target, values): ask(
                surface, "GET", f"{target}?values={values}", None, ("If-None-Match", tag)
            )[0].status_code
            for (target, values), tag in before.items()
        }

    assert len({*before.values()}) == 4
    assert after == {
        (target, values): 200 if values == "typed" else 304
        for target in targets
        for values in ("typed", "displayed")
    }


@pytest.mark.parametrize("settings", [{}, KEPT, WINDOWS], ids=["cold", "kept", "windows"])
def test_a_display_that_changes_is_another_tag(
    tmp_path: Path, settings: Mapping[str, object]
) -> None:
    """A cell with another format gives no 304, although its value is the same."""
    with opened(tmp_path, RECORDS, settings) as surface:
        targets = ["Typed/3?values=typed", "Typed?values=typed"]
        before = [ask(surface, "GET", each)[0] for each in targets]
        sheet(surface).type(3, None, Formatted(12.3, "12.3"))
        after = [
            ask(
                surface,
                "GET",
                f"{target}&no-cache=true",
                None,
                ("If-None-Match", answer.headers["etag"]),
            )[0]
            for target, answer in zip(targets, before, strict=True)
        ]

    assert [each.status_code for each in after] == [200, 200]
    assert [each.content for each in after] == [each.content for each in before]


TAGGED: Mapping[str, tuple[str, object]] = {
    "update": ("PATCH", {"name": "z"}),
    "update to what it is": ("PATCH", {"name": "b"}),
    "delete": ("DELETE", None),
}


@pytest.mark.parametrize("key", ["paid", "clerk"])
@pytest.mark.parametrize("case", TAGGED.values(), ids=TAGGED)
def test_no_update_is_lost_under_equal_displays(
    tmp_path: Path, case: tuple[str, object], key: str
) -> None:
    """`If-Match` of a typed read fails after a value changed under the same display."""
    method, body = case
    with opened(tmp_path, RECORDS) as surface:
        target = "Typed/3?values=typed"
        seen, _ = ask(surface, "GET", target, key=key)
        changed_under_its_display(surface)
        tag = ("If-Match", seen.headers["etag"])
        failed, calls = ask(surface, method, target, body, tag, key=key)
        now, _ = ask(surface, "GET", target, key=key)
        tag = ("If-Match", failed.headers["etag"])
        again, _ = ask(surface, method, target, body, tag, key=key)

    assert refused(failed) == (412, 4120)
    assert calls == (1, 0)
    assert failed.json()["existing"] == now.json()
    assert failed.headers["etag"] == now.headers["etag"]
    assert again.status_code in (200, 204)
    if key == "clerk":
        assert now.content == seen.content
        assert b"12.4" not in failed.content


@pytest.mark.parametrize("values", ["typed", "displayed"])
@pytest.mark.parametrize("case", TAGGED.values(), ids=TAGGED)
def test_tags_are_compared_in_the_values_of_the_request(
    tmp_path: Path, case: tuple[str, object], values: str
) -> None:
    """A typed ETag does not match a displayed request, or the reverse."""
    method, body = case
    other = {"typed": "displayed", "displayed": "typed"}[values]
    with opened(tmp_path, RECORDS) as surface:
        own, others = (
            ask(surface, "GET", f"Typed/3?values={each}")[0].headers["etag"]
            for each in (values, other)
        )
        target = f"Typed/3?values={values}"
        got, _ = ask(surface, "GET", target, None, ("If-None-Match", others))
        failed, _ = ask(surface, method, target, body, ("If-Match", others))
        written, _ = ask(surface, method, target, body, ("If-Match", own))

    assert got.status_code == 200
    assert refused(failed) == (412, 4120)
    assert failed.headers["etag"] == own
    assert written.status_code in (200, 204)


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "Typed", {"name": "c", "n": 1.5, "open": False}),
        ("PATCH", "Typed/3", {"n": 5, "open": False}),
        ("PATCH", "Typed/2", {"n": 0}),
    ],
    ids=["create", "update", "update to what it is"],
)
@pytest.mark.parametrize("settings", [{}, KEPT, WINDOWS], ids=["cold", "kept", "windows"])
def test_the_tag_of_a_write_is_that_of_the_read(
    tmp_path: Path, method: str, target: str, body: object, settings: Mapping[str, object]
) -> None:
    """Write answers, rows and windows have the same typed ETag for a row."""
    with opened(tmp_path, RECORDS, settings) as surface:
        written, _ = ask(surface, method, f"{target}?values=typed", body)
        row = f"Typed/{written.json()['rowIndex']}?values=typed"
        read, _ = ask(surface, "GET", row)
        ask(surface, "GET", "Typed?order=name&no-cache=true")
        again, _ = ask(surface, "GET", row)

    assert written.headers["etag"] == read.headers["etag"] == again.headers["etag"]


def test_a_typed_write_is_another_idempotent_request(tmp_path: Path) -> None:
    """A repetition has the bytes of the first answer. Other `values` are another request."""
    key = ("Idempotency-Key", "k")
    with opened(tmp_path, RECORDS, {"api.empty_cell": "omit"}) as surface:
        body = {"n": 4, "e": None, "day": None}
        first, again = (
            ask(surface, "PATCH", "Typed/2?values=typed", body, key)[0] for _ in range(2)
        )
        displayed, calls = ask(surface, "PATCH", "Typed/2", body, key)

    assert first.json() == {"rowIndex": 2, "n": 4, "e": None}
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    assert refused(displayed) == (422, 4220)
    assert "parameters" in displayed.json()["message"]
    assert calls == (0, 0)


def test_a_refused_parameter_of_a_create_names_the_one_that_it_takes(tmp_path: Path) -> None:
    """The error for a parameter of a create names `values`, which a create accepts."""
    with opened(tmp_path, RECORDS) as surface:
        answer, _ = ask(surface, "POST", "Typed?limit=1", {"n": 7})

    assert refused(answer) == (400, 4002)
    assert "which takes values." in answer.json()["message"]


@pytest.mark.parametrize(
    ("method", "first", "other", "body"),
    [
        ("POST", "on_conflict=name", "on_conflict=n", {"name": "a", "n": 5}),
        ("POST", "on_conflict=name", "on_conflict=name,n", {"name": "a", "n": 5}),
        ("PATCH", 'where={"name":"a"}', 'where={"name":"b"}', {"n": 5}),
    ],
)
def test_keys_and_filter_are_part_of_an_idempotent_request(
    tmp_path: Path, method: str, first: str, other: str, body: object
) -> None:
    """An Idempotency-Key with another `on_conflict` or `where` is rejected without a call."""
    key = ("Idempotency-Key", "k")
    with opened(tmp_path, RECORDS) as surface:
        written, again = (ask(surface, method, f"Typed?{first}", body, key)[0] for _ in range(2))
        answer, calls = ask(surface, method, f"Typed?{other}", body, key)

    assert written.status_code == 200
    assert again.content == written.content
    assert refused(answer) == (422, 4220)
    assert calls == (0, 0)


@pytest.mark.parametrize(("values", "status"), [("typed", 422), ("displayed", 200)])
def test_a_typed_form_is_another_idempotent_request(
    tmp_path: Path, values: str, status: int
) -> None:
    """A typed form is another request than a JSON body of texts.

    Without types both are the same.
    """
    target, key = f"Typed/2?values={values}", ("Idempotency-Key", "k")
    form = [("Content-Type", "application/x-www-form-urlencoded"), key]
    with opened(tmp_path, RECORDS) as surface:
        ask(surface, "PATCH", target, {"n": "7"}, key)
        answer = surface.send("PATCH", target, headers=form, body=b"n=7")

    assert answer.status_code == status


ROWS: Sequence[Cells] = [(f"row {row}", row - 4) for row in range(2, 9)]
LONG: Sequence[Cells] = [["name", "n"], *ROWS]


@pytest.mark.parametrize(
    ("target", "numbers", "has_next", "reads"),
    [
        ("Typed?limit=2&skip=1", [-1, 0], True, 2),
        ("Typed?limit=2&skip=5", [3, 4], False, 3),
        ("Typed?limit=2&skip=6", [4], False, 3),
        ("Typed?limit=2&skip=9", [], False, 2),
        ("Typed?limit=2&skip=99", [], False, 2),
        ("Typed?limit=0", [], True, 1),
    ],
)
def test_windows_have_types(
    tmp_path: Path, target: str, numbers: Sequence[int], has_next: bool, reads: int
) -> None:
    """Typed pages of a large worksheet cost one more call."""
    with opened(tmp_path, LONG, WINDOWS, rows=20) as surface:
        ask(surface, "GET", "Typed")  # large from now on
        answer, calls = ask(surface, "GET", f"{target}&values=typed")

    assert [row["n"] for row in answer.json()["results"]] == numbers
    assert answer.json()["hasNextPage"] is has_next
    assert calls == (reads, 0)


@pytest.mark.parametrize("key", [None, "paid"])
def test_the_description_is_of_the_values_that_it_is_asked_for(
    tmp_path: Path, key: str | None
) -> None:
    """`/openapi.json?values=typed` describes typed cells, with and without a key."""
    with opened(tmp_path, NAMED) as surface:
        default, displayed, typed, wrong = (
            surface.send("GET", f"/openapi.json{query}", key=key)
            for query in ("", "?values=displayed", "?values=typed", "?values=raw")
        )

    cells = [each.json()["components"]["schemas"]["Cell"]["type"] for each in (default, typed)]
    assert cells == [["string", "null"], ["string", "number", "boolean", "null"]]
    assert displayed.content == default.content
    assert default.headers["etag"] != typed.headers["etag"]
    assert refused(wrong) == (400, 4002)


@pytest.mark.parametrize("settings", [{}, KEPT, WINDOWS], ids=["cold", "kept", "windows"])
@pytest.mark.parametrize("fields", ["", "&keys=n"], ids=["all fields", "one of many"])
def test_zero_and_false_stand_beside_empty_cells(
    tmp_path: Path, settings: Mapping[str, object], fields: str
) -> None:
    """In one column, 0, false and an empty cell are different, in pages of any length."""
    cells: Sequence[Held | None] = [0, "", False, 1, Formatted(0.0, ""), "x"]
    lines = [["name", "n", *"abcdefgh"], *([f"row {at}", each] for at, each in enumerate(cells))]
    with opened(tmp_path, lines, settings) as surface:
        ask(surface, "GET", "Typed?values=typed")
        whole, _ = ask(surface, "GET", f"Typed?values=typed{fields}")
        ordered, _ = ask(surface, "GET", f"Typed?values=typed&order=-rowIndex{fields}")
        pages = [ask(surface, "GET", f"Typed?values=typed&limit=1&skip={at}{fields}")[0]
                 for at in range(len(cells))]  # fmt: skip

    expected = [0, None, False, 1, 0.0, "x"]
    assert repr([row["n"] for row in whole.json()["results"]]) == repr(expected)
    assert repr([row["n"] for row in ordered.json()["results"]]) == repr(expected[::-1])
    assert repr([each.json()["results"][0]["n"] for each in pages]) == repr(expected)


@pytest.mark.parametrize("settings", [{}, WINDOWS], ids=["whole", "windows"])
def test_hidden_values_change_no_list(tmp_path: Path, settings: Mapping[str, object]) -> None:
    """A typed list and its ETag depend on visible cells only.

    The ETag of a row covers all cells.
    """
    with opened(tmp_path, RECORDS, settings) as surface:
        ask(surface, "GET", "Typed")  # large from now on
        targets = ["Typed?values=typed", "Typed?values=typed&order=-name", "Typed/3?values=typed"]
        before = [ask(surface, "GET", each, key="clerk")[0] for each in targets]
        changed_under_its_display(surface)
        sheet(surface).type(2, None, Formatted(0.5, "hidden"))
        after = [ask(surface, "GET", each, key="clerk")[0] for each in targets]

    assert [each.content for each in after] == [each.content for each in before]
    are_same = [
        old.headers["etag"] == new.headers["etag"] for old, new in zip(before, after, strict=True)
    ]
    assert are_same == [True, True, False]
