"""A batch as the requests of `spreadsheets.batchUpdate`: first the fence, then the changes."""

from collections.abc import Sequence

import msgspec

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
from gateway.table.steps import Work, finish

CHANGE_STEPS = 40
CELL_STEPS = 8
CHARACTERS_OF_STEP = 32
PIECE_STEPS = 16_384
"""About 1 ms."""


class Entered(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    string_value: str | None = None
    number_value: int | float | None = None
    bool_value: bool | None = None


class Cell(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    user_entered_value: Entered | None = None


BLANK = Cell()


def requests_of(batch: Batch) -> list[object]:
    """The requests of a batch in their order; changes that are not encoded yet are, at once."""
    return [
        *[deletion(fence_id, batch.fence.key) for fence_id in batch.forgotten],
        creation(batch.fence),
        *(batch.encoded or finish(encoded_changes(batch.sheet_id, batch.changes))),
    ]


def encoded_changes(sheet_id: int, changes: Sequence[Change]) -> Work[Sequence[msgspec.Raw]]:
    """The requests that make these changes, as JSON."""
    requests: list[msgspec.Raw] = []
    for change in changes:
        lines: list[msgspec.Raw] = []
        for row in _rows(change):
            characters = sum(len(value) for value in row if isinstance(value, str))
            yield CHANGE_STEPS + CELL_STEPS * len(row) + characters // CHARACTERS_OF_STEP
            lines.append(_encoded({"values": [*map(_cell, row)]}))
        requests.append(_encoded(_change(sheet_id, change, lines)))
    return requests


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


def _rows(change: Change) -> Sequence[Sequence[Value]]:
    match change:
        case AppendedRows():
            return change.rows
        case WrittenCells():
            return [change.values]
        case EmptiedRow() | RemovedRows():
            return []


def _change(sheet_id: int, change: Change, lines: Sequence[msgspec.Raw]) -> dict[str, object]:
    """The request of a change with these rows of cells."""
    cells: dict[str, object] = {"rows": lines, "fields": "userEnteredValue"}
    match change:
        case AppendedRows():
            return {"appendCells": {"sheetId": sheet_id, **cells}}
        case WrittenCells():
            start = {"sheetId": sheet_id, "rowIndex": change.row - 1, "columnIndex": change.column}
            return {"updateCells": {"start": start, **cells}}
        case EmptiedRow():
            row = {"startRowIndex": change.row - 1, "endRowIndex": change.row}
            return {"updateCells": {"range": {"sheetId": sheet_id, **row}, **cells}}
        case RemovedRows():
            rows = {"startIndex": change.first_row - 1, "endIndex": change.last_row}
            return {
                "deleteDimension": {"range": {"sheetId": sheet_id, "dimension": "ROWS", **rows}}
            }


def _encoded(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _cell(value: Value) -> Cell:
    """A cell with a typed value: no text is parsed, so none becomes a formula."""
    if value is None or value == "":
        return BLANK
    if isinstance(value, str):
        return Cell(Entered(string_value=value))
    if isinstance(value, bool):
        return Cell(Entered(bool_value=value))
    return Cell(Entered(number_value=value))
