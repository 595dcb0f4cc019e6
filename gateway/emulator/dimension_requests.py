"""batchUpdate: appending, inserting, deleting and moving rows and columns."""

from gateway.emulator.dimensions import (
    delete_columns,
    delete_rows,
    insert_columns,
    insert_rows,
    move_columns,
    move_rows,
)
from gateway.emulator.grid_range import (
    Editing,
    Lines,
    read_is_rows,
    read_lines,
    require_sheet,
)
from gateway.emulator.message import Message
from gateway.emulator.refusal import invalid
from gateway.emulator.reply import Reply

INSERT = {True: insert_rows, False: insert_columns}
DELETE = {True: delete_rows, False: delete_columns}
MOVE = {True: move_rows, False: move_columns}
NAMES = {True: "row", False: "column"}


def append_dimension(editing: Editing, message: Message) -> Reply:
    """appendDimension: blank rows or columns at the grid's end."""
    message.require_implemented(("sheetId", "dimension", "length"))
    sheet = require_sheet(editing.workbook, message.integer("sheetId"))
    is_rows, length = read_is_rows(message), message.integer("length")
    if length < 1:
        raise invalid("length must be greater than 0.")
    rows = sheet.row_count + (length if is_rows else 0)
    columns = sheet.column_count + (0 if is_rows else length)
    editing.workbook.require_room(rows * columns - sheet.cell_count)
    sheet.grow(row_count=rows, column_count=columns)
    return {}


def insert_dimension(editing: Editing, message: Message) -> Reply:
    """insertDimension: blank rows or columns before an index.

    `inheritFromBefore` is about formats only; new cells have none here.
    """
    message.require_implemented(("range", "inheritFromBefore"))
    message.flag("inheritFromBefore")
    lines = read_lines(editing.workbook, message.message("range"))
    if lines.start > lines.existing:
        raise invalid(
            f"range.startIndex[{lines.start}] is after last {NAMES[lines.is_rows]} "
            f"in grid[{lines.existing}]"
        )
    editing.require_unprotected(lines.sheet, lines.box(lines.start, lines.start))
    editing.workbook.require_room(lines.count * lines.across)
    INSERT[lines.is_rows](editing.workbook, lines.sheet, lines.start, lines.count)
    return {}


def delete_dimension(editing: Editing, message: Message) -> Reply:
    """deleteDimension: at least one row and one column stay."""
    message.require_implemented(("range",))
    lines = read_lines(editing.workbook, message.message("range"))
    _require_existing(lines)
    if lines.count == lines.existing:
        raise invalid(f"You can't delete all the {NAMES[lines.is_rows]}s on the sheet.")
    editing.require_unprotected(lines.sheet, lines.box(lines.start, lines.end))
    DELETE[lines.is_rows](editing.workbook, lines.sheet, lines.start, lines.end)
    return {}


def move_dimension(editing: Editing, message: Message) -> Reply:
    """moveDimension: the destination counts as before the move (Google's documentation)."""
    message.require_implemented(("source", "destinationIndex"))
    lines = read_lines(editing.workbook, message.message("source"))
    _require_existing(lines)
    destination = message.integer("destinationIndex")
    if not 0 <= destination <= lines.existing or lines.start < destination < lines.end:
        raise invalid(f"Cannot move {NAMES[lines.is_rows]}s to index {destination}.")
    touched = lines.box(min(lines.start, destination), max(lines.end, destination))
    editing.require_unprotected(lines.sheet, touched)
    MOVE[lines.is_rows](editing.workbook, lines.sheet, lines.start, lines.end, destination)
    return {}


def _require_existing(lines: Lines) -> None:
    name = NAMES[lines.is_rows]
    if lines.end > lines.existing:
        missing = max(lines.start, lines.existing)
        raise invalid(
            f"Cannot delete a {name} that doesn't exist. Tried to delete {name} index {missing} "
            f"but there are only {lines.existing} {name}s."
        )
