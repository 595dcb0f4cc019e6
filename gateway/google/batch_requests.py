"""A batch as the requests of `spreadsheets.batchUpdate`: first the fence, then the changes."""

from collections.abc import Sequence

from gateway.google.sheets import (
    AppendedRows,
    Batch,
    Change,
    EmptiedRow,
    Fence,
    RemovedRows,
    Value,
    WrittenCells,
)


def requests_of(batch: Batch) -> list[dict[str, object]]:
    return [
        *(deletion(fence_id, batch.fence.key) for fence_id in batch.forgotten),
        creation(batch.fence),
        *(_change(batch.sheet_id, change) for change in batch.changes),
    ]


def creation(fence: Fence) -> dict[str, object]:
    metadata = {
        "metadataId": fence.id,
        "metadataKey": fence.key,
        "metadataValue": fence.token,
        "location": {"spreadsheet": True},
        "visibility": "DOCUMENT",  # accounts of other projects must see it
    }
    return {"createDeveloperMetadata": {"developerMetadata": metadata}}


def deletion(fence_id: int, key: str) -> dict[str, object]:
    lookup = {"metadataId": fence_id, "metadataKey": key}
    return {"deleteDeveloperMetadata": {"dataFilter": {"developerMetadataLookup": lookup}}}


def _change(sheet_id: int, change: Change) -> dict[str, object]:
    match change:
        case AppendedRows():
            return {"appendCells": {"sheetId": sheet_id, **_cells(change.rows)}}
        case WrittenCells():
            start = {"sheetId": sheet_id, "rowIndex": change.row - 1, "columnIndex": change.column}
            return {"updateCells": {"start": start, **_cells([change.values])}}
        case EmptiedRow():
            row = {"startRowIndex": change.row - 1, "endRowIndex": change.row}
            return {"updateCells": {"range": {"sheetId": sheet_id, **row}, **_cells([])}}
        case RemovedRows():
            rows = {"startIndex": change.first_row - 1, "endIndex": change.last_row}
            return {
                "deleteDimension": {"range": {"sheetId": sheet_id, "dimension": "ROWS", **rows}}
            }


def _cells(rows: Sequence[Sequence[Value]]) -> dict[str, object]:
    lines = [{"values": [_cell(value) for value in row]} for row in rows]
    return {"rows": lines, "fields": "userEnteredValue"}


def _cell(value: Value) -> dict[str, object]:
    """A cell with a typed value: no text is parsed, so none becomes a formula."""
    if value is None or value == "":
        return {}
    if isinstance(value, bool):
        return {"userEnteredValue": {"boolValue": value}}
    kind = "stringValue" if isinstance(value, str) else "numberValue"
    return {"userEnteredValue": {kind: value}}
