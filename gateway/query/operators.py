"""The table of `where` operators: the row sets that they look up, and verdicts without rows.

Rules:
- An operator is one entry of `OPERATORS`; parser, evaluator and `/openapi.json` are made from it.
  Only `EQUAL`, the operator of a plain value, is known by name elsewhere.
- A field is a column with its indexes, or `rowIndex`. A look-up is a plain function on indexes
  that are ready; its time depends on the operands, never on the rows.
- An operand is looked up in the index of its kind of cell. An operand that does not compare matches
  no row, and odd content raises nothing. All operands of a condition together become at most one
  set per kind of cell.
- Conditions that are always or never true come from empty inputs (`$text: ""`, `$nin: []`). Each
  operator decides for its operands (`Operator.decide`); combinators join the verdicts.
- A range of `rowIndex` depends on the row: it is the deliberate way to all rows, as `$exists` is.
  Other conditions on it are decided as those of a cell that always holds a number from 2.
- Conditions that leave out no row together, such as `$exists` true or false, depend on the row,
  too: each says something of a field, and no empty input makes both.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol

import msgspec

from gateway.query.query import AllOf, AnyOf, Comparison, Condition, Negation, Operand
from gateway.query.row_sets import (
    Containing,
    NumberContaining,
    OfKind,
    RowSet,
    all_of,
    any_of,
    groups_of,
)
from gateway.table.cells import (
    BOOLEAN,
    DOUBLE,
    EMPTY,
    INTEGER,
    NUMBERS,
    NUMERAL,
    TEXT,
    TOLERANCE_DAYS,
)
from gateway.table.header import ROW_INDEX
from gateway.table.index import ColumnIndex
from gateway.table.ordered import Ranked, Run
from gateway.table.steps import ready
from gateway.table.table import FIRST_DATA_ROW, Table

Ends = tuple[int, int]
"""The groups of a range, from one of these positions up to another: 0 is the first group, 1 the
first that is not below the operand, 2 the first above it, 3 the end.
"""

MOST_MEMBERS = 2_048
"""Groups of times that become one set; more are ranges."""


class Field(Protocol):
    """A field as conditions search it. Raises Unbuilt if an index is not ready."""

    def equal(self, operands: Sequence[Operand]) -> RowSet: ...

    def within(self, ends: Ends, operand: Operand) -> RowSet: ...

    def containing(self, text: str) -> RowSet:
        """Rows whose displayed text contains `text`, ignoring case."""

    def filled(self, *, is_filled: bool) -> RowSet: ...


class ColumnField(msgspec.Struct, frozen=True):
    index: ColumnIndex
    rows: Ranked

    def equal(self, operands: Sequence[Operand]) -> RowSet:
        # Not `list[Operand]()`, which takes 20 times as long.
        texts: list[Operand] = []
        numbers: list[Any] = []
        booleans: list[bool] = []
        found: list[RowSet] = []
        for operand in operands:
            value = operand.value
            if value is None or value == "":
                found.append(self._of_kind(EMPTY))
            elif isinstance(value, str):
                texts.append(operand)
            elif isinstance(value, bool):
                booleans.append(value)
            else:
                numbers.append(operand.number)
        if booleans:
            found.append(_values(ready(ColumnIndex.booleans, self.index), booleans))
        if numbers:
            found.append(_values(ready(ColumnIndex.numbers, self.index), numbers))
        if texts:
            shown = ready(ColumnIndex.distinct_texts, self.index)
            found.append(_values(shown, map(_VALUE, texts)))
            numeric = [each for each in texts if each.number is not None or each.serial is not None]
            if numeric:
                found += self._equal_numbers(numeric)
        return found[0] if len(found) == 1 else any_of(found, self.rows)

    def within(self, ends: Ends, operand: Operand) -> RowSet:
        value = operand.value
        if value is None or value == "":
            return any_of((), self.rows)
        if isinstance(value, bool):
            return _range(ready(ColumnIndex.booleans, self.index), ends, value)
        if operand.number is not None:
            return _range(ready(ColumnIndex.numbers, self.index), ends, operand.number)
        cells = ready(ColumnIndex.keys, self.index)
        sets: list[RowSet] = []
        if cells.count(TEXT):
            texts: RowSet = _range(ready(ColumnIndex.distinct_texts, self.index), ends, value)
            if cells.count(NUMERAL, INTEGER, DOUBLE, BOOLEAN):
                texts = all_of((texts, self._of_kind(TEXT)), self.rows)
            sets.append(texts)
        if operand.serial is not None and cells.count(*NUMBERS):
            run = ready(ColumnIndex.dates, self.index)
            positions = (0, *_date_bounds(run, operand.serial), len(run.keys))
            sets.append(groups_of(run.ranked, range(positions[ends[0]], positions[ends[1]])))
        return any_of(sets, self.rows)

    def containing(self, text: str) -> RowSet:
        part = text.casefold()
        if not part:
            return groups_of(self.rows, range(self.rows.groups))
        return Containing(self.whole, ready(ColumnIndex.folded, self.index), part)

    def filled(self, *, is_filled: bool) -> RowSet:
        filled = (TEXT, NUMERAL, INTEGER, DOUBLE, BOOLEAN)
        return self._of_kind(*(filled if is_filled else (EMPTY,)))

    @property
    def whole(self) -> range:
        """The places of all rows."""
        return range(1, self.rows.size)

    def _of_kind(self, *wanted: int) -> RowSet:
        cells = ready(ColumnIndex.keys, self.index)
        count = cells.count(*wanted)
        return OfKind(self.whole, cells.kinds, frozenset(wanted), count, count)

    def _equal_numbers(self, operands: Sequence[Operand]) -> list[RowSet]:
        """Numbers with the operand as plain notation, and dates of its time."""
        cells = ready(ColumnIndex.keys, self.index)
        found: list[RowSet] = []
        integers = [operand.integer for operand in operands if operand.integer is not None]
        doubles = [operand.double for operand in operands if operand.double is not None]
        for kind, plain in ((INTEGER, integers), (DOUBLE, doubles)):
            if plain and cells.count(kind):
                equal = _values(ready(ColumnIndex.numbers, self.index), plain)
                found.append(all_of((equal, self._of_kind(kind)), self.rows))
        serials = [operand.serial for operand in operands if operand.serial is not None]
        if serials and cells.count(*NUMBERS):
            found.append(_equal_dates(ready(ColumnIndex.dates, self.index), serials, self.rows))
        return found


class RowIndexField(msgspec.Struct, frozen=True):
    """The row number, compared like a number cell."""

    table: Table

    def equal(self, operands: Sequence[Operand]) -> RowSet:
        rows = {row for operand in operands if (row := _row(operand)) is not None}
        last_row = self.table.last_row
        return groups_of(self.table.rows, {row - 2 for row in rows if 2 <= row <= last_row})

    def within(self, ends: Ends, operand: Operand) -> RowSet:
        rows = self.table.rows
        if operand.number is None:
            return any_of((), rows)
        ceiling, floor = math.ceil(operand.number), math.floor(operand.number)
        count = max(0, self.table.last_row - 1)
        low, high = min(max(ceiling - 2, 0), count), min(max(floor - 1, 0), count)
        positions = (0, low, high, count)
        return groups_of(rows, range(positions[ends[0]], positions[ends[1]]))

    def containing(self, text: str) -> RowSet:
        return NumberContaining(range(1, self.table.size), text.casefold())

    def filled(self, *, is_filled: bool) -> RowSet:
        rows = self.table.rows
        return groups_of(rows, range(rows.groups if is_filled else 0))


_VALUE = attrgetter("value")


def _values(run: Run, keys: Iterable[Any]) -> RowSet:
    known, numbers = run.keys, set[int]()
    for key in keys:
        at = bisect_left(known, key)
        if at < len(known) and known[at] == key:
            numbers.add(at)
    return groups_of(run.ranked, numbers)


def _range(run: Run, ends: Ends, key: Any) -> RowSet:
    keys = run.keys
    low = bisect_left(keys, key) if 1 in ends else 0
    high = bisect_right(keys, key) if 2 in ends else 0
    positions = (0, low, high, len(keys))
    return groups_of(run.ranked, range(positions[ends[0]], positions[ends[1]]))


def _equal_dates(run: Run, serials: Sequence[float], rows: Ranked) -> RowSet:
    """The dates within a millisecond of a serial date."""
    spans: list[range] = []
    for serial in sorted(serials):
        low, high = _date_bounds(run, serial)
        if spans and low <= spans[-1].stop:
            low, high = spans[-1].start, max(high, spans.pop().stop)
        spans.append(range(low, high))
    if len(spans) == 1 or sum(map(len, spans)) > MOST_MEMBERS:
        return any_of([groups_of(run.ranked, span) for span in spans], rows)
    return groups_of(run.ranked, {number for span in spans for number in span})


def _date_bounds(run: Run, serial: float) -> tuple[int, int]:
    """The keys within a millisecond of a serial date: the first, and one past the last."""

    def distance(key: float) -> float:
        return key - serial

    low = bisect_left(run.keys, -TOLERANCE_DAYS, key=distance)
    return low, bisect_right(run.keys, TOLERANCE_DAYS, lo=low, key=distance)


def _row(operand: Operand) -> int | None:
    """The row number that equals the operand: a whole number or its plain notation."""
    if operand.number is None or operand.number != int(operand.number):
        return None
    row = int(operand.number)
    return row if not isinstance(operand.value, str) or operand.value == str(row) else None


Lookup = Callable[[Field, Sequence[Operand]], RowSet]


class OperandShape(msgspec.Struct, frozen=True, kw_only=True):
    """JSON type of an operand: one scalar, perhaps of one type, or a list of scalars."""

    is_list: bool = False
    python_type: type = object
    json_type: str | None = None
    """The name of `python_type` in JSON Schema; None for any scalar."""
    noun: str = ""
    """`python_type` in an error message."""


SCALAR = OperandShape()
SCALARS = OperandShape(is_list=True)
TEXT_OPERAND = OperandShape(python_type=str, json_type="string", noun="a string")
FLAG = OperandShape(python_type=bool, json_type="boolean", noun="true or false")


def _depends(operands: Sequence[Operand]) -> bool | None:
    return None


class Operator(msgspec.Struct, frozen=True):
    name: str
    operand: OperandShape
    lookup: Lookup
    description: str
    """The sentence of `/openapi.json`."""
    is_negated: bool = False
    """True if the operator matches all rows except those of `lookup`."""
    decide: Callable[[Sequence[Operand]], bool | None] = _depends
    """True if `lookup` finds all rows of a column, False if none, whatever its cells hold."""
    aliases: tuple[str, ...] = ()


def _equal(field: Field, operands: Sequence[Operand]) -> RowSet:
    return field.equal(operands)


def _within(ends: Ends) -> Lookup:
    def lookup(field: Field, operands: Sequence[Operand]) -> RowSet:
        return field.within(ends, operands[0])

    return lookup


def _containing(field: Field, operands: Sequence[Operand]) -> RowSet:
    return field.containing(str(operands[0].value))


def _filled(field: Field, operands: Sequence[Operand]) -> RowSet:
    return field.filled(is_filled=bool(operands[0].value))


def _never_if_none(operands: Sequence[Operand]) -> bool | None:
    return None if operands else False


def _always_if_blank(operands: Sequence[Operand]) -> bool | None:
    return True if operands[0].is_empty else None


def _never_beyond(*ends: bool) -> Callable[[Sequence[Operand]], bool | None]:
    """Decide for a range: no empty cell is in it, and no boolean beyond these `ends`."""

    def decide(operands: Sequence[Operand]) -> bool | None:
        operand = operands[0]
        is_end = isinstance(operand.value, bool) and operand.value in ends
        return False if operand.is_empty or is_end else None

    return decide


_UNEQUAL = "not equal; empty cells are equal to null alone"
_CONTAINING = "has this text somewhere in it, in capitals or not"
_FILLED = "true: the cell is not empty; false: it is"

_TABLE = (
    Operator("$eq", SCALAR, _equal, "equal"),
    Operator("$ne", SCALAR, _equal, _UNEQUAL, is_negated=True, aliases=("$neq",)),
    Operator("$lt", SCALAR, _within((0, 1)), "less", decide=_never_beyond(False)),
    Operator("$lte", SCALAR, _within((0, 2)), "less or equal", decide=_never_beyond()),
    Operator("$gt", SCALAR, _within((2, 3)), "greater", decide=_never_beyond(True)),
    Operator("$gte", SCALAR, _within((1, 3)), "greater or equal", decide=_never_beyond()),
    Operator("$in", SCALARS, _equal, "equal to one of these", decide=_never_if_none),
    Operator(
        "$nin", SCALARS, _equal, "equal to none of these", is_negated=True, decide=_never_if_none
    ),
    Operator("$text", TEXT_OPERAND, _containing, _CONTAINING, decide=_always_if_blank),
    Operator("$exists", FLAG, _filled, _FILLED),
)

OPERATORS: Mapping[str, Operator] = {operator.name: operator for operator in _TABLE}
ALIASES: Mapping[str, str] = {
    alias: operator.name for operator in _TABLE for alias in operator.aliases
}
EQUAL = OPERATORS["$eq"]


def verdict(condition: Condition) -> bool | None:
    """True if every row matches, False if none does, None if that depends on the rows."""
    match condition:
        case Comparison(name, word, operands):
            operator = OPERATORS[word]
            if name == ROW_INDEX and operator.operand not in (FLAG, TEXT_OPERAND):
                least = FIRST_DATA_ROW if operator.lookup is EQUAL.lookup else -math.inf
                numbers = [operand.number for operand in operands if operand.number is not None]
                decided = None if any(number >= least for number in numbers) else False
            else:
                decided = operator.decide(operands)
            return _inverse(decided) if operator.is_negated else decided
        case Negation(inside):
            return _inverse(verdict(inside))
        case AllOf(conditions) | AnyOf(conditions):
            decisive, verdicts = isinstance(condition, AnyOf), set(map(verdict, conditions))
            if decisive in verdicts:
                return decisive
            return None if None in verdicts else not decisive


def _inverse(decided: bool | None) -> bool | None:
    return None if decided is None else not decided
