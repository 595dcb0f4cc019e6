"""batchUpdate: insert and delete ranges of cells, which shifts other cells.

Rules:
- Merges move if all their cells are shifted. A partly shifted merge is an error. Named and
  protected ranges stay in place.
- References to shifted cells follow the cells. A reference that is only partly in the shifted rows
  or columns stays unchanged (assumed).
"""

from dataclasses import replace

from sheets_emulator.edits.block import put, take
from sheets_emulator.edits.dimensions import deleted, inserted, rewrite_formulas, unmoved
from sheets_emulator.edits.merge_requests import merge_of, remove_merges, require_whole_merges
from sheets_emulator.formulas.references import Lanes, Shift, shifted
from sheets_emulator.grid.box import Box, sized
from sheets_emulator.grid.cell import BLANK
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.protocol.message import Message
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Area, Editing, read_area, read_is_rows
from sheets_emulator.resources.places import require_unprotected


def insert_range(editing: Editing, message: Message) -> Reply:
    """insertRange: insert blank cells.

    The grid grows if cells with content would move past its end.
    """
    area, is_rows = _read(editing, message)
    sheet, box = area.sheet, area.box
    strip = _used(sheet, _strip(sheet, box, is_rows))
    down, right = (box.height, 0) if is_rows else (0, box.width)
    if strip is not None:
        rows = max(sheet.row_count, strip.bottom + down)
        columns = max(sheet.column_count, strip.right + right)
        editing.workbook.require_room(rows * columns - sheet.cell_count)
        sheet.grow(row_count=rows, column_count=columns)
        _move(sheet, strip, down, right)
    start, count = (box.top, box.height) if is_rows else (box.left, box.width)
    _follow(editing, area, is_rows, inserted(start, count))
    return {}


def delete_range(editing: Editing, message: Message) -> Reply:
    """deleteRange: delete cells. The following cells of the rows or columns fill the gap."""
    area, is_rows = _read(editing, message)
    sheet, box = area.sheet, area.box
    remove_merges(sheet, box)
    for row in range(box.top, min(box.bottom, len(sheet.rows))):
        put(sheet, row, box.left, [BLANK] * box.width)
    beyond = replace(box, top=box.bottom) if is_rows else replace(box, left=box.right)
    strip = _used(sheet, _strip(sheet, beyond, is_rows))
    if strip is not None:
        down, right = (-box.height, 0) if is_rows else (0, -box.width)
        _move(sheet, strip, down, right)
    _follow(
        editing,
        area,
        is_rows,
        deleted(box.top, box.bottom) if is_rows else deleted(box.left, box.right),
    )
    return {}


def _follow(editing: Editing, area: Area, is_rows: bool, shift: Shift) -> None:
    """Adjust the references to the shifted cells."""
    sheet, box = area.sheet, area.box
    lanes = Lanes(columns=range(box.left, box.right))
    if not is_rows:
        lanes = Lanes(rows=range(box.top, box.bottom))

    def follow(own: Sheet, formula: str) -> str:
        return shifted(
            formula,
            own_title=own.title,
            title=sheet.title,
            rows=shift if is_rows else unmoved,
            columns=unmoved if is_rows else shift,
            within=lanes,
        )

    rewrite_formulas(editing.workbook, follow)


def _read(editing: Editing, message: Message) -> tuple[Area, bool]:
    """Parse the range of the request. The flag is True if cells are shifted down or up.

    Raises a 400 if the account cannot write all shifted cells, or a merge is partly shifted.
    """
    is_rows = read_is_rows(message, "shiftDimension")
    area = read_area(editing.workbook, message.message("range"))
    strip = _strip(area.sheet, area.box, is_rows)
    require_unprotected(area.sheet, strip, editing.account)
    require_whole_merges(area.sheet, strip)
    return area, is_rows


def _strip(sheet: Sheet, box: Box, is_rows: bool) -> Box:
    """Return the box together with all cells below the box (`is_rows`), or to its right."""
    if is_rows:
        return replace(box, bottom=sheet.row_count)
    return replace(box, right=sheet.column_count)


def _used(sheet: Sheet, strip: Box) -> Box | None:
    """Return the part of a box with any content, including formats and merges, or None."""
    rows = sheet.read(strip)
    merges = require_whole_merges(sheet, strip)
    ends = [row for row, cells in enumerate(rows, start=strip.top + 1) if _kept_width(cells)]
    widths = [strip.left + _kept_width(cells) for cells in rows]
    bottom = max([strip.top, *ends, *(merge.bottom for merge in merges)])
    right = max([strip.left, *widths, *(merge.right for merge in merges)])
    if bottom == strip.top or right == strip.left:
        return None
    return replace(strip, bottom=bottom, right=min(right, strip.right))


def _kept_width(row: Row) -> int:
    """Return the number of cells up to the last one with any content."""
    return max((at for at, each in enumerate(row, start=1) if each is not None), default=0)


def _move(sheet: Sheet, box: Box, down: int, right: int) -> None:
    """Move the cells and merges of a box. The old cells become blank."""
    merges = require_whole_merges(sheet, box)
    remove_merges(sheet, box)
    rows = [[taken.cell for taken in row] for row in take(sheet, box)]
    for row in range(box.top, box.bottom):
        put(sheet, row, box.left, [BLANK] * box.width)
    for row, cells in enumerate(rows, start=box.top + down):
        put(sheet, row, box.left + right, cells)
    sheet.merges.extend(
        merge_of(
            sized(top=each.top + down, left=each.left + right, height=each.height, width=each.width)
        )
        for each in merges
    )
