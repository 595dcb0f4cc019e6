"""Operations of the Sheets API: requested fields and expected answers.

Source: the discovery document of the Sheets API v4. Google leaves out empty members, so members
with a default may be missing. If another member is missing or has a wrong type, the answer is
unreadable (`msgspec.ValidationError`). The memory of an answer is estimated before decoding: a
small answer may contain millions of lists.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from gateway.google.sheets import Block, SheetView, Value, Values, WorksheetProperties
from gateway.google.wire import Answer, AnswerTooLarge

T = TypeVar("T")
Cells = tuple[tuple[Value, ...], ...]

LIST_BYTES = 64
"""Memory of a decoded list without its items."""

ITEM_BYTES = 72
"""Maximum memory of an item, measured with short texts, including its slot in the list."""

GROWTH = 4
"""A decoded answer may take this many times its size limit. Windowed reads are not affected."""


class ValueRange(msgspec.Struct):
    range: str
    values: Cells = ()


class BatchOfValues(msgspec.Struct, rename="camel"):
    value_ranges: tuple[ValueRange, ...]


class RawParts(msgspec.Struct, rename="camel"):
    value_ranges: tuple[msgspec.Raw, ...]


class Grid(msgspec.Struct, rename="camel"):
    row_count: int
    column_count: int
    frozen_row_count: int = 0


class SheetProperties(msgspec.Struct, rename="camel"):
    title: str
    sheet_id: int = 0
    sheet_type: str = "GRID"
    grid_properties: Grid | None = None


class ExtendedValue(msgspec.Struct, rename="camel"):
    number_value: float | int | None = None
    string_value: str | None = None
    bool_value: bool | None = None


class Cell(msgspec.Struct, rename="camel"):
    formatted_value: str = ""
    effective_value: ExtendedValue | None = None


class RowData(msgspec.Struct):
    values: tuple[Cell, ...] = ()


class GridData(msgspec.Struct, rename="camel"):
    start_row: int = 0
    row_data: tuple[RowData, ...] = ()


class Sheet(msgspec.Struct):
    properties: SheetProperties
    data: tuple[GridData, ...] = ()


class Spreadsheet(msgspec.Struct):
    sheets: tuple[Sheet, ...]


class Applied(msgspec.Struct, rename="camel"):
    updated_spreadsheet: Spreadsheet | None = None


class Metadata(msgspec.Struct, rename="camel"):
    metadata_id: int
    metadata_value: str = ""


class MatchedMetadata(msgspec.Struct, rename="camel"):
    developer_metadata: Metadata


class FoundMetadata(msgspec.Struct, rename="camel"):
    matched_developer_metadata: tuple[MatchedMetadata, ...] = ()


class Done(msgspec.Struct, rename="camel"):
    spreadsheet_id: str


@dataclass(frozen=True, kw_only=True)
class ApiCall(Generic[T]):
    """One kind of call: whether it writes, the requested fields and the decoder.

    `decode` receives the size limit of an answer.
    """

    is_write: bool
    fields: str
    decode: Callable[[Answer, int], T]


def _as(shape: type[T]) -> Callable[[Answer, int], T]:
    decoder = msgspec.json.Decoder(shape)

    def decode(answer: Answer, max_bytes: int) -> T:
        check_growth(answer.body, GROWTH * max_bytes)
        return decoder.decode(answer.body)

    return decode


def check_growth(body: bytes, max_bytes: int) -> None:
    """Raise `AnswerTooLarge` if the decoded lists and items may exceed `max_bytes`.

    Each item but the first of a list follows a comma. Commas within texts count too; they are few
    compared with the texts themselves.
    """
    if ITEM_BYTES * len(body) <= max_bytes:
        return
    if LIST_BYTES * body.count(b"],") + ITEM_BYTES * body.count(b",") > max_bytes:
        raise AnswerTooLarge(f"decoded, the answer may take more than {max_bytes} bytes")


READ_VALUES = ApiCall(is_write=False, fields="range,values", decode=_as(ValueRange))
READ_COLUMNS = ApiCall[Answer](
    is_write=False,
    fields="range,values",
    decode=lambda answer, _: answer,  # decoded in parts by gateway.google.rendering
)
READ_SEVERAL = ApiCall(is_write=False, fields="valueRanges(range,values)", decode=_as(RawParts))
"""Each part is like an answer to `READ_COLUMNS`."""
READ_RANGES = ApiCall(
    is_write=False,
    fields="valueRanges(range,values)",
    decode=_as(BatchOfValues),
)
LIST_WORKSHEETS = ApiCall(
    is_write=False,
    fields="sheets.properties(sheetId,title,sheetType,gridProperties(rowCount,columnCount))",
    decode=_as(Spreadsheet),
)
_SHEETS = (
    "sheets(properties(sheetId,title,sheetType,"
    "gridProperties(rowCount,columnCount,frozenRowCount)),"
    "data(startRow,rowData.values(formattedValue,effectiveValue)))"
)
READ_SHEET = ApiCall(is_write=False, fields=_SHEETS, decode=_as(Spreadsheet))
APPLY = ApiCall(is_write=True, fields=f"updatedSpreadsheet.{_SHEETS}", decode=_as(Applied))
FIND_METADATA = ApiCall(
    is_write=False,
    fields="matchedDeveloperMetadata.developerMetadata(metadataId,metadataValue)",
    decode=_as(FoundMetadata),
)
DONE = ApiCall(is_write=True, fields="spreadsheetId", decode=_as(Done))
"""A batch of which nothing but its success matters."""


def as_values(found: ValueRange) -> Values:
    return Values(range=found.range, cells=found.values)


def grid_worksheets(spreadsheet: Spreadsheet) -> list[WorksheetProperties]:
    """The worksheets with cells; charts and connected data have tabs too."""
    properties = (sheet.properties for sheet in spreadsheet.sheets)
    return [_worksheet(found) for found in properties if found.sheet_type == "GRID"]


def _worksheet(found: SheetProperties) -> WorksheetProperties:
    if found.grid_properties is None:
        raise msgspec.ValidationError("a grid worksheet has no gridProperties")
    return WorksheetProperties(
        sheet_id=found.sheet_id,
        title=found.title,
        rows=found.grid_properties.row_count,
        columns=found.grid_properties.column_count,
    )


def sheet_view(spreadsheet: Spreadsheet | None, block_count: int) -> SheetView:
    """The one worksheet of an answer, with all blocks that were asked for."""
    sheets = [] if spreadsheet is None else [each for each in spreadsheet.sheets if each.data]
    if len(sheets) != 1 or len(sheets[0].data) != block_count:
        raise msgspec.ValidationError(f"no worksheet with {block_count} ranges in the answer")
    found = sheets[0].properties
    worksheet = _worksheet(found)
    return SheetView(
        sheet_id=worksheet.sheet_id,
        title=worksheet.title,
        rows=worksheet.rows,
        frozen_rows=found.grid_properties.frozen_row_count if found.grid_properties else 0,
        blocks=[_block(data) for data in sheets[0].data],
    )


def _block(data: GridData) -> Block:
    return Block(
        first_row=data.start_row + 1,
        texts=[[cell.formatted_value for cell in row.values] for row in data.row_data],
        values=[[_value(cell) for cell in row.values] for row in data.row_data],
    )


def _value(cell: Cell) -> Value:
    """The typed value; of an error its text, as in reads of values."""
    value = cell.effective_value
    if value is None:
        return None
    typed = (value.string_value, value.number_value, value.bool_value)
    return next((each for each in typed if each is not None), cell.formatted_value)


def checked_parts(found: tuple[T, ...], count: int) -> tuple[T, ...]:
    """The parts of a batch's answer. Raises `ValidationError` unless there is one per request."""
    if len(found) != count:
        raise msgspec.ValidationError(f"{len(found)} parts answer a batch of {count}")
    return found
