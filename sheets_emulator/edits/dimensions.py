"""Inserting, deleting and moving whole rows and columns.

Rules
- Marks move with their cells; one of which a move takes some cells only stays where it is (an
  assumption). References of formulas, in all worksheets, follow the cells they name.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sheets_emulator.formulas.references import Shift, shifted
from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.cell import Cell, Content
from sheets_emulator.grid.line_groups import extended
from sheets_emulator.grid.marks import Filter, Line, Merge, NamedRange, Protection
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook

Item = TypeVar("Item")
Mark = TypeVar("Mark", Protection, NamedRange, Merge, Filter)


def insert_rows(workbook: Workbook, sheet: Sheet, start: int, count: int) -> None:
    """Put blank rows before row `start`."""
    if start < len(sheet.rows):
        blank: list[Row] = [()] * count
        sheet.replace_rows([*sheet.rows[:start], *blank, *sheet.rows[start:]])
    sheet.row_count += count
    _shift(workbook, sheet, rows=_inserted(start, count))
    sheet.row_lines = extended(sheet.row_lines, start, count)


def insert_columns(workbook: Workbook, sheet: Sheet, start: int, count: int) -> None:
    """Put blank columns before column `start`."""
    blank: Row = (None,) * count
    _change_rows(sheet, lambda row: row[:start] + blank + row[start:] if start < len(row) else row)
    sheet.column_count += count
    _shift(workbook, sheet, columns=_inserted(start, count))
    sheet.column_lines = extended(sheet.column_lines, start, count)


def delete_rows(workbook: Workbook, sheet: Sheet, start: int, end: int) -> None:
    """Take the rows from `start` up to `end` out."""
    sheet.replace_rows(sheet.rows[:start] + sheet.rows[end:])
    sheet.row_count -= end - start
    _shift(workbook, sheet, rows=_deleted(start, end))


def delete_columns(workbook: Workbook, sheet: Sheet, start: int, end: int) -> None:
    """Take the columns from `start` up to `end` out."""
    _change_rows(sheet, lambda row: row[:start] + row[end:])
    sheet.column_count -= end - start
    _shift(workbook, sheet, columns=_deleted(start, end))


def move_rows(workbook: Workbook, sheet: Sheet, start: int, end: int, destination: int) -> None:
    """Move rows; `destination` counts as before the move."""
    if len(sheet.rows) > min(start, destination):
        missing: list[Row] = [()] * (max(end, destination) - len(sheet.rows))
        sheet.replace_rows(moved(sheet.rows + missing, start, end, destination))
    _shift(workbook, sheet, rows=_relocated(start, end, destination))


def move_columns(workbook: Workbook, sheet: Sheet, start: int, end: int, destination: int) -> None:
    """Move columns; `destination` counts as before the move."""
    length = max(end, destination)

    def change(row: Row) -> Row:
        padded = [*row, *[None] * (length - len(row))]
        return tuple(moved(padded, start, end, destination))

    _change_rows(sheet, change)
    _shift(workbook, sheet, columns=_relocated(start, end, destination))


def resize(workbook: Workbook, sheet: Sheet, *, row_count: int, column_count: int) -> None:
    """Make the grid this large; what lies outside is lost."""
    if row_count < sheet.row_count:
        delete_rows(workbook, sheet, row_count, sheet.row_count)
    if column_count < sheet.column_count:
        delete_columns(workbook, sheet, column_count, sheet.column_count)
    sheet.grow(row_count=row_count, column_count=column_count)


def rewrite_formulas(workbook: Workbook, rewrite: Callable[[Sheet, str], str]) -> None:
    """Put for each formula what `rewrite` makes of it, given its worksheet."""
    for sheet in workbook.sheets:
        if sheet.has_formulas:
            _rewrite_formulas_of(sheet, rewrite)


def moved(items: list[Item], start: int, end: int, destination: int) -> list[Item]:
    """The list with the items from `start` up to `end` before what was at `destination`."""
    taken = items[start:end]
    if destination <= start:
        return items[:destination] + taken + items[destination:start] + items[end:]
    return items[:start] + items[end:destination] + taken + items[destination:]


def _inserted(start: int, count: int) -> Shift:
    def shift(first: int, last: int | None) -> tuple[int, int | None]:
        if last is None:
            return (first if first == 0 or first < start else first + count), None
        return first + (count if first >= start else 0), last + (count if last > start else 0)

    return shift


def _deleted(start: int, end: int) -> Shift:
    def fall(edge: int) -> int:
        return edge - max(0, min(edge, end) - start)

    def shift(first: int, last: int | None) -> tuple[int, int | None] | None:
        if last is not None and fall(last) <= fall(first):
            return None
        return fall(first), None if last is None else fall(last)

    return shift


def _relocated(start: int, end: int, destination: int) -> Shift:
    """A move is two neighbouring blocks that change places; what is in one of them goes with it."""
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


def _unmoved(first: int, last: int | None) -> tuple[int, int | None]:
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
    workbook: Workbook, sheet: Sheet, *, rows: Shift = _unmoved, columns: Shift = _unmoved
) -> None:
    """Let marks and references follow the cells of a worksheet."""
    protections = _shifted_marks(sheet.protections, rows, columns)
    sheet.protections = [_shifted_openings(each, rows, columns) for each in protections]
    sheet.names = _shifted_marks(sheet.names, rows, columns)
    sheet.merges = _shifted_marks(sheet.merges, rows, columns)
    sheet.filters = _shifted_marks(sheet.filters, rows, columns)
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
    """The protection with what it leaves open where its cells have gone."""
    spans = (_shifted_span(span, rows, columns) for span in protection.open_spans)
    return replace(protection, open_spans=tuple(span for span in spans if span is not None))


def _shifted_span(span: Span, rows: Shift, columns: Shift) -> Span | None:
    vertical, horizontal = rows(span.top, span.bottom), columns(span.left, span.right)
    if vertical is None or horizontal is None:
        return None
    (top, bottom), (left, right) = vertical, horizontal
    return Span(top=top, left=left, bottom=bottom, right=right)


def _shifted_lines(lines: dict[int, Line], shift: Shift) -> dict[int, Line]:
    places = ((shift(index, index + 1), line) for index, line in lines.items())
    return {place[0]: line for place, line in places if place is not None}
