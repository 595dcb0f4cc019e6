"""batchUpdate: adding, deleting, copying worksheets, and their properties."""

from collections.abc import Callable
from itertools import count

from gateway.emulator.box import Box
from gateway.emulator.dimensions import resize, rewrite_formulas
from gateway.emulator.fields import leaves, read_mask
from gateway.emulator.grid_range import Editing, require_fields
from gateway.emulator.message import Message
from gateway.emulator.metadata import sheet_properties
from gateway.emulator.references import renamed, without_sheet
from gateway.emulator.refusal import invalid, unimplemented
from gateway.emulator.reply import Reply
from gateway.emulator.sheet import Sheet
from gateway.emulator.workbook import NEW_COLUMNS, NEW_ROWS, Workbook, new_sheet

PROPERTIES = ("sheetId", "title", "index", "sheetType", "gridProperties", "hidden")
GRID_PROPERTIES = (
    "rowCount",
    "columnCount",
    "frozenRowCount",
    "frozenColumnCount",
    "hideGridlines",
)
SHEET_TYPES = ("GRID",)
ALL_FIELDS = ("title", "index", "hidden", *(f"gridProperties.{name}" for name in GRID_PROPERTIES))
SPREADSHEET_FIELDS = {"title": "title", "locale": "locale", "timeZone": "time_zone"}

Setter = Callable[[Editing, Sheet, Message], None]


def add_sheet(editing: Editing, message: Message) -> Reply:
    """addSheet: the reply has the full properties (recorded)."""
    message.require_implemented(("properties",))
    workbook = editing.workbook
    sheet = build_sheet(workbook, message.message("properties"))
    index = message.message("properties").integer("index", len(workbook.sheets))
    workbook.require_room(sheet.cell_count)
    workbook.sheets.insert(max(index, 0), sheet)
    return _properties_reply(workbook, "addSheet", sheet)


def build_sheet(workbook: Workbook, properties: Message) -> Sheet:
    """A new worksheet from SheetProperties, not yet among those of the workbook."""
    properties.require_implemented(PROPERTIES)
    properties.choice("sheetType", "SheetType", SHEET_TYPES)
    sheet = new_sheet(_new_id(workbook, properties), _new_title(workbook, properties))
    sheet.hidden = properties.flag("hidden")
    grid = properties.message("gridProperties")
    grid.require_implemented(GRID_PROPERTIES)
    sheet.row_count = _size(grid, "rowCount", NEW_ROWS)
    sheet.column_count = _size(grid, "columnCount", NEW_COLUMNS)
    for name in GRID_PROPERTIES[2:]:
        _set_grid_option(sheet, grid, name)
    return sheet


def delete_sheet(editing: Editing, message: Message) -> Reply:
    """deleteSheet: the last one stays."""
    message.require_implemented(("sheetId",))
    sheet = _sheet(editing.workbook, message.integer("sheetId"))
    editing.require_unprotected(sheet, sheet.grid)
    if not any(other is not sheet and not other.hidden for other in editing.workbook.sheets):
        raise invalid("You can't remove all the sheets in a document.")
    editing.workbook.sheets.remove(sheet)
    rewrite_formulas(editing.workbook, lambda _, formula: without_sheet(formula, sheet.title))
    return {}


def duplicate_sheet(editing: Editing, message: Message) -> Reply:
    """duplicateSheet: a copy, the first one in the list unless an index is given."""
    message.require_implemented(("sourceSheetId", "insertSheetIndex", "newSheetId", "newSheetName"))
    workbook = editing.workbook
    source = _sheet(workbook, message.integer("sourceSheetId"))
    workbook.require_room(source.cell_count)
    duplicate = source.copy()
    duplicate.protections, duplicate.names = [], []
    duplicate.sheet_id = message.integer("newSheetId") or workbook.new_id()
    stems = (f"Copy of {source.title}{_suffix(number)}" for number in count(1))
    duplicate.title = message.text("newSheetName") or workbook.free_title(stems)
    _require_free_id(workbook, duplicate.sheet_id)
    workbook.require_free_title(duplicate.title)
    workbook.sheets.insert(max(message.integer("insertSheetIndex"), 0), duplicate)
    return _properties_reply(workbook, "duplicateSheet", duplicate)


def update_sheet_properties(editing: Editing, message: Message) -> Reply:
    """updateSheetProperties: the fields that the mask names."""
    message.require_implemented(("properties", "fields"))
    properties = message.message("properties")
    sheet = _sheet(editing.workbook, properties.integer("sheetId"))
    for name in _named_fields(require_fields(message)):
        if name not in SETTERS:
            raise unimplemented(f"updateSheetProperties of '{name}'")
        SETTERS[name](editing, sheet, properties)
    return {}


def update_spreadsheet_properties(editing: Editing, message: Message) -> Reply:
    """updateSpreadsheetProperties: title, locale, time zone."""
    message.require_implemented(("properties", "fields"))
    properties = message.message("properties")
    names = leaves(read_mask(require_fields(message)))
    for name in SPREADSHEET_FIELDS if "*" in names else names:
        if name not in SPREADSHEET_FIELDS:
            raise unimplemented(f"updateSpreadsheetProperties of '{name}'")
        setattr(editing.workbook, SPREADSHEET_FIELDS[name], properties.text(name))
    return {}


def _named_fields(mask: str) -> list[str]:
    names: list[str] = []
    for leaf in leaves(read_mask(mask)):
        whole = [name for name in ALL_FIELDS if leaf == "*" or name.startswith(f"{leaf}.")]
        names.extend(whole or [leaf])
    return names


def _set_title(editing: Editing, sheet: Sheet, properties: Message) -> None:
    title = properties.text("title")
    editing.workbook.require_free_title(title, owner=sheet)
    old, sheet.title = sheet.title, title
    rewrite_formulas(editing.workbook, lambda _, formula: renamed(formula, old, title))


def _set_index(editing: Editing, sheet: Sheet, properties: Message) -> None:
    """Move the tab; the index counts as before the move (Google's documentation)."""
    sheets = editing.workbook.sheets
    current = sheets.index(sheet)
    target = min(max(properties.integer("index"), 0), len(sheets))
    if properties.has("index") and target not in (current, current + 1):
        sheets.remove(sheet)
        sheets.insert(target - 1 if target > current else target, sheet)


def _set_hidden(editing: Editing, sheet: Sheet, properties: Message) -> None:
    sheet.hidden = properties.flag("hidden")
    if all(other.hidden for other in editing.workbook.sheets):
        raise invalid("You can't hide all the sheets in a document.")


def _set_row_count(editing: Editing, sheet: Sheet, properties: Message) -> None:
    rows = _size(properties.message("gridProperties"), "rowCount", sheet.row_count)
    lost = Box(top=rows, bottom=sheet.row_count, left=0, right=sheet.column_count)
    _resize(editing, sheet, lost, rows=rows, columns=sheet.column_count)


def _set_column_count(editing: Editing, sheet: Sheet, properties: Message) -> None:
    columns = _size(properties.message("gridProperties"), "columnCount", sheet.column_count)
    lost = Box(top=0, bottom=sheet.row_count, left=columns, right=sheet.column_count)
    _resize(editing, sheet, lost, rows=sheet.row_count, columns=columns)


def _resize(editing: Editing, sheet: Sheet, lost: Box, *, rows: int, columns: int) -> None:
    if lost.height > 0 and lost.width > 0:
        editing.require_unprotected(sheet, lost)
    editing.workbook.require_room(rows * columns - sheet.cell_count)
    resize(editing.workbook, sheet, row_count=rows, column_count=columns)


def _grid_option_setter(name: str) -> Setter:
    def set_option(_: Editing, sheet: Sheet, properties: Message) -> None:
        _set_grid_option(sheet, properties.message("gridProperties"), name)

    return set_option


def _set_grid_option(sheet: Sheet, grid: Message, name: str) -> None:
    is_flag = name.startswith("hide")
    value = grid.flag(name) if is_flag else grid.integer(name)
    kept = {key: kept for key, kept in sheet.options.items() if key != name}
    sheet.options = {**kept, name: value} if value else kept


def _size(grid: Message, name: str, default: int) -> int:
    size = grid.integer(name, default)
    if size < 1:
        raise invalid(f"gridProperties.{name} must be greater than 0.")
    return size


def _new_id(workbook: Workbook, properties: Message) -> int:
    if not properties.has("sheetId"):
        return workbook.new_id()
    sheet_id = properties.integer("sheetId")
    _require_free_id(workbook, sheet_id)
    return sheet_id


def _new_title(workbook: Workbook, properties: Message) -> str:
    first = len(workbook.sheets) + 1
    title = properties.text("title") or workbook.free_title(f"Sheet{n}" for n in count(first))
    workbook.require_free_title(title)
    return title


def _require_free_id(workbook: Workbook, sheet_id: int) -> None:
    if sheet_id < 0:
        raise invalid(f"The sheet ID {sheet_id} must not be negative.")
    if workbook.numbered(sheet_id) is not None:
        raise invalid(f'A sheet with the ID "{sheet_id}" already exists.')


def _sheet(workbook: Workbook, sheet_id: int) -> Sheet:
    sheet = workbook.numbered(sheet_id)
    if sheet is None:
        raise invalid(f"No sheet with id: {sheet_id}")
    return sheet


def _properties_reply(workbook: Workbook, kind: str, sheet: Sheet) -> Reply:
    return {kind: {"properties": sheet_properties(sheet, workbook.sheets.index(sheet))}}


def _suffix(number: int) -> str:
    return "" if number == 1 else f" {number}"


SETTERS: dict[str, Setter] = {
    "title": _set_title,
    "index": _set_index,
    "hidden": _set_hidden,
    "gridProperties.rowCount": _set_row_count,
    "gridProperties.columnCount": _set_column_count,
    **{f"gridProperties.{name}": _grid_option_setter(name) for name in GRID_PROPERTIES[2:]},
}
