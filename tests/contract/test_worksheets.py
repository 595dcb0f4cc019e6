"""Contract of the list of worksheets, their grid sizes, and missing spreadsheets."""

from collections.abc import Awaitable, Callable

import pytest

from gateway.errors import SpreadsheetNotFound
from gateway.google.sheets import Batch, Fence, Render, Sheets, Value
from gateway.table import a1
from tests.contract.subject import Subject, properties

UNKNOWN = "1" * 44

CALLS: dict[str, Callable[[Sheets], Awaitable[object]]] = {
    "read_values": lambda sheets: sheets.read_values(UNKNOWN, "'T'!A1", render=Render.TYPED),
    "read_columns": lambda sheets: sheets.read_columns(UNKNOWN, "'T'!A1", render=Render.TYPED),
    "read_ranges": lambda sheets: sheets.read_ranges(UNKNOWN, ["'T'!A1"]),
    "list_worksheets": lambda sheets: sheets.list_worksheets(UNKNOWN),
    "read_sheet": lambda sheets: sheets.read_sheet(UNKNOWN, ["'T'!A1"]),
    "read_spreadsheet": lambda sheets: sheets.read_spreadsheet(UNKNOWN, ["'T'!A1"]),
    "apply": lambda sheets: sheets.apply(
        UNKNOWN, Batch(sheet_id=0, fence=Fence.random("gw"), ranges=["'T'!A1"])
    ),
    "put_fence": lambda sheets: sheets.put_fence(UNKNOWN, Fence.random("gw")),
}


async def test_worksheets_are_listed_in_order(subject: Subject) -> None:
    """Worksheets are listed in the order of their tabs, each with a unique ID."""
    titles = [
        await subject.worksheet([["a"]], title=title) for title in ("Z {}", "A {}", "it's {}")
    ]

    listed = await subject.sheets.list_worksheets(subject.spreadsheet)

    assert [each.title for each in listed if each.title in titles] == titles
    assert len({each.sheet_id for each in listed}) == len(listed)


@pytest.mark.parametrize(
    ("rows", "size"),
    [pytest.param(0, (2, 3), id="full"), pytest.param(7, (7, 3), id="with-blank-rows")],
)
async def test_the_list_has_the_size_of_the_grid(
    subject: Subject, rows: int, size: tuple[int, int]
) -> None:
    """The list has the row and column counts of each grid, including blank ones."""
    title = await subject.worksheet([["a", "b", "c"], ["d"]], rows=rows)

    listed = await properties(subject, title)

    assert (listed.rows, listed.columns) == size


async def test_first_rows_of_worksheets_come_in_the_order_of_tabs(subject: Subject) -> None:
    """First rows come in the order of the worksheets, one range of each worksheet."""
    lines: list[list[Value]] = [["a", "b"], [1, True], [2, "x"]]
    titles = [await subject.worksheet(lines, title=title) for title in ("Z {}", "it's {}")]
    await subject.worksheet([["other"]])

    ranges = [a1.row_range(title, 1, 2) for title in reversed(titles)]
    view = await subject.sheets.read_spreadsheet(subject.spreadsheet, ranges)

    assert [each.title for each in view.worksheets] == titles
    assert [[*map(list, each.blocks[0].values)] for each in view.worksheets] == [lines[:2]] * 2
    assert all(view.title and each.sheet_id >= 0 for each in view.worksheets)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_missing_spreadsheet(
    subject: Subject, call: Callable[[Sheets], Awaitable[object]]
) -> None:
    """Every call with an unknown spreadsheet ID fails."""
    with pytest.raises(SpreadsheetNotFound):
        await call(subject.sheets)
