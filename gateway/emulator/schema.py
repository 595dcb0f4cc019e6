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


COLOR: Schema = plain("red", "green", "blue", "alpha")
COLOR_STYLE: Schema = {**plain("themeColor"), "rgbColor": COLOR}
GRID_RANGE: Schema = plain(
    "sheetId", "startRowIndex", "endRowIndex", "startColumnIndex", "endColumnIndex"
)
DIMENSION_RANGE: Schema = plain("sheetId", "dimension", "startIndex", "endIndex")
GRID_PROPERTIES: Schema = plain(
    "rowCount",
    "columnCount",
    "frozenRowCount",
    "frozenColumnCount",
    "hideGridlines",
    "rowGroupControlAfter",
    "columnGroupControlAfter",
)
SHEET_PROPERTIES: Schema = {
    **plain("sheetId", "title", "index", "sheetType", "hidden", "rightToLeft"),
    "gridProperties": GRID_PROPERTIES,
    "tabColor": COLOR,
    "tabColorStyle": COLOR_STYLE,
    **unchecked("dataSourceSheetProperties"),
}
CELL_DATA: Schema = {
    **plain("formattedValue", "hyperlink", "note"),
    **unchecked("userEnteredValue", "effectiveValue", "userEnteredFormat", "effectiveFormat"),
    **unchecked("textFormatRuns", "dataValidation", "pivotTable", "dataSourceTable"),
    **unchecked("dataSourceFormula", "chipRuns"),
}
DIMENSION_PROPERTIES: Schema = {
    **plain("hiddenByFilter", "hiddenByUser", "pixelSize"),
    **unchecked("developerMetadata", "dataSourceColumnReference"),
}
GRID_DATA: Schema = {
    **plain("startRow", "startColumn"),
    "rowData": {"values": CELL_DATA},
    "rowMetadata": DIMENSION_PROPERTIES,
    "columnMetadata": DIMENSION_PROPERTIES,
}
PROTECTED_RANGE: Schema = {
    **plain("protectedRangeId", "namedRangeId", "tableId", "description", "warningOnly"),
    **plain("requestingUserCanEdit"),
    "range": GRID_RANGE,
    "unprotectedRanges": GRID_RANGE,
    "editors": plain("users", "groups", "domainUsersCanEdit"),
}
NAMED_RANGE: Schema = {**plain("namedRangeId", "name"), "range": GRID_RANGE}
BASIC_FILTER: Schema = {
    **plain("tableId"),
    "range": GRID_RANGE,
    **unchecked("sortSpecs", "criteria", "filterSpecs"),
}
DIMENSION_GROUP: Schema = {**plain("depth", "collapsed"), "range": DIMENSION_RANGE}
SHEET: Schema = {
    "properties": SHEET_PROPERTIES,
    "data": GRID_DATA,
    "merges": GRID_RANGE,
    "protectedRanges": PROTECTED_RANGE,
    "basicFilter": BASIC_FILTER,
    "rowGroups": DIMENSION_GROUP,
    "columnGroups": DIMENSION_GROUP,
    **unchecked("conditionalFormats", "filterViews", "charts", "bandedRanges", "developerMetadata"),
    **unchecked("slicers", "tables", "commentAnchors"),
}
SPREADSHEET_PROPERTIES: Schema = {
    **plain("title", "locale", "autoRecalc", "timeZone", "importFunctionsExternalUrlAccessAllowed"),
    "iterativeCalculationSettings": plain("maxIterations", "convergenceThreshold"),
    **unchecked("defaultFormat", "spreadsheetTheme"),
}
SPREADSHEET: Schema = {
    **plain("spreadsheetId", "spreadsheetUrl", "commentsViewMode"),
    "properties": SPREADSHEET_PROPERTIES,
    "sheets": SHEET,
    "namedRanges": NAMED_RANGE,
    **unchecked("developerMetadata", "dataSources", "dataSourceSchedules", "comments"),
}
EDITED: Schema = {
    **plain("spreadsheetId", "commentUpdateState"),
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
