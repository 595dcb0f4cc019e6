"""Operations of the Sheets API: requested fields and expected answers.

Source: the discovery document of the Sheets API v4. Google leaves out empty members, so members
with a default may be missing. If another member is missing or has a wrong type, the answer is
unreadable (`msgspec.ValidationError`). The memory of an answer is estimated before decoding: a
small answer may contain millions of lists.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

import msgspec

from gateway.google.sheets import Block, SheetView, Value, Values, WorksheetProperties
from gateway.google.wire import Answer, AnswerTooLarge
from gateway.table.steps import Work, mapped

S = TypeVar("S")
T = TypeVar("T")

LIST_BYTES = 64
"""Memory of a decoded list without its items."""

ITEM_BYTES = 72
"""Maximum memory of an item, measured with short texts, including its slot in the list."""

GROWTH = 4
"""A decoded answer may take this many times its size limit. Windowed reads are not affected."""

PIECE_BYTES = 256 * 1024
"""Bytes of rows that are decoded at once, about 2 ms; a longer row is decoded at once too."""

BLOCK_BYTES = 400
"""To make a block takes as long as to decode so many bytes."""


class ValueRange(msgspec.Struct):
    range: str
    values: tuple[msgspec.Raw, ...] = ()


class BatchOfValues(msgspec.Struct, rename="camel"):
    value_ranges: tuple[ValueRange, ...]


class RawParts(msgspec.Struct, rename="camel"):
    value_ranges: tuple[msgspec.Raw, ...]


class MatchedRange(msgspec.Struct, rename="camel"):
    value_range: msgspec.Raw


class MatchedRanges(msgspec.Struct, rename="camel"):
    value_ranges: tuple[MatchedRange] | None = None


class Grid(msgspec.Struct, rename="camel"):
    row_count: int
    column_count: int
    frozen_row_count: int = 0


class SheetProperties(msgspec.Struct, rename="camel"):
    title: str
    sheet_id: int = 0
    sheet_type: str = "GRID"
    grid_properties: Grid | None = None


class ExtendedValue(msgspec.Struct, rename="camel", gc=False):
    number_value: float | int | None = None
    string_value: str | None = None
    bool_value: bool | None = None


class Entered(msgspec.Struct, rename="camel", gc=False):
    formula_value: str | None = None


class Cell(msgspec.Struct, rename="camel", gc=False):
    formatted_value: str = ""
    effective_value: ExtendedValue | None = None
    user_entered_value: Entered | None = None


class RowData(msgspec.Struct, gc=False):
    values: tuple[Cell, ...] = ()


class GridData(msgspec.Struct, rename="camel", gc=False):
    start_row: int = 0
    row_data: tuple[msgspec.Raw, ...] = ()


class Sheet(msgspec.Struct):
    properties: SheetProperties
    data: tuple[GridData, ...] = ()


class Spreadsheet(msgspec.Struct):
    sheets: tuple[Sheet, ...]


class Applied(msgspec.Struct, rename="camel"):
    updated_spreadsheet: Spreadsheet | None = None


class Metadata(msgspec.Struct, rename="camel"):
    metadata_id: int
    metadata_key: str = ""
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

    `decode` receives the size limit of an answer; its steps are bytes.
    """

    is_write: bool
    fields: str
    decode: Callable[[Answer, int], Work[T]]


def _in_steps(shape: type[S], read: Callable[[S], Work[T]]) -> Callable[[Answer, int], Work[T]]:
    """A decoder that makes a shape of an answer, and a result of the shape."""
    decoder = msgspec.json.Decoder(shape)

    def decode(answer: Answer, max_bytes: int) -> Work[T]:
        yield from check_growth(answer.body, GROWTH * max_bytes)
        return (yield from read(decoder.decode(answer.body)))

    return decode


def _at_once(shape: type[S], read: Callable[[S], T]) -> Callable[[Answer, int], Work[T]]:
    """A decoder of answers that are short."""
    decoder = msgspec.json.Decoder(shape)

    def decode(answer: Answer, max_bytes: int) -> Work[T]:
        yield from check_growth(answer.body, GROWTH * max_bytes)
        return read(decoder.decode(answer.body))

    return decode


_matched_ranges = msgspec.json.Decoder(MatchedRanges)


def _matched_range(answer: Answer, _max_bytes: int) -> Work[msgspec.Raw | None]:
    """The only range that matches; None if there is none."""
    yield len(answer.body)
    found = _matched_ranges.decode(answer.body).value_ranges
    return None if found is None else found[0].value_range


def check_growth(body: bytes, max_bytes: int) -> Work[None]:
    """Raise `AnswerTooLarge` if the decoded lists and items may exceed `max_bytes`.

    Each item but the first of a list follows a comma. Commas within texts count too; they are few
    compared with the texts themselves.
    """
    if ITEM_BYTES * len(body) <= max_bytes:
        return
    byte_count = 0
    for start in range(0, len(body), PIECE_BYTES):
        yield PIECE_BYTES
        end = start + PIECE_BYTES
        byte_count += LIST_BYTES * body.count(b"],", start, end)
        byte_count += ITEM_BYTES * body.count(b",", start, end)
        if byte_count > max_bytes:
            raise AnswerTooLarge(f"decoded, the answer may take more than {max_bytes} bytes")


_line = msgspec.json.Decoder(tuple[Value, ...])
_row = msgspec.json.Decoder(RowData)


def _values(found: ValueRange) -> Work[Values]:
    cells = yield from mapped(_line.decode, found.values, _length, PIECE_BYTES)
    return Values(range=found.range, cells=tuple(cells))


def _several_values(found: BatchOfValues) -> Work[Sequence[Values]]:
    several: list[Values] = []
    for each in found.value_ranges:
        several.append((yield from _values(each)))
    return several


def _grid_worksheets(spreadsheet: Spreadsheet) -> list[WorksheetProperties]:
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


def _sheet_view(spreadsheet: Spreadsheet | None) -> Work[SheetView]:
    """The one worksheet of an answer, with all its blocks."""
    sheets = [] if spreadsheet is None else [each for each in spreadsheet.sheets if each.data]
    if len(sheets) != 1:
        raise msgspec.ValidationError(f"{len(sheets)} worksheets in the answer")
    found = sheets[0].properties
    worksheet = _worksheet(found)
    lines = [line for data in sheets[0].data for line in data.row_data]
    rows = iter((yield from mapped(_cells, lines, _length, PIECE_BYTES)))
    blocks = yield from mapped(
        lambda data: _block(data, [*islice(rows, len(data.row_data))]),
        sheets[0].data,
        lambda data: BLOCK_BYTES,
        PIECE_BYTES,
    )
    return SheetView(
        sheet_id=worksheet.sheet_id,
        title=worksheet.title,
        rows=worksheet.rows,
        frozen_rows=found.grid_properties.frozen_row_count if found.grid_properties else 0,
        blocks=blocks,
    )


def _length(line: msgspec.Raw) -> int:
    return len(memoryview(line))


class _Row(NamedTuple):
    """The cells of a row: displayed texts, typed values, and the columns of computed ones."""

    texts: Sequence[str]
    values: Sequence[Value]
    computed: Collection[int] = ()


def _block(data: GridData, rows: Sequence[_Row]) -> Block:
    return Block(
        first_row=data.start_row + 1,
        texts=[row.texts for row in rows],
        values=[row.values for row in rows],
        computed=[row.computed for row in rows],
    )


def _cells(line: msgspec.Raw) -> _Row:
    """A row; an equal text and value are one object."""
    cells = _row.decode(line).values
    return _Row(
        [cell.formatted_value for cell in cells],
        [_value(cell) for cell in cells],
        [at for at, cell in enumerate(cells) if _is_computed(cell)],
    )


def _is_computed(cell: Cell) -> bool:
    """True for a cell of a formula, and for one that a formula of another cell fills."""
    entered = cell.user_entered_value
    if entered is None:
        return cell.effective_value is not None
    return entered.formula_value is not None


def _value(cell: Cell) -> Value:
    """The typed value; of an error its text, as in reads of values."""
    value, text = cell.effective_value, cell.formatted_value
    if value is None:
        return None
    if value.string_value is not None:
        return text if value.string_value == text else value.string_value
    typed = value.bool_value if value.number_value is None else value.number_value
    return text if typed is None else typed


def with_blocks(view: SheetView, count: int) -> SheetView:
    """The view. Raises `ValidationError` unless it has a block for each requested range."""
    checked_parts(view.blocks, count)
    return view


def checked_parts(found: Sequence[T], count: int) -> Sequence[T]:
    """The parts of a batch's answer. Raises `ValidationError` unless there is one per request."""
    if len(found) != count:
        raise msgspec.ValidationError(f"{len(found)} parts answer a batch of {count}")
    return found


READ_VALUES = ApiCall(is_write=False, fields="range,values", decode=_in_steps(ValueRange, _values))
READ_COLUMNS = ApiCall(
    is_write=False,
    fields="range,values",
    # Decoded in parts by gateway.google.rendering.
    decode=_at_once(msgspec.Raw, lambda answer: answer),
)
READ_MATCHED = ApiCall(
    is_write=False, fields="valueRanges.valueRange(range,values)", decode=_matched_range
)
"""The range is like an answer to `READ_COLUMNS`."""
READ_SEVERAL = ApiCall(
    is_write=False,
    fields="valueRanges(range,values)",
    decode=_at_once(RawParts, lambda found: found.value_ranges),
)
"""Each part is like an answer to `READ_COLUMNS`."""
READ_RANGES = ApiCall(
    is_write=False,
    fields="valueRanges(range,values)",
    decode=_in_steps(BatchOfValues, _several_values),
)
LIST_WORKSHEETS = ApiCall(
    is_write=False,
    fields="sheets.properties(sheetId,title,sheetType,gridProperties(rowCount,columnCount))",
    decode=_at_once(Spreadsheet, _grid_worksheets),
)
_SHEETS = (
    "sheets(properties(sheetId,title,sheetType,"
    "gridProperties(rowCount,columnCount,frozenRowCount)),"
    "data(startRow,rowData.values(formattedValue,effectiveValue,userEnteredValue)))"
)
READ_SHEET = ApiCall(is_write=False, fields=_SHEETS, decode=_in_steps(Spreadsheet, _sheet_view))
READ_SHEET_TEXTS = ApiCall(
    is_write=False,
    fields=_SHEETS.replace(",effectiveValue,userEnteredValue", ""),
    decode=_in_steps(Spreadsheet, _sheet_view),
)
APPLY = ApiCall(
    is_write=True,
    fields=f"updatedSpreadsheet.{_SHEETS}",
    decode=_in_steps(Applied, lambda done: _sheet_view(done.updated_spreadsheet)),
)
FIND_METADATA = ApiCall(
    is_write=False,
    fields="matchedDeveloperMetadata.developerMetadata(metadataId,metadataKey,metadataValue)",
    decode=_at_once(FoundMetadata, lambda found: found.matched_developer_metadata),
)
DONE = ApiCall(is_write=True, fields="spreadsheetId", decode=_at_once(Done, lambda _: None))
"""A batch of which nothing but its success matters."""
