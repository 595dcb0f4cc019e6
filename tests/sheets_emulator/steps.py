"""Writes of all kinds, as steps that Hypothesis combines."""

from typing import Any

from hypothesis import strategies as st

from tests.sheets_emulator.bench import Bench, values_path
from tests.sheets_emulator.kept import created
from tests.sheets_emulator.metadata_of import create, delete, row
from tests.sheets_emulator.requests_of import Request, dimension, grid_range, properties_of

Step = tuple[Any, ...]

TYPED = ["", "007", "=1+1", "=A1&B2", "2020-01-31", "50%", "TRUE", "'", "🙂", "x", 1, 2.5, False]
LINES = {"sheetId": 0, "dimension": "ROWS", "startIndex": 1, "endIndex": 3}
REQUESTS: list[Request] = [
    dimension("insertDimension", "ROWS", 0, 1),
    dimension("insertDimension", "ROWS", 2, 4),
    dimension("deleteDimension", "ROWS", 1, 2),
    dimension("deleteDimension", "COLUMNS", 0, 1),
    {"appendDimension": {"sheetId": 0, "dimension": "ROWS", "length": 3}},
    {"addSheet": {"properties": {"title": "New", "gridProperties": {"rowCount": 4}}}},
    {"duplicateSheet": {"sourceSheetId": 0, "insertSheetIndex": 0}},
    {"deleteSheet": {"sheetId": 0}},
    {"addProtectedRange": {"protectedRange": {"range": grid_range(0, 4, 1, 5)}}},
    {"sortRange": {"range": grid_range(0, 0, 9, 3), "sortSpecs": [{"dimensionIndex": 0}]}},
    properties_of("title", sheetId=0, title="It's 🙂"),
    properties_of("index", sheetId=0, index=1),
    properties_of("gridProperties.frozenRowCount", sheetId=0, gridProperties={"frozenRowCount": 1}),
    {"addNamedRange": {"namedRange": {"name": "Some", "range": grid_range(0, 0, 2, 2)}}},
    {"mergeCells": {"range": grid_range(1, 1, 3, 3), "mergeType": "MERGE_ALL"}},
    {"setBasicFilter": {"filter": {"range": grid_range(0, 0, 5, 3)}}},
    {"addDimensionGroup": {"range": LINES}},
    {
        "updateDimensionProperties": {
            "range": LINES,
            "properties": {"pixelSize": 40, "hiddenByUser": True},
            "fields": "pixelSize,hiddenByUser",
        }
    },
    {
        "repeatCell": {
            "range": grid_range(0, 0, 2, 9),
            "cell": {
                "note": "why",
                "userEnteredFormat": {
                    "textFormat": {"bold": True},
                    "numberFormat": {"type": "NUMBER", "pattern": "0.000"},
                    "backgroundColor": {"red": 0.5},
                },
                "dataValidation": {"condition": {"type": "BOOLEAN"}, "strict": True},
            },
            "fields": "note,userEnteredFormat,dataValidation",
        }
    },
    create(7),
    create(8, location=row(1)),
    create(value="🙂", location={"sheetId": 0}, visibility="PROJECT"),
    delete(metadataId=8),
    {
        "addTable": {
            "table": {
                "range": grid_range(0, 0, 3, 2),
                "columnProperties": [{"columnIndex": 1, "columnType": "DOUBLE"}],
                "rowsProperties": {"footerColorStyle": {"themeColor": "TEXT"}},
            }
        }
    },
    {
        "updateSpreadsheetProperties": {
            "properties": {"title": "Renamed", "locale": "de", "timeZone": "Europe/Berlin"},
            "fields": "title,locale,timeZone",
        }
    },
]


ROWS_OF_VALUES = st.lists(st.lists(st.sampled_from(TYPED), max_size=4), min_size=1, max_size=3)
STEPS = st.one_of(
    st.tuples(st.just("update"), st.sampled_from(["A1", "C7", "B2"]), ROWS_OF_VALUES),
    st.tuples(st.just("append"), st.sampled_from(["A1", "E1"]), ROWS_OF_VALUES),
    st.tuples(st.just("clear"), st.sampled_from(["A1:B2", "C:C", "A1:Z99"])),
    st.tuples(st.just("edit"), st.sampled_from(REQUESTS)),
    st.tuples(st.just("create")),
)


def take(bench: Bench, spreadsheet_id: str, step: Step) -> None:
    """Send the write of a step. An error of the emulator is ignored."""
    kind, *details = step
    option = {"valueInputOption": "USER_ENTERED"}
    if kind == "update":
        path = values_path(details[0], spreadsheet_id)
        bench.call("PUT", path, {"values": details[1]}, **option)
    if kind == "append":
        path = values_path(details[0], spreadsheet_id)
        bench.call("POST", f"{path}:append", {"values": details[1]}, **option)
    if kind == "clear":
        bench.call("POST", f"{values_path(details[0], spreadsheet_id)}:clear", {})
    if kind == "edit":
        path = f"/v4/spreadsheets/{spreadsheet_id}:batchUpdate"
        bench.call("POST", path, {"requests": details})
    if kind == "create":
        created(bench)
