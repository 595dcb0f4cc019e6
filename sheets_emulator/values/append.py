"""values.append: find the table and write below it.

Rules:
- Rows go below the table, from its first column on. Without a table, rows go exactly to the start
  of the range, and the reply has no `tableRange` (recorded from Google).
- OVERWRITE overwrites existing cells. INSERT_ROWS first inserts as many rows as are written. The
  new rows inherit the formats (reported by users) and validation rules (assumed) of the row above.
- Only append extends the grid, by exactly the needed size (Google's size is unknown).
- If the table was searched earlier, rows go to the position of that time. So parallel appends
  overwrite each other (reported by users of Google). If the position no longer exists, the table is
  searched again.
"""

from dataclasses import dataclass, replace

from sheets_emulator.edits.dimensions import insert_rows
from sheets_emulator.edits.inheritance import inherit
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.spill import spill
from sheets_emulator.grid.a1 import print_range
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.table import find_table
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.rendering import Rendering
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Lines
from sheets_emulator.resources.places import find_place, require_unprotected
from sheets_emulator.values.entries import Entries, write_entries
from sheets_emulator.values.ranges import Write, update_reply, value_range


@dataclass(frozen=True, kw_only=True)
class Target:
    """First cell of the rows to append. `table` is None if the range overlaps no table."""

    sheet: Sheet
    table: Box | None
    top: int
    left: int


def find_target(workbook: Workbook, range_text: str) -> Target:
    """Find the first cell that an append to a range would write now.

    Raises a 400 for a wrong range.
    """
    place = find_place(workbook, range_text)
    table = find_table(place.sheet, place.box)
    if table is None:
        top, left = place.box.top, place.box.left
    else:
        top, left = table.bottom, table.left
    return Target(sheet=place.sheet, table=table, top=top, left=left)


def append(
    workbook: Workbook,
    write: Write,
    *,
    seen: Target | None,
    is_inserting: bool,
    account: str,
    rendering: Rendering | None,
) -> Reply:
    """Append rows and return the AppendValuesResponse.

    `seen` is the result of an earlier search for the table. If `rendering` is not None, the
    response has `updatedData`.
    """
    target = _still_there(workbook, seen) or find_target(workbook, write.range_text)
    sheet = target.sheet
    box = write.entries.box_at(target.top, target.left)
    write.entries.require_short()
    _make_room(workbook, sheet, box, write.entries, is_inserting=is_inserting, account=account)
    touched = write_entries(sheet, box.top, box.left, write.entries)
    updates = update_reply(workbook, sheet, box, touched)
    if rendering is not None:
        spill(workbook)
        dimension = write.entries.dimension
        updates["updatedData"] = value_range(Results(workbook), sheet, box, dimension, rendering)
    reply: Reply = {"spreadsheetId": workbook.spreadsheet_id}
    if target.table is not None:
        reply["tableRange"] = print_range(sheet.title, target.table)
    return {**reply, "updates": updates}


def _still_there(workbook: Workbook, seen: Target | None) -> Target | None:
    """Return an earlier search result for this version, or None if its position is gone."""
    sheet = None if seen is None else workbook.numbered(seen.sheet.sheet_id)
    if seen is None or sheet is None:
        return None
    is_there = seen.top <= sheet.row_count and seen.left < sheet.column_count
    return replace(seen, sheet=sheet) if is_there else None


def _make_room(
    workbook: Workbook,
    sheet: Sheet,
    box: Box,
    entries: Entries,
    *,
    is_inserting: bool,
    account: str,
) -> None:
    """Insert rows or extend the grid. Raises before any change if that is not allowed."""
    inserted = entries.height if is_inserting else 0
    rows = max(sheet.row_count + inserted, box.top + entries.height)
    columns = max(sheet.column_count, box.left + entries.width)
    split = Box(top=box.top, bottom=box.top, left=0, right=sheet.column_count)
    require_unprotected(sheet, split if inserted else box, account)
    workbook.require_room(rows * columns - sheet.cell_count)
    if inserted:
        insert_rows(workbook, sheet, box.top, inserted)
    if inserted and box.top:
        new = Lines(sheet=sheet, is_rows=True, start=box.top, end=box.top + inserted)
        inherit(new, box.top - 1)
    sheet.grow(row_count=rows, column_count=columns)
