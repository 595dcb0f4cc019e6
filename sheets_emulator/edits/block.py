"""Changes of all cells in a box (rectangle of cells).

Rules:
- Boxes passed to this module are within the grid.
- Rows with equal changes share one tuple, and blank rows are not stored. So a request for a whole
  worksheet costs only as much as its content.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sheets_emulator.grid.box import Box
from sheets_emulator.grid.cell import BLANK, Cell, Content, bare, whole
from sheets_emulator.grid.sheet import Row, Sheet, full_row
from sheets_emulator.protocol.message import Message
from sheets_emulator.resources.grid_range import Area, Editing, read_area
from sheets_emulator.resources.places import require_unprotected


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """A cell that was read for a move or copy, with its row and column."""

    cell: Cell
    row: int
    column: int


def open_area(editing: Editing, message: Message, name: str = "range") -> Area:
    """Parse the GridRange of a request. Raises a 400 if the account cannot write all its cells."""
    area = read_area(editing.workbook, message.message(name))
    require_unprotected(area.sheet, area.box, editing.account)
    return area


def take(sheet: Sheet, box: Box) -> list[list[Taken]]:
    """Return the cells of a box by row. All rows have the full width of the box."""
    return [
        [
            Taken(cell=cell, row=row, column=column)
            for column, cell in enumerate(full_row(sheet, row, box), start=box.left)
        ]
        for row in range(box.top, box.bottom)
    ]


def contents(sheet: Sheet, row: int, box: Box) -> list[Content]:
    """Return the contents of a row in the box, at the full width of the box."""
    return sheet.padded(row, box.right)[box.left : box.right]


def put(sheet: Sheet, row: int, left: int, cells: Sequence[Content]) -> None:
    """Replace the cells of a row from column `left`, with formats.

    Trailing blank cells are not stored.
    """
    row_contents = sheet.padded(row, left + len(cells))
    put_in = [bare(each) if isinstance(each, Cell) else each for each in cells]
    row_contents[left : left + len(cells)] = put_in
    sheet.note_formulas(put_in)
    _keep(sheet, row, row_contents)


def change_each(sheet: Sheet, box: Box, change: Callable[[Cell, int, int], Cell]) -> None:
    """Replace each cell of a box with the result of `change(cell, row, column)`."""
    for row in range(box.top, box.bottom):
        cells = full_row(sheet, row, box)
        changed = [change(cell, row, column) for column, cell in enumerate(cells, start=box.left)]
        put(sheet, row, box.left, changed)


def change_all(sheet: Sheet, box: Box, change: Callable[[Cell], Cell]) -> None:
    """Replace each cell of a box with the result of `change(cell)`.

    The result must depend only on the cell, and must not have a new formula.
    """
    blank = bare(change(BLANK))
    outside: Row = (None,) * box.left + (blank,) * box.width
    bottom = min(box.bottom, len(sheet.rows)) if blank is None else box.bottom
    for row in range(box.top, bottom):
        if row < len(sheet.rows) and sheet.rows[row]:
            put(sheet, row, box.left, [change(whole(each)) for each in contents(sheet, row, box)])
        elif blank is not None:
            sheet.replace_row(row, outside)


def _keep(sheet: Sheet, row: int, kept: Sequence[Content]) -> None:
    """Store a row without trailing blank cells. Trailing blank rows are not stored."""
    end = len(kept)
    while end and kept[end - 1] is None:
        end -= 1
    if end or row < len(sheet.rows):
        sheet.replace_row(row, kept[:end])
