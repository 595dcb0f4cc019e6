"""Inserting, deleting and moving whole rows and columns.

Rules
- Protected parts move with their cells; one of which a move takes some cells only stays where it
  is (an assumption). Formulas are not evaluated here, so their references are not adjusted either.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from gateway.emulator.a1 import Span
from gateway.emulator.cell import BLANK
from gateway.emulator.sheet import Protection, Row, Sheet

Item = TypeVar("Item")
Shift = Callable[[int, int | None], tuple[int, int | None] | None]


def insert_rows(sheet: Sheet, start: int, count: int) -> None:
    """Put blank rows before row `start`."""
    if start < len(sheet.rows):
        new: list[Row] = [[] for _ in range(count)]
        sheet.rows[start:start] = new
    sheet.row_count += count
    _shift_protections(sheet, rows=_inserted(start, count))


def insert_columns(sheet: Sheet, start: int, count: int) -> None:
    """Put blank columns before column `start`."""
    for row in sheet.rows:
        if start < len(row):
            row[start:start] = [BLANK] * count
    sheet.column_count += count
    _shift_protections(sheet, columns=_inserted(start, count))


def delete_rows(sheet: Sheet, start: int, end: int) -> None:
    """Take the rows from `start` up to `end` out."""
    del sheet.rows[start:end]
    sheet.row_count -= end - start
    _shift_protections(sheet, rows=_deleted(start, end))


def delete_columns(sheet: Sheet, start: int, end: int) -> None:
    """Take the columns from `start` up to `end` out."""
    for row in sheet.rows:
        del row[start:end]
    sheet.column_count -= end - start
    _shift_protections(sheet, columns=_deleted(start, end))


def move_rows(sheet: Sheet, start: int, end: int, destination: int) -> None:
    """Move rows; `destination` counts as before the move."""
    _shift_protections(sheet, rows=_relocated(start, end, destination))
    if len(sheet.rows) <= min(start, destination):
        return  # all the cells are blank
    while len(sheet.rows) < max(end, destination):
        sheet.rows.append([])
    sheet.rows[:] = moved(sheet.rows, start, end, destination)


def move_columns(sheet: Sheet, start: int, end: int, destination: int) -> None:
    """Move columns; `destination` counts as before the move."""
    _shift_protections(sheet, columns=_relocated(start, end, destination))
    for row in sheet.rows:
        row.extend([BLANK] * (max(end, destination) - len(row)))
        row[:] = moved(row, start, end, destination)


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


def _shift_protections(sheet: Sheet, *, rows: Shift = _unmoved, columns: Shift = _unmoved) -> None:
    shifted = (_shifted(protection, rows, columns) for protection in sheet.protections)
    sheet.protections = [protection for protection in shifted if protection is not None]


def _shifted(protection: Protection, rows: Shift, columns: Shift) -> Protection | None:
    span = protection.span
    vertical = rows(span.top, span.bottom)
    horizontal = columns(span.left, span.right)
    if vertical is None or horizontal is None:
        return None
    (top, bottom), (left, right) = vertical, horizontal
    return replace(protection, span=Span(top=top, left=left, bottom=bottom, right=right))
