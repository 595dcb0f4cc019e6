"""batchUpdate: append, insert, delete and move rows and columns."""

from sheets_emulator.edits.dimensions import (
    delete_columns,
    delete_rows,
    insert_columns,
    insert_rows,
    move_columns,
    move_rows,
)
from sheets_emulator.edits.frozen_lines import (
    freeze_deleted,
    freeze_inserted,
    require_unfrozen_left,
)
from sheets_emulator.edits.inheritance import inherit
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import (
    Editing,
    Lines,
    read_is_rows,
    read_lines,
    require_existing,
    require_sheet,
)
from sheets_emulator.resources.places import require_unprotected

INSERT = {True: insert_rows, False: insert_columns}
DELETE = {True: delete_rows, False: delete_columns}
MOVE = {True: move_rows, False: move_columns}


def append_dimension(editing: Editing, message: Message) -> Reply:
    """appendDimension: add blank rows or columns at the end of the grid.

    New rows or columns inherit validation rules (reported by users) and formats (assumed) from the
    last row or column.
    """
    message.require_implemented(("sheetId", "dimension", "length"))
    sheet = require_sheet(editing.workbook, message.integer("sheetId"))
    is_rows, length = read_is_rows(message), message.integer("length")
    if length < 1:
        raise invalid("length must be greater than 0.")
    rows = sheet.row_count + (length if is_rows else 0)
    columns = sheet.column_count + (0 if is_rows else length)
    editing.workbook.require_room(rows * columns - sheet.cell_count)
    start = sheet.row_count if is_rows else sheet.column_count
    sheet.grow(row_count=rows, column_count=columns)
    inherit(Lines(sheet=sheet, is_rows=is_rows, start=start, end=start + length), start - 1)
    return {}


def insert_dimension(editing: Editing, message: Message) -> Reply:
    """insertDimension: insert blank rows or columns before an index.

    New rows or columns inherit formats, validation rules and size from an adjacent row or column.
    """
    is_from_before = message.flag("inheritFromBefore")
    lines = read_lines(editing.workbook, message.message("range"))
    _require_reachable(lines, is_from_before=is_from_before)
    if is_from_before and not lines.start:
        raise invalid("inheritFromBefore cannot be set where range.startIndex is 0.")
    require_unprotected(lines.sheet, lines.box(lines.start, lines.start), editing.account)
    editing.workbook.require_room(lines.count * lines.across)
    INSERT[lines.is_rows](editing.workbook, lines.sheet, lines.start, lines.count)
    freeze_inserted(lines.sheet, lines.start, lines.count, is_rows=lines.is_rows)
    inherit(lines, lines.start - 1 if is_from_before else lines.end)
    return {}


def _require_reachable(lines: Lines, *, is_from_before: bool) -> None:
    """Raise a 400 if no row or column can be inserted at the index.

    The error texts are reported by users of gspread.
    """
    if lines.start > lines.existing:
        raise invalid(f"range.startIndex is larger than current grid size ({lines.existing})")
    if lines.start == lines.existing and not is_from_before:
        raise invalid(
            f"range.startIndex must be less than the grid size ({lines.existing}) "
            "if inheritFromBefore is false."
        )


def delete_dimension(editing: Editing, message: Message) -> Reply:
    """deleteDimension: delete rows or columns. At least one row and one column must remain."""
    lines = read_lines(editing.workbook, message.message("range"))
    require_existing(lines, "delete")
    if lines.count == lines.existing:
        raise invalid(f"You can't delete all the {lines.name}s on the sheet.")
    require_unfrozen_left(lines.sheet, lines.start, lines.end, is_rows=lines.is_rows)
    require_unprotected(lines.sheet, lines.box(lines.start, lines.end), editing.account)
    DELETE[lines.is_rows](editing.workbook, lines.sheet, lines.start, lines.end)
    freeze_deleted(lines.sheet, lines.start, lines.end, is_rows=lines.is_rows)
    return {}


def move_dimension(editing: Editing, message: Message) -> Reply:
    """moveDimension: move rows or columns.

    The destination index counts before the move (Google's documentation).
    """
    lines = read_lines(editing.workbook, message.message("source"))
    require_existing(lines, "move")
    destination = message.integer("destinationIndex")
    if not 0 <= destination <= lines.existing or lines.start < destination < lines.end:
        raise invalid(f"Cannot move {lines.name}s to index {destination}.")
    touched = lines.box(min(lines.start, destination), max(lines.end, destination))
    require_unprotected(lines.sheet, touched, editing.account)
    MOVE[lines.is_rows](editing.workbook, lines.sheet, lines.start, lines.end, destination)
    return {}
