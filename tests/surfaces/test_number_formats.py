"""Number formats that display other plain numbers or other texts: calls, and tears beside them."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from unittest.mock import patch

import pytest

from gateway import app
from gateway.google.sheets import Render, Rendering, SheetArea
from gateway.table import table
from gateway.table.steps import Work
from tests.asgi_client import Answer
from tests.fakes import FakeSheets, FakeWorksheet, Formatted, Held
from tests.journeys.failure import refused
from tests.surfaces.stage import Surface, open_surface

Edit = Callable[[FakeWorksheet, Callable[[int], Formatted]], None]

JSON = ("Content-Type", "application/json")
MANY = 400
FORMATS: Mapping[str, Sequence[Held | None]] = {
    "dd.mm": [Formatted(46054, "01.02"), Formatted(46055, "02.02")],
    "yyyy": [Formatted(46054, "2026"), Formatted(46055, "2026"), Formatted(2026, "1905")],
    "hh.mm": [Formatted(0.4375, "10.30"), Formatted(0.5, "12.00"), Formatted(0, "00.00")],
    "0.0,,": [Formatted(1500000, "1.5"), Formatted(2500000, "2.5"), Formatted(0, "0.0")],
    "yyyymmdd": [Formatted(46054, "20260201"), Formatted(46055, "20260202")],
    "among other cells": [7, "text", None, Formatted(46054, "2026"), 2.5],
    "many": [Formatted(46054 + at, f"{at % 28 + 1:02}.02") for at in range(MANY)],
    '@" kg"': [Formatted("k", "k kg"), Formatted("5", "5 kg"), Formatted("7.5", "7.5 kg"), "7.5"],
    '@" kg", few': [*["5 kg"] * MANY, Formatted("5", "5 kg"), Formatted("6", "6 kg")],
    '"<"@", "@">"': [Formatted("a", "<a, a>"), Formatted("b", "<b, b>"), Formatted("", "<, >")],
    'yyyy;;;@" (est.)"': [Formatted(46054, "2026"), Formatted("2025", "2025 (est.)")],
    '0;0;0;"n/a"': [5, Formatted("none", "n/a"), Formatted("tbd", "n/a"), "n/a", 7],
    ";;;": [Formatted("a", ""), Formatted("b", ""), Formatted(7, ""), None, Formatted("c", "")],
    "two formats": [Formatted("a", "a!"), Formatted("b", "b?"), Formatted("c", "c!"), "d"],
    "errors beside": [Formatted("#N/A (Not found.)", "#N/A"), Formatted("5", "5 kg"), "#REF!"],
    "many texts": [Formatted(f"t{at}", f"t{at} kg") for at in range(MANY)],
}
PLAIN: Mapping[str, Sequence[Held | None]] = {
    "plain": [1.5, 2],
    "#.##0": [Formatted(1250.4, "1.250"), Formatted(1_000_000, "1.000.000"), Formatted(7.5, "8")],
    "0000": [Formatted(42, "0042"), Formatted(7, "0007")],
    '0" kg"': [Formatted(5, "5 kg"), Formatted(7.5, "8 kg")],
    "booleans": [Formatted(True, "yes"), Formatted(False, "no"), True],
    "errors": [Formatted("#N/A (Not found.)", "#N/A"), Formatted("#DIV/0! (Zero.)", "#DIV/0!"), 1],
    "hidden numbers and booleans": [Formatted(5, ""), Formatted(True, "")],
}
"""Formats that round or group, so that their numbers are compared.

Other formats display no plain number.
"""


@dataclass
class Clock:
    """Clock that stands still during a request, so that nothing expires on a busy machine."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


CLOCK = Clock()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    folder = tmp_path_factory.mktemp("surface")
    with patch.object(app, "time", CLOCK), open_surface(folder) as surface:
        yield surface


_TITLES = (f"Title{number}" for number in count())
"""Titles that no other test uses, because the gateway remembers the formats of a worksheet."""


def add(surface: Surface, cells: Sequence[Held | None]) -> FakeWorksheet:
    """Add a worksheet that no other test uses."""
    lines = [[f"n{at}", at, cell, "-"] for at, cell in enumerate(cells)]
    return surface.sheets.add(next(_TITLES), [["name", "id", "when", "note"], *lines])


def before_reads(
    monkeypatch: pytest.MonkeyPatch, sheet: FakeWorksheet, edit: Callable[[int], None]
) -> None:
    """Call an edit before each read of a rendering, with the number of the read from 0."""
    read, numbers = FakeSheets._read_rendering, count()

    def edited(
        sheets: FakeSheets, spreadsheet: str, range_: str | SheetArea, render: Render
    ) -> Rendering:
        edit(next(numbers))
        return read(sheets, spreadsheet, range_, render)

    monkeypatch.setattr(FakeSheets, "_read_rendering", edited)


def send(surface: Surface, method: str, query: str, body: object = None) -> Answer:
    """Return the answer to a request for the worksheet that was added last."""
    CLOCK.now = time.monotonic()
    target = f"{surface.sheets.worksheets[-1].title}?{query}"
    if body is None:
        return surface.send(method, target)
    return surface.send(method, target, headers=[JSON], body=json.dumps(body).encode())


def cost(surface: Surface, method: str, query: str, body: object = None) -> int:
    """Return the reads of a request that succeeds."""
    surface.calls.reads = 0
    answer = send(surface, method, query, body)
    assert answer.status_code in (200, 201), answer.content
    return surface.calls.reads


def listed(surface: Surface, query: str) -> list[Mapping[str, object]]:
    answer = send(surface, "GET", query)
    assert answer.status_code == 200, answer.content
    results: list[Mapping[str, object]] = answer.json()["results"]
    return results


@pytest.mark.parametrize("is_busy", [False, True], ids=["quiet", "busy"])
@pytest.mark.parametrize(
    ("cells", "more"),
    [*((cells, 2) for cells in FORMATS.values()), *((cells, 0) for cells in PLAIN.values())],
    ids=[*FORMATS, *PLAIN],
)
def test_the_reads_of_a_list(
    surface: Surface,
    monkeypatch: pytest.MonkeyPatch,
    cells: Sequence[Held | None],
    more: int,
    is_busy: bool,
) -> None:
    """A list costs 2 reads, and 2 more if a format is new or the header has changed."""
    sheet = add(surface, cells)
    if is_busy:
        before_reads(
            monkeypatch, sheet, lambda read: sheet.type(2, None, None, None, f"{read // 2}")
        )
    costs = []
    queries = ["order=id", "order=-when", "values=typed", "order=name"]
    for at, query in enumerate(5 * queries):
        sheet.type(3, None, None, None, f"changed {at}")
        costs.append(cost(surface, "GET", query))
    sheet.type(1, None, None, None, "remark")
    costs += [cost(surface, "GET", "order=id") for _ in range(2)]

    assert costs == [2 + more, *19 * [2], 2 + more, 2]


@pytest.mark.parametrize(
    ("method", "query", "body"),
    [
        pytest.param("POST", "on_conflict=name", {"name": "n1", "id": 1}, id="upsert"),
        pytest.param("PATCH", 'where={"name":"n1"}', {"id": 1}, id="update by filter"),
    ],
)
@pytest.mark.parametrize(
    ("cells", "more"),
    [*((cells, 2) for cells in FORMATS.values()), *((cells, 0) for cells in PLAIN.values())],
    ids=[*FORMATS, *PLAIN],
)
def test_the_reads_of_a_write(
    surface: Surface,
    monkeypatch: pytest.MonkeyPatch,
    cells: Sequence[Held | None],
    more: int,
    method: str,
    query: str,
    body: object,
) -> None:
    """A write to a busy worksheet costs a read of the header and the reads of a list."""
    sheet = add(surface, cells)
    before_reads(monkeypatch, sheet, lambda read: sheet.type(2, None, None, None, f"{read // 2}"))

    costs = [cost(surface, method, query, body) for _ in "12"]

    assert costs == [3 + more, 2]


def test_one_text_that_is_displayed_as_another(surface: Surface) -> None:
    """A format is learnt from two equal pairs of reads, because an edit looks the same in one."""
    sheet = add(surface, [5, Formatted("none", "n/a"), 7])

    costs = []
    for at in range(3):
        sheet.type(3, None, None, None, f"changed {at}")
        costs.append(cost(surface, "GET", "order=id"))

    assert costs == [4, 2, 2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("open", "done", id="plain"),
        pytest.param(Formatted("5", "5 kg"), Formatted("6", "6 kg"), id="with a format"),
        pytest.param("", "done", id="blank"),
    ],
)
def test_a_text_that_changes_to_and_fro(
    surface: Surface, monkeypatch: pytest.MonkeyPatch, before: Held, after: Held
) -> None:
    """If all pairs of reads differ in the same way, no answer is given."""
    sheet = add(surface, ["a", "b", "c"])

    def write(read: int) -> None:
        sheet.type(3, None, None, after if read % 2 else before, f"{read // 2}")

    before_reads(monkeypatch, sheet, write)

    assert refused(send(surface, "GET", "order=id")) == (502, 5020)


def dates(at: int) -> Formatted:
    return Formatted(46054 + at, f"{at + 1:02}.02")


def weights(at: int) -> Formatted:
    return Formatted(f"{at}", f"{at} kg")


def hidden(at: int) -> Formatted:
    return Formatted(f"secret {at}", "")


@pytest.mark.parametrize("made", [dates, weights])
def test_rows_appended_between_all_reads(
    surface: Surface, monkeypatch: pytest.MonkeyPatch, made: Callable[[int], Formatted]
) -> None:
    """A format is learnt although rows are appended between all reads."""
    sheet = add(surface, [made(at) for at in range(MANY)])

    def append(read: int) -> None:
        if not read % 2:
            at = sheet.rows - 1
            sheet.type(at + 2, f"n{at}", at, made(at), "-")

    before_reads(monkeypatch, sheet, append)

    assert [cost(surface, "GET", "order=-id&limit=1") for _ in range(3)] == [4, 2, 2]


def insert(sheet: FakeWorksheet, made: Callable[[int], Formatted]) -> None:
    sheet.insert_rows(2)
    sheet.type(2, None, 1_000 + sheet.rows, made(946 + sheet.rows))


def delete(sheet: FakeWorksheet, made: Callable[[int], Formatted]) -> None:
    sheet.delete_rows(2)


def change(sheet: FakeWorksheet, made: Callable[[int], Formatted]) -> None:
    held = sheet.cells[3, 2]
    assert isinstance(held, int)
    sheet.type(3, None, -3 * held)


def tear(
    monkeypatch: pytest.MonkeyPatch, sheet: FakeWorksheet, edit: Callable[[], None], tears: int
) -> None:
    """Make an edit between the two reads of a number of pairs."""
    before_reads(monkeypatch, sheet, lambda read: edit() if read % 2 and read < 2 * tears else None)


def ids_after_tears(
    surface: Surface,
    monkeypatch: pytest.MonkeyPatch,
    edit: Edit,
    made: Callable[[int], Formatted],
    *,
    tears: int,
    is_known: bool,
) -> list[list[int]]:
    """Return the ids of descending lists. Mixed states of the worksheet would break their order."""
    sheet = add(surface, [made(at) for at in range(20)])
    for row in range(1, 22):
        sheet.type(row, "", None, None, "")
    if is_known:
        listed(surface, "order=id")
    found = []
    for torn, lists in ((tears, 2), (1, 1)):
        tear(monkeypatch, sheet, lambda: edit(sheet, made), torn)
        for _ in range(lists):
            rows = listed(surface, "order=-id&limit=100")
            found.append([int(str(row["id"])) for row in rows])
    return found


@pytest.mark.parametrize("made", [dates, weights, hidden])
@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("edit", [insert, delete, change])
@pytest.mark.parametrize("tears", [1, 2, 3])
def test_tears_beside_such_a_format(
    surface: Surface,
    monkeypatch: pytest.MonkeyPatch,
    edit: Edit,
    tears: int,
    is_known: bool,
    made: Callable[[int], Formatted],
) -> None:
    """Plain numbers show an edit between two reads, which is never learnt as a format."""
    lists = ids_after_tears(surface, monkeypatch, edit, made, tears=tears, is_known=is_known)

    assert lists == [sorted(ids, reverse=True) for ids in lists]


def test_a_gateway_that_takes_tears_for_formats(
    surface: Surface, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a gateway that learns edits as formats fails the test above."""

    def always(*_: object, **__: object) -> Work[bool]:
        yield 0
        return True

    monkeypatch.setattr(table, "_are_formatted", always)
    lists = ids_after_tears(surface, monkeypatch, insert, dates, tears=1, is_known=False)

    assert lists != [sorted(ids, reverse=True) for ids in lists]


@pytest.mark.parametrize("edit", ["insert", "delete"])
def test_tears_that_only_texts_with_a_known_format_show(
    surface: Surface, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    """An edit is found by a known format that displays other texts."""
    lines = [[dates(at), weights(at)] for at in range(9)]
    sheet = surface.sheets.add(next(_TITLES), [["when", "weight"], *lines])
    costs = [cost(surface, "GET", "order=when") for _ in "12"]

    def move() -> None:
        if edit == "delete":
            sheet.delete_rows(2)
        else:
            sheet.insert_rows(2)
            sheet.type(2, dates(20), weights(20))

    tear(monkeypatch, sheet, move, 1)
    costs.append(cost(surface, "GET", "order=when"))
    shown = [str(row["when"]) for row in listed(surface, "order=when")]

    assert costs == [4, 2, 4]
    assert shown == sorted(shown)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(lambda at: "", lambda at: "done", id="a column filled"),
        pytest.param(lambda at: "", lambda at: f"done {at}", id="with other texts"),
        pytest.param(lambda at: "open", lambda at: "done", id="texts changed"),
        pytest.param(lambda at: "5 kg", lambda at: "5", id="a unit taken away"),
        pytest.param(lambda at: f"{at} kg", lambda at: f"{at}", id="of other texts"),
        pytest.param(lambda at: 0, lambda at: 1, id="numbers changed"),
        pytest.param(lambda at: f"r{at}", lambda at: "", id="emptied"),
        pytest.param(lambda at: False, lambda at: True, id="checkboxes ticked"),
    ],
)
@pytest.mark.parametrize("rows", [2, 4, 40])
def test_one_cell_after_the_other_changed_between_the_reads(
    surface: Surface,
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[int], Held],
    after: Callable[[int], Held],
    rows: int,
) -> None:
    """A script that writes down a column makes two equal pairs, but no format is learnt."""
    sheet = add(surface, [before(at) for at in range(rows)])
    cells = iter(range(rows))

    def write() -> None:
        at = next(cells)
        sheet.type(at + 2, None, None, after(at))

    tear(monkeypatch, sheet, write, 2)
    costs = [cost(surface, "GET", "order=-when") for _ in "12"]

    assert costs == [7, 2]
