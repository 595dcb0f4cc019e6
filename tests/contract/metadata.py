"""Requests for developer metadata, appended cells and tables, and parsers of their answers."""

import random
from typing import Any

from tests.contract.spreadsheet import Answer, Spreadsheet

SPREADSHEET = {"spreadsheet": True}
LARGEST_ID = 2**31 - 1


def new_id() -> int:
    """Return a random ID, which other test runs are unlikely to use."""
    return random.randint(1, LARGEST_ID)  # noqa: S311 - only so that no two are the same


def create(metadata_id: int, location: Answer, *, value: str = "", key: str = "contract") -> Answer:
    """Return a createDeveloperMetadata request."""
    metadata = {
        "metadataId": metadata_id,
        "metadataKey": key,
        "metadataValue": value,
        "location": location,
        "visibility": "DOCUMENT",
    }
    return {"createDeveloperMetadata": {"developerMetadata": metadata}}


def by_id(metadata_id: int) -> Answer:
    """Return a data filter for the metadata with this ID."""
    return {"developerMetadataLookup": {"metadataId": metadata_id}}


def delete(metadata_id: int) -> Answer:
    """Return a deleteDeveloperMetadata request."""
    return {"deleteDeveloperMetadata": {"dataFilter": by_id(metadata_id)}}


def row(sheet_id: int, index: int) -> Answer:
    """Return the metadata location of a row."""
    return _line(sheet_id, "ROWS", index)


def column(sheet_id: int, index: int) -> Answer:
    """Return the metadata location of a column."""
    return _line(sheet_id, "COLUMNS", index)


def rows_of(sheet_id: int, start: int, end: int) -> Answer:
    """Return a DimensionRange of rows."""
    return {"sheetId": sheet_id, "dimension": "ROWS", "startIndex": start, "endIndex": end}


def cells_of(sheet_id: int, top: int, left: int, bottom: int, right: int) -> Answer:
    """Return a GridRange; indexes count from 0."""
    return {
        "sheetId": sheet_id,
        "startRowIndex": top,
        "startColumnIndex": left,
        "endRowIndex": bottom,
        "endColumnIndex": right,
    }


def append(target: Answer, *lines: list[str]) -> Answer:
    """Return an appendCells request of texts; the target has a `sheetId` or a `tableId`."""
    rows = [
        {"values": [{"userEnteredValue": {"stringValue": text}} for text in line]} for line in lines
    ]
    return {"appendCells": {**target, "rows": rows, "fields": "userEnteredValue"}}


async def found(spreadsheet: Spreadsheet, *filters: Answer) -> list[Answer]:
    """Return the metadata that a search finds. 1 read."""
    answer = await spreadsheet.post("/developerMetadata:search", {"dataFilters": filters})
    return [each["developerMetadata"] for each in answer.get("matchedDeveloperMetadata", [])]


def shown(answer: Answer) -> list[list[list[str]]]:
    """Return the displayed cells of each GridData of the only worksheet in an answer."""
    [sheet] = answer["sheets"]
    return [[_texts(line) for line in data.get("rowData", [])] for data in sheet["data"]]


def _texts(line: dict[str, Any]) -> list[str]:
    return [cell.get("formattedValue", "") for cell in line.get("values", [])]


def _line(sheet_id: int, dimension: str, index: int) -> Answer:
    bounds = {"startIndex": index, "endIndex": index + 1}
    return {"dimensionRange": {"sheetId": sheet_id, "dimension": dimension, **bounds}}
