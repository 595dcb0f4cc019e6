"""Requests of a batchUpdate."""

from typing import Any

Request = dict[str, Any]


def properties_of(fields: str, **properties: object) -> Request:
    """An updateSheetProperties request with this field mask."""
    return {"updateSheetProperties": {"properties": properties, "fields": fields}}


def dimension(kind: str, name: str, start: int, end: int) -> Request:
    """A request with the DimensionRange `start` to `end` of the first worksheet."""
    bounds = {"sheetId": 0, "dimension": name, "startIndex": start, "endIndex": end}
    return {kind: {"range": bounds}}


def grid_range(top: int, left: int, bottom: int, right: int) -> Request:
    """A GridRange of the first worksheet."""
    return {
        "sheetId": 0,
        "startRowIndex": top,
        "startColumnIndex": left,
        "endRowIndex": bottom,
        "endColumnIndex": right,
    }
