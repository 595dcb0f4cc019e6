"""What a field mask may name in each answer, from Google's definition of its resources.

Rules
- A field with an empty schema has no inner fields; one with None has some that are not checked.
- Fields that Google has and the emulator never answers are here too: such a mask is no error.
"""

from gateway.emulator.fields import Schema


def plain(*names: str) -> dict[str, Schema | None]:
    """Fields without inner fields."""
    return {name: {} for name in names}


def unchecked(*names: str) -> dict[str, Schema | None]:
    """Fields whose inner fields are not checked."""
    return dict.fromkeys(names)


SHEET_PROPERTIES: Schema = {
    **plain("sheetId", "title", "index", "sheetType", "hidden", "rightToLeft"),
    **unchecked("gridProperties", "tabColor", "tabColorStyle", "dataSourceSheetProperties"),
}
GRID_DATA: Schema = {
    **plain("startRow", "startColumn"),
    **unchecked("rowData", "rowMetadata", "columnMetadata"),
}
SHEET: Schema = {
    "properties": SHEET_PROPERTIES,
    "data": GRID_DATA,
    **unchecked("merges", "conditionalFormats", "filterViews", "protectedRanges", "basicFilter"),
    **unchecked("charts", "bandedRanges", "developerMetadata", "rowGroups", "columnGroups"),
    **unchecked("slicers", "tables"),
}
SPREADSHEET_PROPERTIES: Schema = {
    **plain("title", "locale", "autoRecalc", "timeZone", "importFunctionsExternalUrlAccessAllowed"),
    **unchecked("defaultFormat", "iterativeCalculationSettings", "spreadsheetTheme"),
}
SPREADSHEET: Schema = {
    **plain("spreadsheetId", "spreadsheetUrl"),
    "properties": SPREADSHEET_PROPERTIES,
    "sheets": SHEET,
    **unchecked("namedRanges", "developerMetadata", "dataSources", "dataSourceSchedules"),
}
EDITED: Schema = {
    "spreadsheetId": {},
    "replies": None,
    "updatedSpreadsheet": SPREADSHEET,
}
VALUES: Schema = plain("range", "majorDimension", "values")
VALUE_RANGES: Schema = {"spreadsheetId": {}, "valueRanges": VALUES}
UPDATED: Schema = {
    **plain("spreadsheetId", "updatedRange", "updatedRows", "updatedColumns", "updatedCells"),
    "updatedData": VALUES,
}
ALL_UPDATED: Schema = {
    **plain("spreadsheetId", "totalUpdatedRows", "totalUpdatedColumns", "totalUpdatedCells"),
    **plain("totalUpdatedSheets"),
    "responses": UPDATED,
}
APPENDED: Schema = {**plain("spreadsheetId", "tableRange"), "updates": UPDATED}
CLEARED: Schema = plain("spreadsheetId", "clearedRange")
ALL_CLEARED: Schema = plain("spreadsheetId", "clearedRanges")
