"""Insertion, deletion and moves of whole rows and columns.

Rules:
- Marks, such as merges and protections, move with their cells. A mark that is only partly moved
  stays in place (assumed).
- References in formulas of all worksheets follow their cells.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sheets_emulator.formulas.references import Shift, shifted
from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.cell import Cell, Content
from sheets_emulator.grid.developer_metadata import DeveloperMetadata
from sheets_emulator.grid.line_groups import extended
from sheets_emulator.grid.marks import (
    Filter,
    Line,
    Merge,
    NamedRange,
    NativeTable,
    Protection,
    TableColumn,
)
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook

Item = TypeVar("Item")
Mark = TypeVar(
    "Mark",
    Protection,
    NamedRange,
    Merge,
    Filter,
    NativeTable,
    TableColumn,
    DeveloperMetadata,
)


def insert_rows(workbook: Workbook, sheet: Sheet, start: int, count: int) -> None:
    """Insert blank rows before row `start`."""
    if start < len(sheet.rows):
        blank: list[Row] = [()] * count
        sheet.replace_rows([*sheet.rows[:start], *blank, *sheet.rows[start:]])
    sheet.row_count += count
    _shift(workbook, sheet, rows=inserted(start, count))
    sheet.row_lines = extended(sheet.row_lines, start, count)


def insert_columns(workbook: Workbook, sheet: Sheet, start: int, count: int) -> None:
    """Insert blank columns before column `start`."""
    blank: Row = (None,) * count
    _change_rows(sheet, lambda row: row[:start] + blank + row[start:] if start < len(row) else row)
    sheet.column_count += count
    _shift(workbook, sheet, columns=inserted(start, count))
    sheet.column_lines = extended(sheet.column_lines, start, count)


def delete_rows(workbook: Workbook, sheet: Sheet, start: int, end: int) -> None:
    """Delete the rows from `start` to `end` (excluded)."""
    sheet.replace_rows(sheet.rows[:start] + sheet.rows[end:])
    sheet.row_count -= end - start
    _shift(workbook, sheet, rows=deleted(start, end))


def delete_columns(workbook: Workbook, sheet: Sheet, start: int, end: int) -> None:
    """Delete the columns from `start` to `end` (excluded)."""
    _change_rows(sheet, lambda row: row[:start] + row[end:])
    sheet.column_count -= end - start
    _shift(workbook, sheet, columns=deleted(start, end))


def move_rows(workbook: Workbook, sheet: Sheet, start: int, end: int, destination: int) -> None:
    """Move the rows from `start` to `end` (excluded). `destination` is an index before the move."""
    if len(sheet.rows) > min(start, destination):
        missing: list[Row] = [()] * (max(end, destination) - len(sheet.rows))
        sheet.replace_rows(moved(sheet.rows + missing, start, end, destination))
    _shift(workbook, sheet, rows=_relocated(start, end, destination))


def move_columns(workbook: Workbook, sheet: Sheet, start: int, end: int, destination: int) -> None:
    """Move the columns from `start` to `end` (excluded).

    `destination` is an index before the move.
    """
    length = max(end, destination)

    def change(row: Row) -> Row:
        padded = [*row, *[None] * (length - len(row))]
        return tuple(moved(padded, start, end, destination))

    _change_rows(sheet, change)
    _shift(workbook, sheet, columns=_relocated(start, end, destination))


def resize(workbook: Workbook, sheet: Sheet, *, row_count: int, column_count: int) -> None:
    """Resize the grid. Cells outside the new grid are lost."""
    if row_count < sheet.row_count:
        delete_rows(workbook, sheet, row_count, sheet.row_count)
    if column_count < sheet.column_count:
        delete_columns(workbook, sheet, column_count, sheet.column_count)
    sheet.grow(row_count=row_count, column_count=column_count)


def rewrite_formulas(workbook: Workbook, rewrite: Callable[[Sheet, str], str]) -> None:
    """Replace each formula with the result of `rewrite(worksheet, formula)`."""
    for sheet in workbook.sheets:
        if sheet.has_formulas:
            _rewrite_formulas_of(sheet, rewrite)


def moved(items: list[Item], start: int, end: int, destination: int) -> list[Item]:
    """Return the list with the items from `start` to `end` moved before index `destination`."""
    taken = items[start:end]
    if destination <= start:
        return items[:destination] + taken + items[destination:start] + items[end:]
    return items[:start] + items[end:destination] + taken + items[destination:]


def inserted(start: int, count: int) -> Shift:
    """Return the shift (old to new start and end) for an insertion before `start`."""

    def shift(first: int, last: int | None) -> tuple[int, int | None]:
        if last is None:
            return (first if first == 0 or first < start else first + count), None
        return first + (count if first >= start else 0), last + (count if last > start else 0)

    return shift


def deleted(start: int, end: int) -> Shift:
    """Return the shift (old to new start and end) for the deletion of rows or columns."""

    def fall(edge: int) -> int:
        return edge - max(0, min(edge, end) - start)

    def shift(first: int, last: int | None) -> tuple[int, int | None] | None:
        if last is not None and fall(last) <= fall(first):
            return None
        return fall(first), None if last is None else fall(last)

    return shift


def _relocated(start: int, end: int, destination: int) -> Shift:
    """Return the shift (old to new start and end) for a move, which swaps two adjacent ranges."""
    low, high = min(start, destination), max(end, destination)
    middle = end if destination > start else start

    def shift(first: int, last: int | None) -> tuple[int, int | None]:
        if last is None:
            return first, last
        if low <= first and last <= middle:
            return first + high - middle, last + high - middle
        if middle <= first and last <= high:
            return first + low - middle, last + low - middle
        return first, last

    return shift


def unmoved(first: int, last: int | None) -> tuple[int, int | None]:
    """Shift (function of start and end) that moves nothing."""
    return first, last


def _change_rows(sheet: Sheet, change: Callable[[Row], Row]) -> None:
    sheet.replace_rows([change(row) for row in sheet.rows])


def _rewrite_formulas_of(sheet: Sheet, rewrite: Callable[[Sheet, str], str]) -> None:
    def rewritten(content: Content) -> Content:
        if not isinstance(content, Cell) or content.formula is None:
            return content
        return replace(content, formula=rewrite(sheet, content.formula))

    for index, row in enumerate(sheet.rows):
        if Cell in map(type, row):
            sheet.replace_row(index, tuple(map(rewritten, row)))


def _shift(
    workbook: Workbook, sheet: Sheet, *, rows: Shift = unmoved, columns: Shift = unmoved
) -> None:
    """Move the marks (such as merges) and the references to the cells of a worksheet."""
    protections = _shifted_marks(sheet.protections, rows, columns)
    sheet.protections = [_shifted_openings(each, rows, columns) for each in protections]
    sheet.names = _shifted_marks(sheet.names, rows, columns)
    sheet.merges = _shifted_marks(sheet.merges, rows, columns)
    sheet.filters = _shifted_marks(sheet.filters, rows, columns)
    tables = _shifted_marks(sheet.tables, rows, columns)
    sheet.tables = [_shifted_columns(each, rows, columns) for each in tables]
    sheet.metadata = _shifted_marks(sheet.metadata, rows, columns)
    sheet.row_lines = _shifted_lines(sheet.row_lines, rows)
    sheet.column_lines = _shifted_lines(sheet.column_lines, columns)

    def follow(own: Sheet, formula: str) -> str:
        return shifted(formula, own_title=own.title, title=sheet.title, rows=rows, columns=columns)

    rewrite_formulas(workbook, follow)


def _shifted_marks(marks: list[Mark], rows: Shift, columns: Shift) -> list[Mark]:
    found = []
    for mark in marks:
        span = _shifted_span(mark.span, rows, columns)
        if span is not None:
            found.append(replace(mark, span=span))
    return found


def _shifted_openings(protection: Protection, rows: Shift, columns: Shift) -> Protection:
    spans = (_shifted_span(span, rows, columns) for span in protection.open_spans)
    return replace(protection, open_spans=tuple(span for span in spans if span is not None))


def _shifted_columns(table: NativeTable, rows: Shift, columns: Shift) -> NativeTable:
    return replace(table, columns=tuple(_shifted_marks([*table.columns], rows, columns)))


def _shifted_span(span: Span, rows: Shift, columns: Shift) -> Span | None:
    vertical, horizontal = rows(span.top, span.bottom), columns(span.left, span.right)
    if vertical is None or horizontal is None:
        return None
    (top, bottom), (left, right) = vertical, horizontal
    return Span(top=top, left=left, bottom=bottom, right=right)


def _shifted_lines(lines: dict[int, Line], shift: Shift) -> dict[int, Line]:
    places = ((shift(index, index + 1), line) for index, line in lines.items())
    return {place[0]: line for place, line in places if place is not None}
