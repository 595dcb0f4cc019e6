"""batchUpdate: add, delete, copy and update worksheets."""

from collections.abc import Iterator
from itertools import count

from sheets_emulator.edits.dimensions import rewrite_formulas
from sheets_emulator.edits.sheet_properties import (
    apply_properties,
    read_properties,
    update_properties,
)
from sheets_emulator.edits.table_requests import copied_tables
from sheets_emulator.formulas.references import without_sheet
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook, new_sheet
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Editing, require_fields
from sheets_emulator.resources.metadata import sheet_properties
from sheets_emulator.resources.places import require_unprotected


def add_sheet(editing: Editing, message: Message) -> Reply:
    """addSheet: add a worksheet, by default as the last tab.

    The reply has all properties of the worksheet.
    """
    workbook, properties = editing.workbook, read_properties(message)
    sheet = build_sheet(workbook, properties)
    workbook.require_room(sheet.cell_count)
    _insert(workbook, sheet, properties.integer("index", len(workbook.sheets)))
    return _properties_reply(workbook, "addSheet", sheet)


def build_sheet(workbook: Workbook, properties: Message) -> Sheet:
    """Create a worksheet from SheetProperties, without adding it to the workbook."""
    sheet = new_sheet(_new_id(workbook, properties, "sheetId"), _new_title(workbook, properties))
    apply_properties(sheet, properties)
    return sheet


def delete_sheet(editing: Editing, message: Message) -> Reply:
    """deleteSheet: delete a worksheet. One visible worksheet must remain."""
    sheet = require_tab(editing.workbook, message.integer("sheetId"))
    require_unprotected(sheet, sheet.grid, editing.account)
    if not any(other is not sheet and not other.hidden for other in editing.workbook.sheets):
        which = "visible sheets" if len(editing.workbook.sheets) > 1 else "sheets"
        raise invalid(f"You can't remove all the {which} in a document.")
    editing.workbook.sheets.remove(sheet)
    rewrite_formulas(editing.workbook, lambda _, formula: without_sheet(formula, sheet.title))
    return {}


def duplicate_sheet(editing: Editing, message: Message) -> Reply:
    """duplicateSheet: add a copy of a worksheet, by default as the first tab."""
    workbook = editing.workbook
    source = require_tab(workbook, message.integer("sourceSheetId"))
    duplicate = copied(source, workbook)
    duplicate.sheet_id = _new_id(workbook, message, "newSheetId")
    if message.text("newSheetName"):
        duplicate.title = message.text("newSheetName")
        workbook.require_free_title(duplicate.title)
    _insert(workbook, duplicate, message.integer("insertSheetIndex"))
    return _properties_reply(workbook, "duplicateSheet", duplicate)


def copied(source: Sheet, workbook: Workbook) -> Sheet:
    """Return a copy of a worksheet named `Copy of X`, without adding it to the workbook.

    The copy has no protections, named ranges and developer metadata. Tables of the copy have new
    IDs and names.
    """
    workbook.require_room(source.cell_count)
    duplicate = source.copy()
    duplicate.protections, duplicate.names, duplicate.metadata = [], [], []
    duplicate.tables = copied_tables(source, workbook)
    duplicate.sheet_id = workbook.new_id()
    duplicate.title = workbook.free_title(_copy_titles(source.title))
    workbook.require_free_title(duplicate.title)
    return duplicate


def update_sheet_properties(editing: Editing, message: Message) -> Reply:
    """updateSheetProperties: set the fields in the mask."""
    properties = read_properties(message)
    sheet = require_tab(editing.workbook, properties.integer("sheetId"))
    update_properties(editing, sheet, properties, require_fields(message))
    return {}


def require_tab(workbook: Workbook, sheet_id: int) -> Sheet:
    """Return the worksheet with this ID.

    Raises a 400 for an unknown ID, with the error text of requests about worksheets.
    """
    sheet = workbook.numbered(sheet_id)
    if sheet is None:
        raise invalid(f"No sheet with id: {sheet_id}")
    return sheet


def _insert(workbook: Workbook, sheet: Sheet, index: int) -> None:
    if index < 0:
        raise invalid(f"The sheet index {index} must not be negative.")
    workbook.sheets.insert(index, sheet)


def _new_id(workbook: Workbook, message: Message, name: str) -> int:
    if not message.has(name):
        return workbook.new_id()
    sheet_id = message.integer(name)
    if sheet_id < 0:
        raise invalid("Sheet id must be non-negative.")
    if workbook.numbered(sheet_id) is not None:
        raise invalid(f"Sheet with id {sheet_id} already exists.")
    return sheet_id


def _new_title(workbook: Workbook, properties: Message) -> str:
    first = len(workbook.sheets) + 1
    title = properties.text("title") or workbook.free_title(f"Sheet{n}" for n in count(first))
    workbook.require_free_title(title)
    return title


def _copy_titles(title: str) -> Iterator[str]:
    """Yield `Copy of X`, `Copy of X 1`, `Copy of X 2` and so on."""
    yield f"Copy of {title}"
    for number in count(1):
        yield f"Copy of {title} {number}"


def _properties_reply(workbook: Workbook, kind: str, sheet: Sheet) -> Reply:
    return {kind: {"properties": sheet_properties(sheet, workbook.sheets.index(sheet))}}
