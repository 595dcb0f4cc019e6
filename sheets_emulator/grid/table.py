"""Detection of tables: connected data around a cell.

Rules:
- A table is the smallest box (rectangle) around a cell with no data next to its edges and corners.
  Blank rows or columns end a table (recorded from Google: a blank cell in row 1 splits a table).
  Blank cells within the box do not.
- If a range contains several tables, the last one counts (Google's guide). The emulator takes the
  table with the last non-blank cell of the range: in the last row, the last column.
- For a table that spans all used columns of its worksheet, not every row is examined.
"""

from bisect import bisect_left
from dataclasses import replace

from sheets_emulator.grid.box import Box, sized
from sheets_emulator.grid.sheet import Sheet

FEW_ROWS = 30


def find_table(sheet: Sheet, searched: Box) -> Box | None:
    """Return the last table that overlaps a box of cells, or None if the box is blank."""
    last = sheet.last_used(searched)
    return None if last is None else table_round(sheet, *last)


def table_round(sheet: Sheet, row: int, column: int) -> Box:
    """Return the table around a non-blank cell."""
    box = sized(top=row, left=column, height=1, width=1)
    while True:
        wider = _taller(sheet, _wider(sheet, box))
        if wider == box:
            return box
        box = wider


def _wider(sheet: Sheet, box: Box) -> Box:
    left, right = box.left, box.right
    top, bottom = box.top - 1, box.bottom + 1
    while sheet.is_used(Box(top=top, bottom=bottom, left=left - 1, right=left)):
        left -= 1
    while sheet.is_used(Box(top=top, bottom=bottom, left=right, right=right + 1)):
        right += 1
    return replace(box, left=left, right=right)


def _taller(sheet: Sheet, box: Box) -> Box:
    """Add rows with data to the box, at most about as many as the box has.

    The caller then looks for further columns before more rows are added.
    """
    if box.left - 1 <= sheet.margin and box.right + 1 >= sheet.width:
        return _between_blank_rows(sheet, box)
    top, bottom = box.top, box.bottom
    left, right = box.left - 1, box.right + 1
    most = 2 * box.height + FEW_ROWS
    while bottom - top < most and sheet.is_used(
        Box(top=top - 1, bottom=top, left=left, right=right)
    ):
        top -= 1
    while bottom - top < most and sheet.is_used(
        Box(top=bottom, bottom=bottom + 1, left=left, right=right)
    ):
        bottom += 1
    return replace(box, top=top, bottom=bottom)


def _between_blank_rows(sheet: Sheet, box: Box) -> Box:
    """Extend a box with all used columns to the blank rows above and below."""
    blank = sheet.blank_rows
    above = bisect_left(blank, box.top)
    below = bisect_left(blank, box.bottom)
    return replace(
        box,
        top=blank[above - 1] + 1 if above else 0,
        bottom=blank[below] if below < len(blank) else len(sheet.rows),
    )
