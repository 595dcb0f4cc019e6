"""Worksheets whose header is not in row 1: each operation does what it does without title rows."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.errors import WriteOutcomeUnknown
from gateway.google.sheets import (
    Batch,
    Detail,
    Render,
    Rendering,
    SheetArea,
    Sheets,
    SheetView,
    Values,
)
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from tests.asgi_client import Answer
from tests.fake_ranges import parse_range
from tests.fakes import BOOK, FakeWorksheet, Formatted, Held
from tests.forwarding import Call, ForwardingSheets, Kind
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Surface, open_surface
from tests.worksheets.scripted_sheets import ScriptedSheets

T = TypeVar("T")

JSON = ("Content-Type", "application/json")
FORM = ("Content-Type", "application/x-www-form-urlencoded")
ABOVE = 2
"""Rows above the header of `Titled`."""

TITLE: Sequence[Sequence[Held | None]] = [
    ["Orders 2026", None, None, None, None, "printed on 1 May"],
    [],
]
ROWS: Sequence[Sequence[Held | None]] = [
    ["name", "state", "n", "day"],
    ["New York", "NY", 8, Formatted(46054, "2026-02-01")],
    ["Chicago", "IL", 2, Formatted(46055, "2026-02-02")],
    ["Boston", "MA", 2, None],
    [None, None, None, None],
    ["Dallas", "TX", 13, Formatted(46056, "2026-02-03")],
]
KEYS: Mapping[str, KeyRequest] = {
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED, may_delete=True)),
    "clerk": KeyRequest(
        name="clerk",
        grants=Grants(
            spreadsheets=GRANTED, may_delete=True, columns=ColumnGrant(frozenset({"name", "n"}))
        ),
    ),
}
SETTINGS: Mapping[str, object] = {
    "plans.paid.deletes": True,
    "plans.paid.requests_per_minute": 0,
    "worksheets": [
        {"spreadsheet": BOOK, "title": "Titled", "header_row": ABOVE + 1},
        {"spreadsheet": BOOK, "title": "Caf\u00e9", "header_row": 2},
    ],
}
KEPT: Mapping[str, object] = {"cache.rows_ttl_seconds": 600, "cache.header_ttl_seconds": 600}
WINDOWS: Mapping[str, object] = {"cache.window_above_cells": 1, "cache.rows_ttl_seconds": 0}
CLEARS: Mapping[str, object] = {"writes.delete": "clear"}

_ROWS = re.compile(r"(?:\brow|\bRows|\bbegin at) [\d, and]*\d")
"""Pattern of row numbers in messages."""

Target = Callable[[int], str]
"""What follows the title in the URL, by the number of rows above the header."""
Body = Callable[[int], object]


@contextmanager
def opened(
    folder: Path, settings: Mapping[str, object] | None = None, *, frozen: bool = False
) -> Iterator[Surface]:
    """Open the application with the same rows in `Plain`, and below title rows in `Titled`."""
    with open_surface(folder, KEYS, {**SETTINGS, **(settings or {})}) as surface:
        add_sheets(surface, frozen=frozen)
        yield surface


def add_sheets(
    surface: Surface,
    rows: Sequence[Sequence[Held | None]] = ROWS,
    *,
    frozen: bool = False,
) -> None:
    surface.reset()
    for title, above in (("Plain", 0), ("Titled", ABOVE)):
        lines = [*TITLE[:above], *rows]
        worksheet = surface.sheets.add(title, lines, rows=len(lines) + 20)
        worksheet.frozen_rows = above + 1 if frozen else 0


def sheet(surface: Surface, title: str) -> FakeWorksheet:
    return next(each for each in surface.sheets.worksheets if each.title == title)


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
    sent = b""
    if isinstance(body, bytes):
        sent, headers = body, (*headers, FORM)
    elif body is not None:
        sent, headers = json.dumps(body).encode(), (*headers, JSON)
    answer = surface.send(method, target, key=key, headers=headers, body=sent)
    return answer, (calls.reads - before[0], calls.writes - before[1])


def where(condition: object, **others: object) -> str:
    return "?" + urlencode({"where": json.dumps(condition), **others})


def moved(value: Any, above: int) -> Any:
    """Return an answer with row numbers increased by the rows above the header."""
    match value:
        case dict():
            return {
                key: each + above if key in ("rowIndex", "row") else moved(each, above)
                for key, each in value.items()
                if key != "requestId"
            }
        case list():
            return [moved(each, above) for each in value]
        case str():
            return _ROWS.sub(
                lambda rows: re.sub(r"\d+", lambda row: str(int(row[0]) + above), rows[0]),
                value.replace("Titled", "Plain"),
            )
    return value


@pytest.fixture(scope="module")
def titled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    with opened(tmp_path_factory.mktemp("titled")) as surface:
        yield surface


OPERATIONS: Mapping[str, tuple[str, Target, Body | None]] = {
    "list": ("GET", lambda _: "", None),
    "page": ("GET", lambda _: "?skip=1&limit=2&count=true", None),
    "page past the end": ("GET", lambda _: "?skip=50", None),
    "typed list": ("GET", lambda _: "?values=typed", None),
    "typed page": ("GET", lambda _: "?values=typed&skip=2&limit=1", None),
    "export": ("GET", lambda _: "?format=json", None),
    "typed export": ("GET", lambda _: "?format=json&values=typed&order=-n", None),
    "equality": ("GET", lambda _: where({"n": 2}, count="true"), None),
    "search": ("GET", lambda _: where({"name": {"$text": "o"}}, order="-day,name"), None),
    "nothing but blanks": ("GET", lambda _: where({"name": None}), None),
    "order": ("GET", lambda _: "?order=n,-name", None),
    "order by row": ("GET", lambda _: "?order=-rowIndex&limit=2", None),
    "rows from": ("GET", lambda k: where({"rowIndex": {"$gte": 3 + k}}), None),
    "rows above": ("GET", lambda k: where({"rowIndex": {"$lt": 3.5 + k}}), None),
    "rows up to the header": ("GET", lambda k: where({"rowIndex": {"$lte": 1 + k}}), None),
    "rows of a list": ("GET", lambda k: where({"rowIndex": {"$in": [1 + k, 3 + k, 99]}}), None),
    "rows but one": ("GET", lambda k: where({"rowIndex": {"$ne": 3 + k}}), None),
    "unknown field": ("GET", lambda _: where({"Orders 2026": 1}), None),
    "row": ("GET", lambda k: f"/{2 + k}", None),
    "typed row": ("GET", lambda k: f"/{2 + k}?values=typed", None),
    "blank row": ("GET", lambda k: f"/{5 + k}", None),
    "header by number": ("GET", lambda k: f"/{1 + k}", None),
    "row past the end": ("GET", lambda k: f"/{7 + k}", None),
    "create": ("POST", lambda _: "", lambda _: {"name": "Reno", "n": 5}),
    "create many": ("POST", lambda _: "", lambda _: [{"name": "Reno"}, {"n": 7, "state": "x"}]),
    "create of a form": ("POST", lambda _: "", lambda _: b"name=Reno&n=5"),
    "typed create": ("POST", lambda _: "?values=typed", lambda _: {"n": 5, "day": "2026-03-01"}),
    "create of an unknown field": ("POST", lambda _: "", lambda _: {"Orders 2026": "x"}),
    "update": ("PUT", lambda k: f"/{3 + k}", lambda _: {"state": "Illinois", "n": None}),
    "update of a blank row": ("PUT", lambda k: f"/{5 + k}", lambda _: {"state": "x"}),
    "update without a change": ("PUT", lambda k: f"/{3 + k}", lambda _: {"state": "IL"}),
    "typed update": ("PUT", lambda k: f"/{4 + k}?values=typed", lambda _: {"day": "2026-03-01"}),
    "update of the header": ("PUT", lambda k: f"/{1 + k}", lambda _: {"name": "x"}),
    "update past the end": ("PUT", lambda k: f"/{40 + k}", lambda _: {"name": "x"}),
    "update of rows": (
        "PATCH", lambda _: "",
        lambda k: [{"rowIndex": 4 + k, "n": 1}, {"rowIndex": 2 + k, "name": "N"}],
    ),
    "update of rows with the header": (
        "PATCH", lambda _: "",
        lambda k: [{"rowIndex": 4 + k, "n": 1}, {"rowIndex": 1 + k, "name": "N"}],
    ),
    "update by filter": ("PATCH", lambda _: where({"n": 2}), lambda _: {"state": "two"}),
    "update by numbers": (
        "PATCH", lambda k: where({"rowIndex": {"$in": [1 + k, 2 + k]}}), lambda _: {"n": 0},
    ),
    "delete": ("DELETE", lambda k: f"/{3 + k}", None),
    "delete of the first row": ("DELETE", lambda k: f"/{2 + k}", None),
    "delete of the last row": ("DELETE", lambda k: f"/{6 + k}", None),
    "delete of the header": ("DELETE", lambda k: f"/{1 + k}", None),
    "delete by filter": ("DELETE", lambda _: where({"n": {"$lt": 9}}), None),
    "delete of all": ("DELETE", lambda k: where({"rowIndex": {"$gte": 0}}), None),
    "upsert": (
        "POST", lambda _: "?on_conflict=name",
        lambda _: [{"name": "Boston", "n": 3}, {"name": "Reno", "n": 4}],
    ),
    "upsert of a key twice": ("POST", lambda _: "?on_conflict=n", lambda _: {"n": 2, "name": "x"}),
    "typed upsert": (
        "POST", lambda _: "?values=typed&on_conflict=day",
        lambda _: [{"day": "2026-02-02", "n": 3}, {"day": "2026-04-01", "name": "April"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "frozen", "key"),
    [
        pytest.param({}, False, "paid", id="cold"),
        pytest.param({}, True, "clerk", id="hidden-columns"),
        pytest.param(KEPT, True, "paid", id="kept"),
        pytest.param(WINDOWS, False, "clerk", id="windows"),
        pytest.param(CLEARS, True, "paid", id="clears"),
    ],
)
def test_each_operation_does_what_it_does_without_title_rows(
    tmp_path: Path, changed: Mapping[str, object], frozen: bool, key: str
) -> None:
    """Answers, cells and Google calls are equal, except for the row numbers."""
    with opened(tmp_path, changed, frozen=frozen) as surface:
        for name in OPERATIONS:
            add_sheets(surface, frozen=frozen)
            if changed is not KEPT:
                for title in ("Plain", "Titled"):
                    ask(surface, "GET", title)  # each of them is known as well as the other
            compare(surface, name, key=key)


@pytest.mark.parametrize("changed", [{}, KEPT, WINDOWS], ids=["cold", "kept", "windows"])
def test_sheets_without_records_are_like_those_without_title_rows(
    tmp_path: Path, changed: Mapping[str, object]
) -> None:
    """The first record goes directly below the header."""
    with opened(tmp_path, changed) as surface:
        for name in OPERATIONS:
            add_sheets(surface, ROWS[:1])
            if changed is not KEPT:
                for title in ("Plain", "Titled"):
                    ask(surface, "GET", title)
            compare(surface, name)


@pytest.mark.parametrize("name", ["create", "create of a form", "typed create", "upsert"])
def test_the_end_of_a_large_sheet_is_found_in_the_same_way(tmp_path: Path, name: str) -> None:
    """A create reads all rows of a sheet of more than 2,000 rows if the last record is unknown."""
    with opened(tmp_path) as surface:
        for title in ("Plain", "Titled"):
            sheet(surface, title).rows = 3_000 + (title == "Titled") * ABOVE

        compare(surface, name)


class RangesRead(ForwardingSheets):
    """Records the first row of each range of `Titled` that a read or write response shows."""

    def __init__(self, inner: Sheets) -> None:
        self._inner = inner
        self.tops: list[int] = []

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        return await call(self._inner)

    def note(self, *ranges: str | SheetArea) -> None:
        for each in ranges:
            if isinstance(each, SheetArea):
                self.tops.append(each.first_row)
            elif (found := parse_range(each)) and found.title == "Titled":
                self.tops.append(found.top)

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        self.note(range_)
        return await super().read_values(spreadsheet, range_, render=render)

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        self.note(range_)
        return await super().read_columns(spreadsheet, range_, render=render, known=known)

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> Sequence[Values]:
        self.note(*ranges)
        return await super().read_ranges(spreadsheet, ranges)

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, detail: Detail = Detail.VALUES
    ) -> SheetView:
        self.note(*ranges)
        return await super().read_sheet(spreadsheet, ranges, detail=detail)

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        self.note(*batch.ranges)
        return await super().apply(spreadsheet, batch)


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1]], ids=["records", "none"])
@pytest.mark.parametrize("changed", [{}, WINDOWS, CLEARS], ids=["whole", "windows", "clears"])
def test_nothing_above_the_header_is_read(
    tmp_path: Path, changed: Mapping[str, object], rows: Sequence[Sequence[Held | None]]
) -> None:
    """No operation reads a range above the header, even after a lost response."""
    with opened(tmp_path, changed) as surface:
        ranges = RangesRead(surface.sheets)
        surface.calls.inner = scripted = ScriptedSheets(ranges)
        for name, (method, target, body) in OPERATIONS.items():
            for is_lost in (False, True):
                add_sheets(surface, rows)
                if is_lost:
                    scripted.after("apply", WriteOutcomeUnknown("lost"))
                ask(surface, method, f"Titled{target(ABOVE)}", body and body(ABOVE))
                scripted.clear()

                assert min(ranges.tops, default=3) > ABOVE, name
        assert len(ranges.tops) > len(OPERATIONS)


@given(names=st.lists(st.sampled_from([*OPERATIONS]), min_size=1, max_size=8))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_operations_do_what_they_do_without_title_rows(
    titled: Surface, names: Sequence[str]
) -> None:
    """Random sequences of operations have the same results, with any cached header."""
    add_sheets(titled)

    for name in names:
        compare(titled, name)


def compare(surface: Surface, name: str, *, key: str = "paid") -> None:
    """Assert that an operation has the same answer, cells and costs in both worksheets."""
    method, target, body = OPERATIONS[name]
    expected, costs = ask(surface, method, f"Plain{target(0)}", body and body(0), key=key)
    answer, calls = ask(surface, method, f"Titled{target(ABOVE)}", body and body(ABOVE), key=key)

    assert answer.status_code == expected.status_code, name
    if expected.content:
        assert moved(answer.json(), 0) == moved(expected.json(), ABOVE), name
    assert calls == costs, name
    if key == "paid" and not expected.headers.get("etag", "W/").startswith("W/"):
        assert answer.headers["etag"] == expected.headers["etag"], name
    location = expected.headers.get("location", "").replace("Plain", "Titled")
    assert answer.headers.get("location", "") == re.sub(
        r"\d+$", lambda row: str(int(row[0]) + ABOVE), location
    )
    plain, shown = sheet(surface, "Plain").lines(), sheet(surface, "Titled").lines()
    assert shown[ABOVE:] == plain, name
    assert shown[:ABOVE] == [["Orders 2026", "", "", "", "", "printed on 1 May"], []]


@pytest.mark.parametrize("row", [1, 2, 3])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_rows_down_to_the_header_do_not_exist(titled: Surface, method: str, row: int) -> None:
    """Row numbers up to the header get 404 without a call. The message names the first data row."""
    add_sheets(titled)

    body = {"name": "x"} if method == "PUT" else None
    answer, calls = ask(titled, method, f"Titled/{row}", body)

    assert refused(answer) == (404, 103)
    assert "Data rows begin at 4 " in answer.json()["message"]
    assert calls == (0, 0)


@pytest.mark.parametrize("row", [1, 2, 3])
def test_a_list_of_updates_may_not_name_rows_down_to_the_header(titled: Surface, row: int) -> None:
    """A list of updates is rejected if it names a row up to the header."""
    add_sheets(titled)

    rows = [{"rowIndex": 4, "name": "x"}, {"rowIndex": row, "name": "y"}]
    answer, calls = ask(titled, "PATCH", "Titled", rows)

    assert refused(answer) == (404, 103)
    assert "Data rows begin at 4 " in answer.json()["message"]
    assert calls == (0, 0)


@pytest.mark.parametrize("changed", [{}, WINDOWS], ids=["whole", "windows"])
@pytest.mark.parametrize("query", ["", "&order=n", "&order=-n,name", "&order=-rowIndex"])
def test_cursors_go_on_where_they_do_without_title_rows(
    tmp_path: Path, changed: Mapping[str, object], query: str
) -> None:
    """Pages are the same and cost the same calls, also after rows were inserted."""
    with opened(tmp_path, changed) as surface:
        pages: dict[str, list[object]] = {"Plain": [], "Titled": []}
        for title, above in (("Plain", 0), ("Titled", ABOVE)):
            ask(surface, "GET", title)
            cursor: str | None = ""
            while cursor is not None:
                page, calls = ask(surface, "GET", f"{title}?limit=2{query}&cursor={cursor}")
                assert page.status_code == 200, page.content
                pages[title].append((moved(page.json()["results"], -above), calls))
                cursor = page.json()["cursor"]
                if len(pages[title]) == 1:
                    worksheet = sheet(surface, title)
                    worksheet.insert_rows(2 + above)
                    worksheet.type(2 + above, "Akron", "OH", 1)

    assert len(pages["Plain"]) > 2
    assert pages["Plain"] == pages["Titled"]


def test_rows_are_found_by_digits_of_their_numbers(titled: Surface) -> None:
    """`$text` on `rowIndex` searches the row numbers of the sheet."""
    add_sheets(titled)

    answer, _ = ask(titled, "GET", "Titled" + where({"rowIndex": {"$text": "4"}}))

    assert [each["rowIndex"] for each in answer.json()["results"]] == [4]


def test_an_alias_of_the_title_has_the_same_header(titled: Surface) -> None:
    """The setting applies to the tab, whatever Unicode form of the title is used."""
    add_sheets(titled)
    titled.sheets.add("Cafe\u0301", [["A list"], ["name"], ["Boston"]], rows=9)

    for title in ("Caf%C3%A9", "Cafe%CC%81"):
        answer, _ = ask(titled, "GET", title)
        refusal, _ = ask(titled, "GET", f"{title}/2")

        assert answer.json()["results"] == [{"rowIndex": 3, "name": "Boston"}]
        assert refused(refusal) == (404, 103)


def test_the_list_of_worksheets_counts_data_rows(titled: Surface) -> None:
    """`/v2/sheets` has the fields of the header and the number of rows below it."""
    add_sheets(titled)
    for title in ("Plain", "Titled"):
        ask(titled, "GET", f"{title}?count=true")
    answer, _ = ask(titled, "GET", "/v2/sheets")

    plain, shown = (each for each in answer.json()["sheets"] if each["name"] in ("Plain", "Titled"))
    schemas = [ask(titled, "GET", f"{title}/schema")[0] for title in ("Plain", "Titled")]
    assert plain["rows"] == 5
    assert schemas[0].status_code == 200
    assert moved(schemas[1].json(), 0) == moved(schemas[0].json(), 0)
    assert {**plain, "name": ""} == {**shown, "name": ""}


def test_the_document_has_the_fields_of_the_header(titled: Surface) -> None:
    """`/openapi.json` reads the same row, and leaves out a sheet without that row."""
    add_sheets(titled)
    titled.sheets.add("Caf\u00e9", [["name"]])

    answer, _ = ask(titled, "GET", "/openapi.json")

    paths, schemas = answer.json()["paths"], answer.json()["components"]["schemas"]
    assert "/v2/sheets/Titled" in paths
    assert not [each for each in paths if "Caf" in each]
    assert schemas["TitledRow"] == schemas["PlainRow"]
    assert "Orders 2026" not in answer.content.decode()


@pytest.mark.parametrize("changed", [{}, WINDOWS], ids=["whole", "windows"])
@pytest.mark.parametrize(
    "lines", [[["Orders"]], [["Orders"], [], [], ["Boston"]]], ids=["short", "blank"]
)
def test_a_sheet_without_the_row_has_no_header(
    tmp_path: Path, changed: Mapping[str, object], lines: Sequence[Sequence[Held | None]]
) -> None:
    """Every operation gets 409 102, which names the row and the setting. Nothing is written."""
    with open_surface(tmp_path, KEYS, {**SETTINGS, **changed}) as surface:
        surface.sheets.add("Titled", lines)
        for name, (method, target, body) in OPERATIONS.items():
            before = surface.cells()
            answer, (_, writes) = ask(
                surface, method, f"Titled{target(ABOVE)}", body and body(ABOVE)
            )

            assert surface.cells() == before
            assert writes == 0
            if answer.status_code == 409:
                assert answer.json()["code"] == 102, name
                assert "Row 3 of the worksheet" in answer.json()["message"]
                assert "header_row" in answer.json()["message"]
            else:
                assert answer.status_code in (200, 404), name
                assert answer.json().get("results", []) == [], name


@pytest.mark.parametrize("changed", [{}, CLEARS], ids=["shift", "clear"])
def test_lost_answers_are_settled_as_without_title_rows(
    tmp_path: Path, changed: Mapping[str, object]
) -> None:
    """After a lost response, the fence proves the write, and the rows are found by position."""
    with opened(tmp_path, changed) as surface:
        surface.calls.inner = scripted = ScriptedSheets(surface.sheets)
        for name, (method, _, _) in OPERATIONS.items():
            if method == "GET":
                continue
            add_sheets(surface)
            for nth in (1, 2):  # that of each worksheet
                scripted.after("apply", WriteOutcomeUnknown("lost"), nth=nth)
            compare(surface, name)
            scripted.clear()


def insert_above(worksheet: FakeWorksheet) -> int:
    worksheet.insert_rows(1)
    return 4


def insert_title(worksheet: FakeWorksheet) -> int:
    worksheet.insert_rows(3)
    worksheet.type(3, "by region")
    return 4


def delete_above(worksheet: FakeWorksheet) -> int:
    worksheet.delete_rows(2)
    return 2


EDITS = pytest.mark.parametrize("edit", [insert_above, insert_title, delete_above])


@EDITS
@pytest.mark.parametrize("changed", [{}, WINDOWS], ids=["whole", "windows"])
def test_a_header_that_was_moved_is_named(
    tmp_path: Path, changed: Mapping[str, object], edit: Callable[[FakeWorksheet], int]
) -> None:
    """A moved header is an error that names its row. After it is moved back, requests succeed."""
    rows = {"cache.rows_ttl_seconds": 0, "cache.header_ttl_seconds": 0, **changed}
    with opened(tmp_path, rows) as surface:
        for name, (method, target, body) in OPERATIONS.items():
            add_sheets(surface)
            worksheet = sheet(surface, "Titled")
            worksheet.rows = 200
            ask(surface, "GET", "Titled")
            row = edit(worksheet)
            before = surface.cells()
            sent = f"Titled{target(ABOVE)}", body and body(ABOVE)
            answer, (reads, writes) = ask(surface, method, *sent)

            assert surface.cells() == before, name
            assert writes == 0
            if reads == 0:  # refused as it is
                assert refused(answer) == (404, 103), name
                continue
            assert refused(answer) == (409, 102), name
            assert f"header of the worksheet is in row {row} now" in answer.json()["message"]
            assert f"header_row = {row}" in answer.json()["message"]

        add_sheets(surface)

        assert ask(surface, "GET", "Titled")[0].status_code == 200


@EDITS
def test_a_create_by_a_known_header_writes_to_its_columns(
    titled: Surface, edit: Callable[[FakeWorksheet], int]
) -> None:
    """A create with a cached header reports in its answer that people moved the header."""
    add_sheets(titled)
    ask(titled, "POST", "Titled", {"name": "Reno"})
    worksheet = sheet(titled, "Titled")
    edit(worksheet)
    last = len(worksheet.lines())
    answer, calls = ask(titled, "POST", "Titled", {"name": "Salem", "n": 5})

    assert refused(answer) == (409, 4091)
    assert answer.json()["outcome"] == "applied"
    assert calls == (0, 1)
    assert worksheet.lines()[last:] == [["Salem", "", "5"]]


def test_a_renamed_column_is_a_new_header(titled: Surface) -> None:
    """After a rename, 1 read proves that the header did not move. Then the new name is used."""
    add_sheets(titled)
    ask(titled, "GET", "Titled")
    sheet(titled, "Titled").type(3, "city")
    first, costs = ask(titled, "GET", "Titled")
    _, again = ask(titled, "GET", "Titled")

    assert first.json()["results"][0]["city"] == "New York"
    assert (costs, again) == ((2, 0), (1, 0))


@EDITS
@pytest.mark.parametrize("tagged", [False, True], ids=["", "If-Match"])
def test_an_update_that_met_a_moved_header_says_so(
    titled: Surface, tagged: bool, edit: Callable[[FakeWorksheet], int]
) -> None:
    """An update reports a header that moved during it. Its cells are in the right columns."""
    add_sheets(titled)
    worksheet = sheet(titled, "Titled")
    headers = [("If-Match", ask(titled, "GET", "Titled/5")[0].headers["etag"])] if tagged else []
    titled.calls.inner = scripted = ScriptedSheets(titled.sheets)
    scripted.before("apply", lambda: edit(worksheet))
    answer, _ = ask(titled, "PUT", "Titled/5", {"n": 99}, *headers)
    titled.calls.inner = titled.sheets

    assert refused(answer) in ((409, 4091), (409, 4095))
    assert answer.json()["outcome"] == "applied"
    assert worksheet.lines()[4][2] == "99"


class FromTheTop(ForwardingSheets):
    """Planted bug: the rows above the header are read and counted."""

    def __init__(self, inner: Sheets) -> None:
        self._inner = inner

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        return await call(self._inner)

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        if isinstance(range_, SheetArea):
            range_ = SheetArea(range_.sheet_id)
        else:
            range_ = range_.replace("!A3:", "!A1:")
        return await self._inner.read_columns(spreadsheet, range_, render=render, known=known)


@pytest.mark.parametrize(
    "name", ["list", "page", "equality", "rows from", "row past the end", "delete by filter"]
)
def test_rows_above_the_header_that_count_are_noticed(titled: Surface, name: str) -> None:
    """The comparison of both worksheets fails if a read begins above the header."""
    add_sheets(titled)
    titled.calls.inner = FromTheTop(titled.sheets)

    with pytest.raises((AssertionError, KeyError)):
        compare(titled, name)
    titled.calls.inner = titled.sheets
