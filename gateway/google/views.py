"""Answers of `spreadsheets.get`, and the views made from them.

Rules: as in calls, members with a default may be missing. Rows stay encoded until a view is made
from them, some at a time.
"""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from gateway.google.sheets import (
    NO_TABLE,
    Block,
    NativeTable,
    Protection,
    SheetView,
    Value,
    WorksheetProperties,
)
from gateway.table.a1 import GridArea
from gateway.table.column_kinds import CellForm, NumberFormat
from gateway.table.steps import Work, mapped

T = TypeVar("T")

PIECE_BYTES = 256 * 1024
"""Maximum size of rows that are decoded in one step of about 2 ms; a longer row is one step."""

BLOCK_BYTES = 400
"""Bytes whose decoding takes as long as making a block."""


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


class ShownNumberFormat(msgspec.Struct, gc=False):
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


class FormOfCell(msgspec.Struct, rename="camel", gc=False):
    effective_format: ShownFormat | None = None
    data_validation: Rule | None = None


class FormsOfRow(msgspec.Struct, gc=False):
    values: tuple[FormOfCell, ...] = ()


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
    """Colour of the totals row; present only if the table has such a row."""


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


NAMELESS = SpreadsheetProperties()


class Spreadsheet(msgspec.Struct):
    sheets: tuple[Sheet, ...]
    properties: SpreadsheetProperties = NAMELESS


_row = msgspec.json.Decoder(RowData)
_form_row = msgspec.json.Decoder(FormsOfRow)


def worksheet_properties(found: SheetProperties) -> WorksheetProperties:
    if found.grid_properties is None:
        raise msgspec.ValidationError("a grid worksheet has no gridProperties")
    return WorksheetProperties(
        sheet_id=found.sheet_id,
        title=found.title,
        rows=found.grid_properties.row_count,
        columns=found.grid_properties.column_count,
    )


def sheet_view(
    spreadsheet: Spreadsheet | None, block_count: int, *, has_forms: bool = False
) -> Work[SheetView]:
    """Make the view of an answer's only worksheet, with one block per requested range."""
    sheets = [] if spreadsheet is None else [each for each in spreadsheet.sheets if each.data]
    if len(sheets) != 1:
        raise msgspec.ValidationError(f"{len(sheets)} worksheets in the answer")
    return (yield from view_of(sheets[0], block_count, has_forms=has_forms))


def view_of(sheet: Sheet, block_count: int, *, has_forms: bool) -> Work[SheetView]:
    properties, data = sheet.properties, checked_parts(sheet.data, block_count)
    grid = properties.grid_properties
    if grid is None:
        raise msgspec.ValidationError("a grid worksheet has no gridProperties")
    blocks: list[Block] = []
    for each in data:
        yield BLOCK_BYTES
        rows = yield from mapped(_cells, each.row_data, len, PIECE_BYTES)
        texts, values, computed, formulas = zip(*rows, strict=True) if rows else ((), (), (), ())
        forms: Sequence[Sequence[CellForm]] = ()
        if has_forms:
            forms = yield from mapped(_forms, each.row_data, len, PIECE_BYTES)
        blocks.append(
            Block(
                first_row=each.start_row + 1,
                texts=[*texts],
                values=[*values],
                computed=[*computed],
                formulas=[*formulas],
                forms=forms,
            )
        )
    tables = [each for each in sheet.tables if each.range.start_row_index == data[0].start_row]
    typed_columns = {
        table.range.start_column_index + column.column_index: column
        for table in tables
        for column in table.column_properties
    }
    return SheetView(
        sheet_id=properties.sheet_id,
        title=properties.title,
        rows=grid.row_count,
        columns=grid.column_count,
        frozen_rows=grid.frozen_row_count,
        blocks=blocks,
        table=_native(tables[0]) if len(tables) == 1 else NO_TABLE,
        column_types={at: column.column_type for at, column in typed_columns.items()},
        column_options={
            at: column.data_validation_rule.condition.options
            for at, column in typed_columns.items()
            if column.data_validation_rule and column.data_validation_rule.condition
        },
        tables=tuple(map(_native, sheet.tables)),
        protections=tuple(
            Protection(area=each.range.area, has_exceptions=bool(each.unprotected_ranges))
            for each in sheet.protected_ranges
            if not (each.warning_only or each.requesting_user_can_edit)
        ),
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


def _cells(row: msgspec.Raw) -> tuple[list[str], list[Value], list[int], list[int]]:
    """Decode a row: displayed texts, typed values, columns of computed cells, and of formulas.

    An equal text and value are one object. The value of an error is its text, as in reads of
    values. A cell is computed by its own formula, or by the formula of another cell that fills it.
    """
    texts: list[str] = []
    values: list[Value] = []
    computed: list[int] = []
    formulas: list[int] = []
    for at, cell in enumerate(_row.decode(row).values):
        text, effective, entered = (
            cell.formatted_value,
            cell.effective_value,
            cell.user_entered_value,
        )
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
    return texts, values, computed, formulas


def _forms(row: msgspec.Raw) -> list[CellForm]:
    """The forms of the cells of a row."""
    forms: list[CellForm] = []
    for cell in _form_row.decode(row).values:
        shown, rule = cell.effective_format, cell.data_validation
        found = None if shown is None else shown.number_format
        condition = None if rule is None else rule.condition
        form = CellForm(
            format=None if found is None else NumberFormat(found.type, found.pattern),
            rule="" if condition is None else condition.type,
            options=() if condition is None else condition.options,
        )
        forms.append(form)
    return forms


def checked_parts(found: Sequence[T], count: int) -> Sequence[T]:
    """The parts of a batch's answer. Raises `ValidationError` unless there is one per request."""
    if len(found) != count:
        raise msgspec.ValidationError(f"{len(found)} parts answer a batch of {count}")
    return found
