"""Spreadsheet resource in replies of spreadsheets.get and spreadsheets.create."""

from collections.abc import Sequence

from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.grid.a1 import WHOLE
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.reply import Reply
from sheets_emulator.resources.cell_data import grid_data
from sheets_emulator.resources.developer_metadata import described_by_span
from sheets_emulator.resources.mark_data import describe_lines, describe_marks, describe_name
from sheets_emulator.resources.places import Place, require_readable
from sheets_emulator.resources.table_data import describe_tables


def describe(
    results: Results,
    *,
    account: str,
    places: Sequence[Place] | None = None,
    has_grid_data: bool = False,
) -> Reply:
    """Return the Spreadsheet resource as an account sees it.

    `places` are the ranges to include, or None for all worksheets. `has_grid_data` includes cells.
    """
    workbook = results.workbook
    boxes = _boxes(workbook, places)
    if has_grid_data:
        require_readable([box for each in boxes.values() for box in each])
    sheets = [
        _described(sheet, index, account, boxes[sheet.sheet_id] if has_grid_data else (), results)
        for index, sheet in enumerate(workbook.sheets)
        if sheet.sheet_id in boxes
    ]
    names = [describe_name(sheet, named) for sheet in workbook.sheets for named in sheet.names]
    return {
        "spreadsheetId": workbook.spreadsheet_id,
        "properties": {
            "title": workbook.title,
            "locale": workbook.locale,
            "autoRecalc": "ON_CHANGE",
            "timeZone": workbook.time_zone,
            **workbook.look,
        },
        **({"sheets": sheets} if sheets else {}),
        **({"namedRanges": names} if names else {}),
        **described_by_span(workbook.metadata, None, account).get(WHOLE, {}),
        "spreadsheetUrl": f"https://docs.google.com/spreadsheets/d/{workbook.spreadsheet_id}/edit",
    }


def sheet_properties(sheet: Sheet, index: int) -> Reply:
    """Return the SheetProperties of a worksheet.

    Zeros are included. `hidden` is included only if true (recorded from Google).
    """
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
    return {**properties, **({"hidden": True} if sheet.hidden else {}), **sheet.look}


def _boxes(workbook: Workbook, places: Sequence[Place] | None) -> dict[int, list[Box]]:
    """Return the cells to include, as boxes by worksheet ID. Other worksheets are left out."""
    if places is None:
        return {sheet.sheet_id: [sheet.grid] for sheet in workbook.sheets}
    boxes: dict[int, list[Box]] = {}
    for place in places:
        boxes.setdefault(place.sheet.sheet_id, []).append(place.box)
    return boxes


def _described(
    sheet: Sheet, index: int, account: str, boxes: Sequence[Box], results: Results
) -> Reply:
    described: Reply = {"properties": sheet_properties(sheet, index)}
    if boxes:
        described["data"] = [
            {**grid_data(sheet, box, results), **describe_lines(sheet, box, account)}
            for box in boxes
        ]
    metadata = described_by_span(sheet.metadata, sheet, account).get(WHOLE, {})
    tables = describe_tables(sheet, boxes, results)
    return {**described, **describe_marks(sheet, account), **tables, **metadata}
