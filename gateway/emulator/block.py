"""Cells of a box, taken out, changed and put back.

Rules
- A Box given to this file lies inside the grid.
- Rows that change alike share one tuple, and what stays blank is not kept: a request for a whole
  worksheet costs what is in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.emulator.box import Box
from gateway.emulator.cell import BLANK, Cell, Content, bare, whole
from gateway.emulator.sheet import Row, Sheet, full_row


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A cell taken out of a worksheet, and where it was."""

    cell: Cell
    row: int
    column: int


def take(sheet: Sheet, box: Box) -> list[list[Taken]]:
    """The cells of a box, every row at its full width."""
    return [
        [
            Taken(cell=cell, row=row, column=column)
            for column, cell in enumerate(full_row(sheet, row, box), start=box.left)
        ]
        for row in range(box.top, box.bottom)
    ]


def put(sheet: Sheet, row: int, left: int, cells: Sequence[Cell]) -> None:
    """Put cells, formats and all, in the place of those of a row; blank ends are not kept."""
    contents = _padded(sheet, row, left + len(cells))
    contents[left : left + len(cells)] = map(bare, cells)
    sheet.has_formulas |= any(cell.formula is not None for cell in cells)
    _keep(sheet, row, contents)


def change_each(sheet: Sheet, box: Box, change: Callable[[Cell, int, int], Cell]) -> None:
    """Put for each cell what `change` makes of it, given its row and its column."""
    for row in range(box.top, box.bottom):
        cells = full_row(sheet, row, box)
        changed = [change(cell, row, column) for column, cell in enumerate(cells, start=box.left)]
        put(sheet, row, box.left, changed)


def change_all(sheet: Sheet, box: Box, change: Callable[[Cell], Cell]) -> None:
    """Put for each cell what `change`, which brings no formula, makes of it wherever it is."""
    blank = bare(change(BLANK))
    outside: Row = (None,) * box.left + (blank,) * box.width
    bottom = min(box.bottom, len(sheet.rows)) if blank is None else box.bottom
    for row in range(box.top, bottom):
        if row < len(sheet.rows) and sheet.rows[row]:
            contents = _padded(sheet, row, box.right)
            inner = (bare(change(whole(each))) for each in contents[box.left : box.right])
            contents[box.left : box.right] = inner
            _keep(sheet, row, contents)
        elif blank is not None:
            sheet.replace_row(row, outside)


def _padded(sheet: Sheet, row: int, width: int) -> list[Content]:
    """The contents of a row as a list at least this long."""
    kept = sheet.rows[row] if row < len(sheet.rows) else ()
    return [*kept, *[None] * (width - len(kept))]


def _keep(sheet: Sheet, row: int, contents: Sequence[Content]) -> None:
    """Keep a row without the blanks at its end; a blank one under all others not at all."""
    end = len(contents)
    while end and contents[end - 1] is None:
        end -= 1
    if end or row < len(sheet.rows):
        sheet.replace_row(row, contents[:end])
