"""Changes of all cells in a box.

Rules:
- Boxes passed to this module are within the grid.
- Rows with equal changes share one tuple, and blank rows are not stored: a request for a whole
  worksheet costs only its content.
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
    """Cell that was removed from a worksheet, with its row and column."""

    cell: Cell
    row: int
    column: int


def open_area(editing: Editing, message: Message, name: str = "range") -> Area:
    """Read the GridRange of a request. Raises Refusal if the account cannot write all its cells."""
    area = read_area(editing.workbook, message.message(name))
    require_unprotected(area.sheet, area.box, editing.account)
    return area


def take(sheet: Sheet, box: Box) -> list[list[Taken]]:
    """The cells of a box, with rows at full width."""
    return [
        [
            Taken(cell=cell, row=row, column=column)
            for column, cell in enumerate(full_row(sheet, row, box), start=box.left)
        ]
        for row in range(box.top, box.bottom)
    ]


def contents(sheet: Sheet, row: int, box: Box) -> list[Content]:
    """The contents of a row in the box, at full width."""
    return sheet.padded(row, box.right)[box.left : box.right]


def put(sheet: Sheet, row: int, left: int, cells: Sequence[Content]) -> None:
    """Replace cells of a row, including formats. Trailing blank cells are not stored."""
    row_contents = sheet.padded(row, left + len(cells))
    put_in = [bare(each) if isinstance(each, Cell) else each for each in cells]
    row_contents[left : left + len(cells)] = put_in
    sheet.note_formulas(put_in)
    _keep(sheet, row, row_contents)


def change_each(sheet: Sheet, box: Box, change: Callable[[Cell, int, int], Cell]) -> None:
    """Replace each cell of a box with the result of `change`, given its row and column."""
    for row in range(box.top, box.bottom):
        cells = full_row(sheet, row, box)
        changed = [change(cell, row, column) for column, cell in enumerate(cells, start=box.left)]
        put(sheet, row, box.left, changed)


def change_all(sheet: Sheet, box: Box, change: Callable[[Cell], Cell]) -> None:
    """Replace each cell of a box with the result of `change`.

    The result must not depend on the row and column, and must not add a formula.
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
