"""Requests about developer metadata, and searches of it."""

from typing import Any

from tests.sheets_emulator.bench import Bench

SPREADSHEET = {"spreadsheet": True}


def create(metadata_id: int | None = None, value: str = "token", **members: object) -> Any:
    """A createDeveloperMetadata request. The default location is the spreadsheet."""
    metadata: dict[str, object] = {
        "metadataKey": "fence",
        "metadataValue": value,
        "location": SPREADSHEET,
        "visibility": "DOCUMENT",
    }
    if metadata_id is not None:
        metadata["metadataId"] = metadata_id
    return {"createDeveloperMetadata": {"developerMetadata": metadata | members}}


def by(**lookup: object) -> dict[str, Any]:
    """A DataFilter that looks up metadata by these members."""
    return {"developerMetadataLookup": lookup}


def delete(**lookup: object) -> Any:
    """A deleteDeveloperMetadata request for the metadata with these members."""
    return {"deleteDeveloperMetadata": {"dataFilter": by(**lookup)}}


def found(bench: Bench, *filters: dict[str, Any]) -> list[dict[str, Any]]:
    """The metadata that a search with these filters finds."""
    path = "/v4/spreadsheets/book/developerMetadata:search"
    answer = bench.call("POST", path, {"dataFilters": list(filters)}).json()
    return [each["developerMetadata"] for each in answer.get("matchedDeveloperMetadata", [])]


def values(bench: Bench, *filters: dict[str, Any]) -> list[str]:
    """The values of the metadata that a search with these filters finds."""
    return [each["metadataValue"] for each in found(bench, *filters)]


def row(index: int, sheet_id: int = 0) -> dict[str, Any]:
    """The metadata location of a row; rows count from 0."""
    return _line("ROWS", index, sheet_id)


def column(index: int, sheet_id: int = 0) -> dict[str, Any]:
    """The metadata location of a column; columns count from 0."""
    return _line("COLUMNS", index, sheet_id)


def _line(dimension: str, index: int, sheet_id: int) -> dict[str, Any]:
    bounds = {"startIndex": index, "endIndex": index + 1}
    return {"dimensionRange": {"sheetId": sheet_id, "dimension": dimension, **bounds}}
