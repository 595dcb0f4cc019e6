"""Number formats that display other plain numbers: calls, and tears beside them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from gateway.google.sheets import Render, Rendering, SheetArea
from tests.fakes import FakeSheets, FakeWorksheet, Formatted, Held
from tests.surfaces.stage import Surface, open_surface

Edit = Callable[[FakeWorksheet], None]

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
}
PLAIN: Mapping[str, Sequence[Held | None]] = {
    "plain": [1.5, 2],
    "#.##0": [Formatted(1250.4, "1.250"), Formatted(1_000_000, "1.000.000"), Formatted(7.5, "8")],
    "0000": [Formatted(42, "0042"), Formatted(7, "0007")],
}
"""Formats that round or group: their numbers are compared."""


@pytest.fixture
def surface(tmp_path: Path) -> Iterator[Surface]:
    with open_surface(tmp_path) as opened:
        yield opened


def add(surface: Surface, cells: Sequence[Held | None]) -> FakeWorksheet:
    lines = [[f"n{at}", at, cell, "-"] for at, cell in enumerate(cells)]
    return surface.sheets.add("X", [["name", "id", "when", "note"], *lines])


def before_reads(
    monkeypatch: pytest.MonkeyPatch, sheet: FakeWorksheet, edit: Callable[[int], None]
) -> None:
    """Call an edit with the number of each read of a rendering, from 0, before it."""
    read, count = FakeSheets._read_rendering, iter(range(1_000))

    def edited(
        sheets: FakeSheets, spreadsheet: str, range_: str | SheetArea, render: Render
    ) -> Rendering:
        edit(next(count))
        return read(sheets, spreadsheet, range_, render)

    monkeypatch.setattr(FakeSheets, "_read_rendering", edited)


def cost(surface: Surface, method: str, target: str, body: object = None) -> int:
    """The reads of a request that succeeds."""
    surface.calls.reads = 0
    content = b"" if body is None else json.dumps(body).encode()
    answer = surface.send(method, target, headers=[JSON] if content else [], body=content)
    assert answer.status_code in (200, 201), answer.content
    return surface.calls.reads


def listed(surface: Surface, target: str) -> list[Mapping[str, object]]:
    answer = surface.send("GET", target)
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
    """2 each time, 2 more when such a format is seen first, and when the header was changed."""
    sheet = add(surface, cells)
    if is_busy:
        before_reads(
            monkeypatch, sheet, lambda read: sheet.type(2, None, None, None, f"{read // 2}")
        )
    costs = []
    for at, target in enumerate(["X?order=id", "X?order=-when", "X?values=typed", "X?order=name"]):
        sheet.type(3, None, None, None, f"changed {at}")
        costs.append(cost(surface, "GET", target))
    sheet.type(1, None, None, None, "remark")
    costs += [cost(surface, "GET", "X?order=id") for _ in range(2)]

    assert costs == [2 + more, 2, 2, 2, 2 + more, 2]


@pytest.mark.parametrize("cells", FORMATS.values(), ids=FORMATS)
def test_the_reads_of_an_upsert(
    surface: Surface, monkeypatch: pytest.MonkeyPatch, cells: Sequence[Held | None]
) -> None:
    """On a busy worksheet: that of the header, and those of a list."""
    sheet = add(surface, cells)
    before_reads(monkeypatch, sheet, lambda read: sheet.type(2, None, None, None, f"{read // 2}"))

    costs = [cost(surface, "POST", "X?on_conflict=name", {"name": "n1", "id": 1}) for _ in "12"]

    assert costs == [5, 2]


def test_rows_appended_between_all_reads(surface: Surface, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format is learnt, though the cells that are compared are other ones each time."""
    sheet = add(surface, FORMATS["many"])

    def append(read: int) -> None:
        if not read % 2:
            at = sheet.rows - 1
            sheet.type(at + 2, f"n{at}", at, Formatted(46054 + at, "07.07"), "-")

    before_reads(monkeypatch, sheet, append)

    assert [cost(surface, "GET", "X?order=-id&limit=1") for _ in range(3)] == [4, 2, 2]


def insert(sheet: FakeWorksheet) -> None:
    sheet.insert_rows(2)
    sheet.type(2, None, 1_000 + sheet.rows, Formatted(47_000 + sheet.rows, "09.09"))


def delete(sheet: FakeWorksheet) -> None:
    sheet.delete_rows(2)


def change(sheet: FakeWorksheet) -> None:
    held = sheet.cells[3, 2]
    assert isinstance(held, int)
    sheet.type(3, None, -3 * held)


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("edit", [insert, delete, change])
@pytest.mark.parametrize("tears", [1, 2, 3])
def test_tears_beside_such_a_format(
    surface: Surface,
    monkeypatch: pytest.MonkeyPatch,
    edit: Edit,
    tears: int,
    is_known: bool,
) -> None:
    """An edit between both reads of some pairs is noticed by plain numbers, never learnt."""
    sheet = add(surface, [Formatted(46054 + at, f"{at + 1:02}.02") for at in range(20)])
    for row in range(1, 22):
        sheet.type(row, "", None, None, "")
    if is_known:
        listed(surface, "X?order=id")

    def tear(read: int) -> None:
        if read % 2 and read < 2 * tears:
            edit(sheet)

    before_reads(monkeypatch, sheet, tear)
    for _ in range(2):
        ids = [int(str(row["id"])) for row in listed(surface, "X?order=-id&limit=100")]
        assert ids == sorted(ids, reverse=True)
    before_reads(monkeypatch, sheet, lambda read: edit(sheet) if read == 1 else None)
    ids = [int(str(row["id"])) for row in listed(surface, "X?order=-id&limit=100")]

    assert ids == sorted(ids, reverse=True)
