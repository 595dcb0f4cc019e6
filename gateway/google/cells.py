"""JSON shapes of Google's worksheets and cells: decoding of answers, encoding of changes.

Rules
- Google leaves out empty JSON members, so a missing member gets its default.
- Rows stay encoded until `view_of` decodes them. `view_of` decodes a few rows at a time, so that
  the event loop can run in between.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from gateway.google.sheets import (
    NO_TABLE,
    AppendedRows,
    Block,
    Change,
    CopiedCells,
    EmptiedRow,
    InsertedRows,
    NativeTable,
    Protection,
    RemovedRows,
    SheetView,
    Value,
    WrittenCells,
    WrittenRows,
)
from gateway.table.a1 import GridArea
from gateway.table.column_types import CellForm, NumberFormat, SeenCell
from gateway.table.steps import Work

T = TypeVar("T")

PIECE_BYTES = 256 * 1024
"""Number of bytes, decoded in about 2 ms, after which the event loop runs other requests."""

BLOCK_BYTES = 400
"""Time to make a `Block` object, as the number of bytes that can be decoded in that time."""


class Grid(msgspec.Struct, rename="camel"):
    row_count: int
    column_count: int
    frozen_row_count: int = 0


class SheetProperties(msgspec.Struct, rename="camel"):
    title: str
    sheet_id: int = 0
    sheet_type: str = "GRID"
    grid_properties: Grid | None = None

    @property
    def grid(self) -> Grid:
        if self.grid_properties is None:
            raise msgspec.ValidationError("a grid worksheet has no gridProperties")
        return self.grid_properties


class ExtendedValue(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    number_value: float | int | None = None
    string_value: str | None = None
    bool_value: bool | None = None


class Entered(msgspec.Struct, rename="camel", gc=False):
    formula_value: str | None = None


class ShownNumberFormat(msgspec.Struct, omit_defaults=True, gc=False):
    type: str = ""
    pattern: str = ""


class ShownFormat(msgspec.Struct, rename="camel", gc=False):
    number_format: ShownNumberFormat | None = None


class RuleValue(msgspec.Struct, rename="camel", gc=False):
    user_entered_value: str = ""


class RuleCondition(msgspec.Struct, gc=False):
    type: str = ""
    values: tuple[RuleValue, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(each.user_entered_value for each in self.values)


class Rule(msgspec.Struct, gc=False):
    condition: RuleCondition | None = None


class Cell(msgspec.Struct, rename="camel", gc=False):
    formatted_value: str = ""
    effective_value: ExtendedValue | None = None
    user_entered_value: Entered | None = None
    effective_format: ShownFormat | None = None
    data_validation: Rule | None = None


class RowData(msgspec.Struct, gc=False):
    values: tuple[Cell, ...] = ()


class GridData(msgspec.Struct, rename="camel", gc=False):
    start_row: int = 0
    row_data: tuple[msgspec.Raw, ...] = ()


class GridRange(msgspec.Struct, rename="camel"):
    start_row_index: int = 0
    end_row_index: int | None = None
    start_column_index: int = 0
    end_column_index: int | None = None

    @property
    def area(self) -> GridArea:
        end = self.end_column_index
        return GridArea(
            self.start_row_index + 1,
            self.end_row_index,
            self.start_column_index,
            None if end is None else end - 1,
        )


class TableColumn(msgspec.Struct, rename="camel"):
    column_index: int = 0
    column_type: str = ""
    data_validation_rule: Rule | None = None


class TableRows(msgspec.Struct, rename="camel", frozen=True):
    footer_color_style: msgspec.Raw = msgspec.Raw()
    """Colour of the totals row. Google sends it only if the table has a totals row."""


class ShownTable(msgspec.Struct, rename="camel"):
    range: GridRange
    table_id: str = ""
    name: str = ""
    rows_properties: TableRows = TableRows()
    column_properties: tuple[TableColumn, ...] = ()


class ProtectedRange(msgspec.Struct, rename="camel"):
    range: GridRange
    unprotected_ranges: tuple[GridRange, ...] = ()
    warning_only: bool = False
    requesting_user_can_edit: bool = False


class Sheet(msgspec.Struct, rename="camel"):
    properties: SheetProperties
    data: tuple[GridData, ...] = ()
    tables: tuple[ShownTable, ...] = ()
    protected_ranges: tuple[ProtectedRange, ...] = ()


class SpreadsheetProperties(msgspec.Struct, rename="camel", frozen=True):
    title: str = ""
    locale: str = ""
    time_zone: str = ""


class Spreadsheet(msgspec.Struct):
    sheets: tuple[Sheet, ...]
    properties: SpreadsheetProperties = SpreadsheetProperties()

    def with_data(self, count: int) -> Sequence[Sheet]:
        """Return the worksheets that have cells in the answer, in tab order.

        Raises `msgspec.ValidationError` unless `count` worksheets have cells.
        """
        return checked_parts([each for each in self.sheets if each.data], count)


_row = msgspec.json.Decoder(RowData)


def view_of(sheet: Sheet, block_count: int, *, has_forms: bool) -> Work[SheetView]:
    """Decode a worksheet of Google's answer, with one `Block` for each requested range.

    If `has_forms` is True, the blocks have number formats and data validation. Raises
    `msgspec.ValidationError` unless the answer has `block_count` ranges.
    """
    properties, data = sheet.properties, checked_parts(sheet.data, block_count)
    grid = properties.grid
    blocks: list[Block] = []
    for each in data:
        blocks.append((yield from _block(each, has_forms=has_forms)))
    own: list[ShownTable] = []
    column_types: dict[int, str] = {}
    column_options: dict[int, tuple[str, ...]] = {}
    for table in sheet.tables:
        if table.range.start_row_index != data[0].start_row:
            continue
        own.append(table)
        for column in table.column_properties:
            at = table.range.start_column_index + column.column_index
            column_types[at], rule = column.column_type, column.data_validation_rule
            if rule is not None and rule.condition is not None:
                column_options[at] = rule.condition.options
    native = _native(own[0]) if len(own) == 1 else NO_TABLE
    return SheetView(
        sheet_id=properties.sheet_id,
        title=properties.title,
        rows=grid.row_count,
        columns=grid.column_count,
        frozen_rows=grid.frozen_row_count,
        blocks=blocks,
        # After all its rows were deleted, a table can have its totals row in place of the header.
        table=native if native.last_row >= native.first_row else NO_TABLE,
        column_types=column_types,
        column_options=column_options,
        tables=tuple(map(_native, sheet.tables)),
        protections=[
            Protection(area=each.range.area, has_exceptions=bool(each.unprotected_ranges))
            for each in sheet.protected_ranges
            if not (each.warning_only or each.requesting_user_can_edit)
        ]
        if sheet.protected_ranges
        else (),
    )


def _native(table: ShownTable) -> NativeTable:
    area, has_totals = table.range, bool(bytes(table.rows_properties.footer_color_style))
    return NativeTable(
        id=table.table_id,
        name=table.name,
        first_row=area.start_row_index + 1,
        first_column=area.start_column_index,
        end_column=area.end_column_index or 0,
        last_row=(area.end_row_index or 0) - has_totals,
        has_totals=has_totals,
    )


def _block(data: GridData, *, has_forms: bool) -> Work[Block]:
    """Decode the rows of one range, with number formats and data validation if `has_forms`.

    The value of a cell with an error is the displayed text, such as "#N/A". A value that equals the
    displayed text is the same object, to save memory. `Block.computed` also has the cells that the
    formula of another cell fills.
    """
    yield BLOCK_BYTES
    rows: list[tuple[list[str], list[Value], list[int], list[int]]] = []
    seen: list[list[SeenCell]] = []
    for raw in data.row_data:
        yield len(raw)
        texts, values, cells = list[str](), list[Value](), list[SeenCell]()
        computed, formulas = list[int](), list[int]()
        rows.append((texts, values, computed, formulas))
        for at, cell in enumerate(_row.decode(raw).values):
            text, effective = cell.formatted_value, cell.effective_value
            entered = cell.user_entered_value
            value: Value = None
            if effective is not None:
                value = effective.string_value
                if value is None:
                    value = effective.number_value
                    value = effective.bool_value if value is None else value
                if value is None or value == text:
                    value = text
            texts.append(text)
            values.append(value)
            if entered is not None and entered.formula_value is not None:
                formulas.append(at)
                computed.append(at)
            elif entered is None and effective is not None:
                computed.append(at)
            if has_forms:
                shown, rule = cell.effective_format, cell.data_validation
                number = None if shown is None else shown.number_format
                condition = None if rule is None else rule.condition
                form = CellForm(
                    None if number is None else NumberFormat(number.type, number.pattern),
                    "" if condition is None else condition.type,
                    () if condition is None else condition.options,
                )
                cells.append(SeenCell(form, value))
        seen.append(cells)
    parts: Sequence[Any] = [*zip(*rows, strict=True)] or [()] * 4
    return Block(
        first_row=data.start_row + 1,
        texts=[*parts[0]],
        values=[*parts[1]],
        computed=[*parts[2]],
        formulas=[*parts[3]],
        cells=seen if has_forms else (),
    )


def checked_parts(found: Sequence[T], count: int) -> Sequence[T]:
    """Return `found`. Raises `msgspec.ValidationError` unless it has `count` items."""
    if len(found) != count:
        raise msgspec.ValidationError(f"Google's answer has {len(found)} parts instead of {count}")
    return found


CHANGE_STEPS = 40
CELL_STEPS = 8
CHARACTERS_OF_STEP = 32


class EnteredCell(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    user_entered_value: ExtendedValue | None = None
    user_entered_format: ShownFormat | None = None


BLANK = EnteredCell()


def encoded_changes(sheet_id: int, changes: Sequence[Change]) -> Work[Sequence[msgspec.Raw]]:
    """Encode each change as one request of Google's batch update, in JSON."""
    requests: list[msgspec.Raw] = []
    for change in changes:
        request: dict[str, object]
        match change:
            case AppendedRows(table=table):
                cells = yield from _cells(change.rows, change.formats, table.first_column)
                place = {"tableId": table.id} if table.id else {"sheetId": sheet_id}
                request = {"appendCells": {**place, **cells}}
            case WrittenCells(row=row, column=column):
                formats = [dict(enumerate(change.formats))] if change.formats else ()
                cells = yield from _cells([change.values], formats)
                start = {"sheetId": sheet_id, "rowIndex": row - 1, "columnIndex": column}
                request = {"updateCells": {"start": start, **cells}}
            case WrittenRows():
                cells = yield from _cells(change.rows)
                start = {"sheetId": sheet_id, "rowIndex": change.first_row - 1, "columnIndex": 0}
                request = {"updateCells": {"start": start, **cells}}
            case EmptiedRow(row=row):
                cells = yield from _cells(())
                area = {"sheetId": sheet_id, "startRowIndex": row - 1, "endRowIndex": row}
                request = {"updateCells": {"range": area, **cells}}
            case RemovedRows():
                removed = {"startIndex": change.first_row - 1, "endIndex": change.last_row}
                lines = {"sheetId": sheet_id, "dimension": "ROWS", **removed}
                request = {"deleteDimension": {"range": lines}}
            case InsertedRows(first_row=first, is_like_above=is_like_above):
                added = {"startIndex": first - 1, "endIndex": first - 1 + change.count}
                lines = {"sheetId": sheet_id, "dimension": "ROWS", **added}
                request = {"insertDimension": {"range": lines, "inheritFromBefore": is_like_above}}
            case CopiedCells(row=row):
                columns = {"sheetId": sheet_id, "startColumnIndex": change.first}
                if change.last is not None:
                    columns["endColumnIndex"] = change.last + 1
                rows = {"startRowIndex": change.first_row - 1, "endRowIndex": change.last_row}
                request = {
                    "copyPaste": {
                        "source": {**columns, "startRowIndex": row - 1, "endRowIndex": row},
                        "destination": {**columns, **rows},
                        "pasteType": change.part,
                    }
                }
        requests.append(msgspec.Raw(msgspec.json.encode(request)))
    return requests


def _cells(
    rows: Sequence[Sequence[Value]],
    formats: Sequence[Mapping[int, NumberFormat]] = (),
    first: int = 0,
) -> Work[dict[str, object]]:
    """Encode the cells of rows, with the `fields` mask of the request.

    `formats` has the new number formats of each row, by column. Columns count from 0, and the cells
    before column `first` are left out. Values are typed, so Google parses no text as a number, a
    date or a formula.
    """
    encoded: list[msgspec.Raw] = []
    for number, row in enumerate(rows):
        characters = sum([len(value) for value in row if isinstance(value, str)])
        new = formats[number] if formats else {}
        cell_count = len(row) + 2 * len(new)
        yield CHANGE_STEPS + CELL_STEPS * cell_count + characters // CHARACTERS_OF_STEP
        cells: list[EnteredCell] = []
        for value in row:
            if value is None or value == "":
                cells.append(BLANK)
            elif isinstance(value, str):
                cells.append(EnteredCell(ExtendedValue(string_value=value)))
            elif isinstance(value, bool):
                cells.append(EnteredCell(ExtendedValue(bool_value=value)))
            else:
                cells.append(EnteredCell(ExtendedValue(number_value=value)))
        if formats:
            cells += [BLANK] * (max(new, default=-1) + 1 - len(cells))
            for at, number_format in new.items():
                shown = ShownFormat(ShownNumberFormat(*number_format))
                cells[at] = EnteredCell(cells[at].user_entered_value, shown)
        encoded.append(msgspec.Raw(msgspec.json.encode({"values": cells[first:]})))
    fields = "userEnteredValue"
    if formats:
        fields += ",userEnteredFormat.numberFormat"  # Google clears a missing format
    return {"rows": encoded, "fields": fields}
