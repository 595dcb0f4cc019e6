"""The Spreadsheet resource that spreadsheets.get and spreadsheets.create reply."""

from collections.abc import Sequence

from gateway.emulator.box import Box
from gateway.emulator.cell_data import grid_data
from gateway.emulator.evaluate import Results
from gateway.emulator.grid_range import describe_span
from gateway.emulator.marks import Protection
from gateway.emulator.places import find_place
from gateway.emulator.reply import Reply
from gateway.emulator.sheet import Sheet
from gateway.emulator.workbook import Workbook


def describe(
    workbook: Workbook, *, account: str, ranges: Sequence[str] = (), has_grid_data: bool = False
) -> Reply:
    """The Spreadsheet resource for an account; `ranges` limit its worksheets and their data."""
    boxes = _boxes(workbook, ranges)
    results = Results(workbook)
    sheets = [
        _described(sheet, index, account, boxes[sheet.sheet_id] if has_grid_data else (), results)
        for index, sheet in enumerate(workbook.sheets)
        if sheet.sheet_id in boxes
    ]
    return {
        "spreadsheetId": workbook.spreadsheet_id,
        "properties": {
            "title": workbook.title,
            "locale": workbook.locale,
            "autoRecalc": "ON_CHANGE",
            "timeZone": workbook.time_zone,
        },
        "sheets": sheets,
        "spreadsheetUrl": f"https://docs.google.com/spreadsheets/d/{workbook.spreadsheet_id}/edit",
    }


def sheet_properties(sheet: Sheet, index: int) -> Reply:
    """The SheetProperties of a worksheet: zeros are shown, `hidden` only when true (recorded)."""
    properties: Reply = {
        "sheetId": sheet.sheet_id,
        "title": sheet.title,
        "index": index,
        "sheetType": "GRID",
        "gridProperties": {
            "rowCount": sheet.row_count,
            "columnCount": sheet.column_count,
            **sheet.options,
        },
    }
    return {**properties, "hidden": True} if sheet.hidden else properties


def describe_protection(sheet: Sheet, protection: Protection, account: str) -> Reply:
    """A ProtectedRange, as an account sees it."""
    described: Reply = {
        "protectedRangeId": protection.protection_id,
        "range": describe_span(sheet.sheet_id, protection.span),
        "editors": {"users": list(protection.editors)} if protection.editors else {},
    }
    if protection.warning_only:
        described["warningOnly"] = True
    if protection.allows(account):
        described["requestingUserCanEdit"] = True
    if protection.description:
        described["description"] = protection.description
    return described


def _boxes(workbook: Workbook, ranges: Sequence[str]) -> dict[int, list[Box]]:
    """The boxes to show of each worksheet; a worksheet that no range touches is not there."""
    if not ranges:
        return {sheet.sheet_id: [sheet.grid] for sheet in workbook.sheets}
    boxes: dict[int, list[Box]] = {}
    for text in ranges:
        place = find_place(workbook, text)
        boxes.setdefault(place.sheet.sheet_id, []).append(place.box)
    return boxes


def _described(
    sheet: Sheet, index: int, account: str, boxes: Sequence[Box], results: Results
) -> Reply:
    described: Reply = {"properties": sheet_properties(sheet, index)}
    if boxes:
        described["data"] = [grid_data(sheet, box, results) for box in boxes]
    if sheet.protections:
        described["protectedRanges"] = [
            describe_protection(sheet, protection, account) for protection in sheet.protections
        ]
    return described
