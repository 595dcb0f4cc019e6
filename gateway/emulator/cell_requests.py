"""batchUpdate: writing, appending, sorting, copying and cutting cells."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.emulator.box import Box, sized
from gateway.emulator.cell import BLANK, LONGEST_TEXT, Cell
from gateway.emulator.entered import stored
from gateway.emulator.fields import leaves, read_mask
from gateway.emulator.grid_range import (
    Editing,
    read_area,
    read_coordinate,
    require_fields,
    require_sheet,
)
from gateway.emulator.message import Message, wrong_type
from gateway.emulator.refusal import CELL_TOO_LONG, invalid, unimplemented
from gateway.emulator.reply import Reply
from gateway.emulator.sheet import Sheet

VALUE_KINDS = ("numberValue", "stringValue", "boolValue", "formulaValue")
ORDERS = ("ASCENDING", "DESCENDING", "SORT_ORDER_UNSPECIFIED")
PASTE_TYPES = (
    "PASTE_NORMAL",
    "PASTE_VALUES",
    "PASTE_FORMAT",
    "PASTE_NO_BORDERS",
    "PASTE_FORMULA",
    "PASTE_DATA_VALIDATION",
    "PASTE_CONDITIONAL_FORMATTING",
)
ORIENTATIONS = ("NORMAL", "TRANSPOSE")

SortKey = tuple[int, float, str]


def update_cells(editing: Editing, message: Message) -> Reply:
    """updateCells: values from a cell on, or of a range, whose rest is emptied."""
    message.require_implemented(("rows", "fields", "start", "range"))
    _require_value_mask(message)
    if message.has("start"):
        sheet, top, left = read_coordinate(editing.workbook, message.message("start"))
        box = Box(top=top, left=left, bottom=sheet.row_count, right=sheet.column_count)
        rows = _read_rows(message)
        _require_fitting(rows, box)
        box = replace(box, bottom=top + len(rows), right=left + _width(rows))
    else:
        area = read_area(editing.workbook, message.message("range"))
        sheet, box, rows = area.sheet, area.box, _read_rows(message)
        _require_fitting(rows, box)
    editing.require_unprotected(sheet, box)
    if message.has("range"):
        sheet.clear(box)
    _write_rows(sheet, box, rows)
    return {}


def append_cells(editing: Editing, message: Message) -> Reply:
    """appendCells: under the last row of the worksheet that holds data, whatever its columns."""
    message.require_implemented(("sheetId", "rows", "fields"))
    _require_value_mask(message)
    sheet = require_sheet(editing.workbook, message.integer("sheetId"))
    rows = _read_rows(message)
    last = sheet.last_used(sheet.grid)
    box = sized(top=last[0] + 1 if last else 0, left=0, height=len(rows), width=_width(rows))
    editing.require_unprotected(sheet, box)
    grown = max(sheet.row_count, box.bottom) * max(sheet.column_count, box.right)
    editing.workbook.require_room(grown - sheet.cell_count)
    sheet.grow(row_count=box.bottom, column_count=box.right)
    _write_rows(sheet, box, rows)
    return {}


def sort_range(editing: Editing, message: Message) -> Reply:
    """sortRange: stable, blanks last both ways (recorded)."""
    message.require_implemented(("range", "sortSpecs"))
    area = read_area(editing.workbook, message.message("range"))
    editing.require_unprotected(area.sheet, area.box)
    used = replace(area.box, bottom=min(area.box.bottom, max(len(area.sheet.rows), area.box.top)))
    rows = _full_rows(area.sheet, used)
    for spec in reversed(message.messages("sortSpecs")):
        spec.require_implemented(("dimensionIndex", "sortOrder"))
        column = spec.integer("dimensionIndex") - area.box.left
        if not 0 <= column < area.box.width:
            raise invalid(f"sortSpecs.dimensionIndex[{column + area.box.left}] is not in the range")
        _sort(rows, column, spec.choice("sortOrder", "SortOrder", ORDERS) == "DESCENDING")
    _place_rows(area.sheet, area.box, rows)
    return {}


def copy_paste(editing: Editing, message: Message) -> Reply:
    """copyPaste: the source repeated over the destination, or once from its corner on."""
    message.require_implemented(("source", "destination", "pasteType", "pasteOrientation"))
    _require_paste(message, "PASTE_NORMAL")
    source = read_area(editing.workbook, message.message("source"))
    target = read_area(editing.workbook, message.message("destination"))
    rows = _full_rows(source.sheet, source.box)
    down = max(target.box.height // source.box.height, 1)
    right = max(target.box.width // source.box.width, 1)
    _paste(editing, target.sheet, target.box, [row * right for row in rows] * down)
    return {}


def cut_paste(editing: Editing, message: Message) -> Reply:
    """cutPaste: the source is empty afterwards."""
    message.require_implemented(("source", "destination", "pasteType"))
    _require_paste(message, "PASTE_NORMAL")
    source = read_area(editing.workbook, message.message("source"))
    sheet, top, left = read_coordinate(editing.workbook, message.message("destination"))
    editing.require_unprotected(source.sheet, source.box)
    rows = _full_rows(source.sheet, source.box)
    blanks = [[BLANK] * source.box.width for _ in rows]
    _place_rows(source.sheet, source.box, blanks)
    _paste(editing, sheet, sized(top=top, left=left, height=1, width=1), rows)
    return {}


def _require_value_mask(message: Message) -> None:
    for name in leaves(read_mask(require_fields(message))):
        if name not in ("userEnteredValue", "*"):
            raise unimplemented(f"writing '{name}' of a cell")


def _read_rows(message: Message) -> list[list[Cell]]:
    rows = []
    for row in message.messages("rows"):
        row.require_implemented(("values",))
        rows.append([_read_cell(cell) for cell in row.messages("values")])
    return rows


def _read_cell(data: Message) -> Cell:
    data.require_implemented(("userEnteredValue",))
    value = data.message("userEnteredValue")
    value.require_known(VALUE_KINDS)
    if value.has("formulaValue"):
        return _short(value.text("formulaValue"), Cell(formula=value.text("formulaValue")))
    if value.has("stringValue"):
        return _short(value.text("stringValue"), stored(value.text("stringValue")))
    if value.has("boolValue"):
        return Cell(value=value.flag("boolValue"))
    return Cell(value=_number(value)) if value.has("numberValue") else BLANK


def _short(text: str, cell: Cell) -> Cell:
    if len(text) > LONGEST_TEXT:
        raise invalid(CELL_TOO_LONG)
    return cell


def _number(value: Message) -> float:
    number = value.fields["numberValue"]
    if isinstance(number, (int, float)) and not isinstance(number, bool) and abs(number) < 1e308:
        return float(number)
    raise wrong_type(f"{value.place}.number_value", "TYPE_DOUBLE", number)


def _require_fitting(rows: Sequence[Sequence[Cell]], box: Box) -> None:
    if len(rows) > box.height:
        raise invalid(
            f"Attempting to write row: {box.bottom}, beyond the last requested row of: "
            f"{box.bottom - 1}"
        )
    if _width(rows) > box.width:
        raise invalid(
            f"Attempting to write column: {box.right}, beyond the last requested column of: "
            f"{box.right - 1}"
        )


def _width(rows: Sequence[Sequence[Cell]]) -> int:
    return max((len(row) for row in rows), default=0)


def _write_rows(sheet: Sheet, box: Box, rows: Sequence[Sequence[Cell]]) -> None:
    for row, cells in enumerate(rows, start=box.top):
        sheet.write(row, box.left, cells)


def _full_rows(sheet: Sheet, box: Box) -> list[list[Cell]]:
    """The cells of a box, every row at its full width."""
    columns = range(box.left, box.right)
    return [[sheet.cell(row, column) for column in columns] for row in range(box.top, box.bottom)]


def _place_rows(sheet: Sheet, box: Box, rows: Sequence[Sequence[Cell]]) -> None:
    for row, cells in enumerate(rows, start=box.top):
        sheet.place(row, box.left, cells)


def _sort(rows: list[list[Cell]], column: int, is_descending: bool) -> None:
    filled = [row for row in rows if not row[column].is_blank]
    blank = [row for row in rows if row[column].is_blank]
    filled.sort(key=lambda row: _sort_key(row[column]), reverse=is_descending)
    rows[:] = filled + blank


def _sort_key(cell: Cell) -> SortKey:
    """Numbers, then text in either case, then booleans, then what a formula shows."""
    if cell.formula is not None:
        return 3, 0.0, ""
    if isinstance(cell.value, bool):
        return 2, float(cell.value), ""
    if isinstance(cell.value, str):
        return 1, 0.0, cell.value.casefold()
    return 0, cell.value or 0.0, ""


def _require_paste(message: Message, implemented: str) -> None:
    kind = message.choice("pasteType", "PasteType", PASTE_TYPES)
    orientation = message.choice("pasteOrientation", "PasteOrientation", ORIENTATIONS)
    if kind != implemented or orientation != "NORMAL":
        raise unimplemented(f"pasting with {kind}, {orientation}")


def _paste(editing: Editing, sheet: Sheet, box: Box, rows: Sequence[Sequence[Cell]]) -> None:
    target = sized(top=box.top, left=box.left, height=len(rows), width=_width(rows))
    if not sheet.grid.contains(target):
        raise invalid("The destination of the paste is not within the grid.")
    editing.require_unprotected(sheet, target)
    _place_rows(sheet, target, rows)
