"""Implementation of spreadsheets.create and spreadsheets.sheets.copyTo.

Rules:
- The members of a Sheet, except its properties, are applied with the equivalent batchUpdate
  requests, as the account of the call.
- A member without an equivalent request gets 501.
"""

from collections.abc import Iterator

from sheets_emulator.edits.batch import KINDS
from sheets_emulator.edits.sheet_properties import read_properties, require_shown
from sheets_emulator.edits.sheet_requests import build_sheet, copied, require_tab
from sheets_emulator.edits.spreadsheet_properties import UNTITLED, apply_spreadsheet_properties
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook, new_sheet
from sheets_emulator.protocol.message import Message, wrong_type_text
from sheets_emulator.protocol.scalar import int32
from sheets_emulator.refusal import invalid_field
from sheets_emulator.reply import Json, Reply
from sheets_emulator.resources.grid_range import Editing
from sheets_emulator.resources.metadata import sheet_properties

SPREADSHEET_PARTS = ("properties", "sheets", "namedRanges")
PASSED_OVER = ("spreadsheetId", "spreadsheetUrl", "commentsViewMode", "dataSourceSchedules")
SHEET_PARTS = ("properties", "data", "merges", "protectedRanges", "basicFilter")
GROUPS = ("rowGroups", "columnGroups")
LINES = {"rowMetadata": ("ROWS", "startRow"), "columnMetadata": ("COLUMNS", "startColumn")}
SIZES = ("pixelSize", "hiddenByUser")
READ_ONLY = ("hiddenByFilter",)  # members of a row or column that Google ignores in requests

Request = tuple[str, Json]
"""Kind of a batchUpdate request, and its fields."""


def build_spreadsheet(spreadsheet_id: str, body: Message, *, account: str) -> Workbook:
    """Create a spreadsheet from a Spreadsheet resource.

    A resource without worksheets gives a spreadsheet with one worksheet.
    """
    body.require_implemented((*SPREADSHEET_PARTS, *PASSED_OVER))
    workbook = Workbook(spreadsheet_id=spreadsheet_id, title=UNTITLED, sheets=[])
    apply_spreadsheet_properties(workbook, body.message("properties"))
    editing = Editing(workbook=workbook, account=account)
    messages = body.messages("sheets")
    for message in messages:
        _add_sheet(workbook, message)
    for message, sheet in zip(messages, workbook.sheets, strict=True):
        for kind, fields in _requests(message, sheet):
            KINDS[kind](editing, Message(fields=fields, place=message.place))
    workbook.sheets = workbook.sheets or [new_sheet()]
    require_shown(workbook)
    for named in body.messages("namedRanges"):
        fields = {"namedRange": named.fields}
        KINDS["addNamedRange"](editing, Message(fields=fields, place=named.place))
    return workbook


def copy_sheet(source: Workbook, sheet_id: str, destination: Workbook) -> Reply:
    """spreadsheets.sheets.copyTo: copy a worksheet to the end of the destination.

    `sheet_id` is the text from the URL path. Raises a 400 if the text is not a whole number.
    """
    number = int32(sheet_id)
    if number is None:
        raise invalid_field("sheet_id", wrong_type_text("sheet_id", "TYPE_INT32", sheet_id))
    duplicate = copied(require_tab(source, number), destination)
    destination.sheets.append(duplicate)
    return sheet_properties(duplicate, len(destination.sheets) - 1)


def _add_sheet(workbook: Workbook, message: Message) -> None:
    message.require_implemented((*SHEET_PARTS, *GROUPS))
    sheet = build_sheet(workbook, read_properties(message))
    workbook.require_room(sheet.cell_count)
    workbook.sheets.append(sheet)


def _requests(message: Message, sheet: Sheet) -> Iterator[Request]:
    """Yield the requests that apply the members of a Sheet, except its properties."""
    for data in message.messages("data"):
        yield from _data_requests(data, sheet)
    for merge in message.messages("merges"):
        yield "mergeCells", {"range": merge.fields, "mergeType": "MERGE_ALL"}
    for name in GROUPS:
        for group in message.messages(name):
            yield "addDimensionGroup", {"range": group.message("range").fields}
    if message.has("basicFilter"):
        yield "setBasicFilter", {"filter": message.message("basicFilter").fields}
    for protection in message.messages("protectedRanges"):
        yield "addProtectedRange", {"protectedRange": protection.fields}


def _data_requests(data: Message, sheet: Sheet) -> Iterator[Request]:
    if data.has("rowData"):
        start = {
            "sheetId": sheet.sheet_id,
            "rowIndex": data.integer("startRow"),
            "columnIndex": data.integer("startColumn"),
        }
        yield "updateCells", {"start": start, "rows": data.fields["rowData"], "fields": "*"}
    for name, (dimension, first) in LINES.items():
        for index, line in enumerate(data.messages(name), start=data.integer(first)):
            line.require_implemented((*SIZES, *READ_ONLY))
            range_ = {"sheetId": sheet.sheet_id, "dimension": dimension}
            range_ |= {"startIndex": index, "endIndex": index + 1}
            names = [each for each in SIZES if line.has(each)]
            if names:
                yield (
                    "updateDimensionProperties",
                    {"range": range_, "properties": line.fields, "fields": ",".join(names)},
                )
