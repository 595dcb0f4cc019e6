"""Which rows of a table answer a query, and in which order.

Rules: a total order over every mix of types, no exception for any cell. Comparing as the
contract's *Comparison* and *Order* say: an empty cell meets no range and is last both ways.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.errors import InvalidQuery
from gateway.rows.cells import TOLERANCE_DAYS, Cell, classify, is_date
from gateway.rows.choice import make_choice, truth
from gateway.rows.header import ROW_INDEX, Header
from gateway.rows.query import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Operand,
    Operator,
    Query,
    SortTerm,
)
from gateway.rows.table import FIRST_DATA_ROW, Table, cell_at

CellOf = Callable[[int], Cell]
Test = Callable[[int], bool]
Criterion = Callable[[tuple[Operand, ...]], Callable[[Cell], bool]]
"""Prepares the operands of a comparison once, for any number of cells."""


@dataclass(frozen=True)
class Page:
    """The rows of one page, by their row numbers, and whether more follow."""

    rows: Sequence[int]
    has_next: bool


def check_fields(query: Query, header: Header) -> None:
    """InvalidQuery naming the headers if `where` or `order` names a field that is none."""
    for parameter, name in query.fields():
        if name != ROW_INDEX and header.find(name) is None:
            raise InvalidQuery(
                f'{parameter} names "{name}", which is no field of this worksheet; '
                f"its fields are rowIndex, {header.listing()}."
            )


def evaluate(table: Table, query: Query) -> Page:
    """The page that a query asks for; the table has its typed half if the query needs it."""
    check_fields(query, table.header)
    rows: Sequence[int] = range(FIRST_DATA_ROW, table.last_row + 1)
    cells = _Cells(table)
    if query.where is not None:
        is_met = _compile(query.where, cells)
        rows = [row for row in rows if is_met(row)]
    for term in reversed(query.order):
        rows = _sorted(rows, term, cells)
    end = query.skip + query.limit
    return Page(rows=rows[query.skip : end], has_next=end < len(rows))


class _Cells:
    """The classified cells of the columns that a query looks at, each column made once."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._columns: dict[str, CellOf] = {}

    def of(self, field: str) -> CellOf:
        if field not in self._columns:
            self._columns[field] = _row_numbers if field == ROW_INDEX else self._column(field)
        return self._columns[field]

    def _column(self, field: str) -> CellOf:
        table, column = self._table, self._table.header.find(field)
        if column is None or table.typed is None:
            raise ValueError("a query is evaluated on checked fields and typed tables only")
        typed = table.typed
        cells = [
            classify(table.text(row, column), cell_at(typed, row, column))
            for row in range(1, table.last_row + 1)
        ]
        return lambda row: cells[row - 1]


def _row_numbers(row: int) -> Cell:
    return Cell(str(row), number=row, is_native=True)


def _compile(condition: Condition, cells: _Cells) -> Test:
    match condition:
        case Comparison():
            return _comparison(condition, cells.of(condition.field))
        case Negation():
            inner = _compile(condition.condition, cells)
            return lambda row: not inner(row)
        case AllOf():
            tests = [_compile(part, cells) for part in condition.conditions]
            return lambda row: all(test(row) for test in tests)
        case AnyOf():
            tests = [_compile(part, cells) for part in condition.conditions]
            return lambda row: any(test(row) for test in tests)


def _comparison(comparison: Comparison, cell_of: CellOf) -> Test:
    meets = _OPERATORS[comparison.operator](comparison.operands)
    return lambda row: meets(cell_of(row))


def _difference(cell: Cell, operand: Operand) -> int | None:
    """-1, 0 or 1 as the cell is below, at or above the operand; None if they do not compare."""
    if cell.is_empty or operand.value in (None, ""):
        return None
    if isinstance(operand.value, bool):
        truth_of_cell = truth(cell)
        return None if truth_of_cell is None else _sign(truth_of_cell, operand.value)
    if operand.number is not None:
        return None if cell.number is None else _sign(cell.number, operand.number)
    if cell.is_text:
        return _sign(cell.text, operand.value)
    if operand.serial is None or cell.number is None or not is_date(cell):
        return None
    is_same = abs(cell.number - operand.serial) <= TOLERANCE_DAYS
    return 0 if is_same else _sign(cell.number, operand.serial)


def _sign(left: Any, right: Any) -> int:
    """Both are numbers, texts or booleans by now."""
    return int(left > right) - int(left < right)


def _range(is_within: Callable[[int], bool]) -> Criterion:
    def prepare(operands: tuple[Operand, ...]) -> Callable[[Cell], bool]:
        def meets(cell: Cell) -> bool:
            difference = _difference(cell, operands[0])
            return difference is not None and is_within(difference)

        return meets

    return prepare


def _is_any(operands: tuple[Operand, ...]) -> Callable[[Cell], bool]:
    return make_choice(operands).holds


def _is_none(operands: tuple[Operand, ...]) -> Callable[[Cell], bool]:
    holds = make_choice(operands).holds
    return lambda cell: not holds(cell)


def _contains(operands: tuple[Operand, ...]) -> Callable[[Cell], bool]:
    part = str(operands[0].value).casefold()
    return lambda cell: part in cell.text.casefold()


def _exists(operands: tuple[Operand, ...]) -> Callable[[Cell], bool]:
    return lambda cell: cell.is_empty is not operands[0].value


_OPERATORS: Mapping[Operator, Criterion] = {
    "$eq": _is_any,
    "$ne": _is_none,
    "$in": _is_any,
    "$nin": _is_none,
    "$lt": _range(lambda difference: difference < 0),
    "$lte": _range(lambda difference: difference <= 0),
    "$gt": _range(lambda difference: difference > 0),
    "$gte": _range(lambda difference: difference >= 0),
    "$text": _contains,
    "$exists": _exists,
}


def _sorted(rows: Sequence[int], term: SortTerm, cells: _Cells) -> list[int]:
    cell_of = cells.of(term.field)
    filled = [row for row in rows if not cell_of(row).is_empty]
    empty = [row for row in rows if cell_of(row).is_empty]
    return sorted(filled, key=lambda row: _rank(cell_of(row)), reverse=term.descending) + empty


def _rank(cell: Cell) -> tuple[int, float | int, str, str]:
    """Sort key: numbers, then text without regard to case, then booleans."""
    if cell.number is not None:
        return (0, cell.number, "", "")
    if cell.boolean is not None:
        return (2, cell.boolean, "", "")
    return (1, 0, cell.text.casefold(), cell.text)
