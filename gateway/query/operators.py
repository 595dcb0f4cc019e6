"""The table of `where` operators, and the row sets that they look up on one field.

Rules:
- An operator is one entry of `OPERATORS`; parser, evaluator and `/openapi.json` are made from it.
  Only `EQUAL`, the operator of a plain value, is known by name elsewhere.
- A field is a column with its indexes, or `rowIndex`. Steps are counted in its lookups.
- An operand is looked up in the index of its kind of cell. An operand that does not compare matches
  no row, and odd content raises nothing. All operands of a condition together become at most one
  set per kind of cell.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from gateway.query.query import Operand
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
from gateway.table.index import ColumnIndex
from gateway.table.ordered import Ranked, Run
from gateway.table.steps import Work
from gateway.table.table import Table

_LOOK_UP_STEPS = 40
"""Steps of looking up one operand in the runs of a column."""

Bounds = Callable[[int, int, int], range]
"""The groups of a range: `low` of them are below the operand, those up to `high` equal it, and
there are `end` of them.
"""


class Field(Protocol):
    """A field as conditions search it."""

    def equal(self, operands: Sequence[Operand]) -> Work[RowSet]: ...

    def within(self, bounds: Bounds, operand: Operand) -> Work[RowSet]: ...

    def containing(self, text: str) -> Work[RowSet]:
        """Rows whose displayed text contains `text`, ignoring case."""

    def filled(self, *, is_filled: bool) -> Work[RowSet]: ...


class ColumnField(msgspec.Struct, frozen=True):
    index: ColumnIndex
    rows: Ranked

    def equal(self, operands: Sequence[Operand]) -> Work[RowSet]:
        # Not `list[Operand]()`, which takes 20 times as long.
        texts: list[Operand] = []
        numbers: list[Operand] = []
        booleans: list[bool] = []
        found: list[RowSet] = []
        if len(operands) > 1:
            yield _LOOK_UP_STEPS * len(operands)
        for operand in operands:
            value = operand.value
            if operand.is_empty:
                found.append((yield from self._of_kind(EMPTY)))
            elif isinstance(value, str):
                texts.append(operand)
            elif isinstance(value, bool):
                booleans.append(value)
            else:
                numbers.append(operand)
        if booleans:
            found.append(_values((yield from self.index.booleans()), booleans))
        if numbers:
            keys = [operand.number for operand in numbers]
            found.append(_values((yield from self.index.numbers()), keys))
        if texts:
            shown = yield from self.index.distinct_texts()
            found.append(_values(shown, [operand.value for operand in texts]))
            numeric = [each for each in texts if each.number is not None or each.serial is not None]
            if numeric:
                found += yield from self._equal_numbers(numeric)
        return found[0] if len(found) == 1 else any_of(found, self.rows)

    def within(self, bounds: Bounds, operand: Operand) -> Work[RowSet]:
        if operand.is_empty:
            return any_of((), self.rows)
        if isinstance(operand.value, bool):
            return _range((yield from self.index.booleans()), bounds, operand.value)
        if operand.number is not None:
            return _range((yield from self.index.numbers()), bounds, operand.number)
        cells = yield from self.index.keys()
        sets: list[RowSet] = []
        if cells.count(TEXT):
            texts = _range((yield from self.index.distinct_texts()), bounds, operand.value)
            if cells.count(NUMERAL, INTEGER, DOUBLE, BOOLEAN):
                texts = all_of((texts, (yield from self._of_kind(TEXT))), self.rows)
            sets.append(texts)
        if operand.serial is not None and cells.count(*NUMBERS):
            run = yield from self.index.dates()
            low, high = _date_bounds(run, operand.serial)
            sets.append(groups_of(run.ranked, bounds(low, high, len(run.keys))))
        return any_of(sets, self.rows)

    def containing(self, text: str) -> Work[RowSet]:
        part = text.casefold()
        if not part:
            return groups_of(self.rows, range(self.rows.groups))
        return Containing(self.whole, (yield from self.index.folded()), part)

    def filled(self, *, is_filled: bool) -> Work[RowSet]:
        filled = (TEXT, NUMERAL, INTEGER, DOUBLE, BOOLEAN)
        return (yield from self._of_kind(*(filled if is_filled else (EMPTY,))))

    @property
    def whole(self) -> range:
        """The places of all rows."""
        return range(1, self.rows.size)

    def _of_kind(self, *wanted: int) -> Work[RowSet]:
        cells = yield from self.index.keys()
        count = cells.count(*wanted)
        return OfKind(self.whole, cells.kinds, frozenset(wanted), count, count)

    def _equal_numbers(self, operands: Sequence[Operand]) -> Work[list[RowSet]]:
        """Numbers with the operand as plain notation, and dates of its time."""
        cells = yield from self.index.keys()
        found: list[RowSet] = []
        integers = [operand.integer for operand in operands if operand.integer is not None]
        doubles = [operand.double for operand in operands if operand.double is not None]
        for kind, plain in ((INTEGER, integers), (DOUBLE, doubles)):
            if plain and cells.count(kind):
                equal = _values((yield from self.index.numbers()), plain)
                found.append(all_of((equal, (yield from self._of_kind(kind))), self.rows))
        serials = [operand.serial for operand in operands if operand.serial is not None]
        if serials and cells.count(*NUMBERS):
            found.append((yield from _equal_dates((yield from self.index.dates()), serials)))
        return found


class RowIndexField(msgspec.Struct, frozen=True):
    """The row number, compared like a number cell."""

    table: Table

    @property
    def rows(self) -> Ranked:
        return self.table.rows

    def equal(self, operands: Sequence[Operand]) -> Work[RowSet]:
        yield len(operands)
        rows = {row for operand in operands if (row := _row(operand)) is not None}
        last_row = self.table.last_row
        return groups_of(self.rows, {row - 2 for row in rows if 2 <= row <= last_row})

    def within(self, bounds: Bounds, operand: Operand) -> Work[RowSet]:
        yield 0
        if operand.number is None:
            return any_of((), self.rows)
        ceiling, floor = math.ceil(operand.number), math.floor(operand.number)
        count = max(0, self.table.last_row - 1)
        low, high = min(max(ceiling - 2, 0), count), min(max(floor - 1, 0), count)
        return groups_of(self.rows, bounds(low, high, count))

    def containing(self, text: str) -> Work[RowSet]:
        yield 1
        return NumberContaining(range(1, self.rows.size), text.casefold())

    def filled(self, *, is_filled: bool) -> Work[RowSet]:
        yield 1
        return groups_of(self.rows, range(self.rows.groups if is_filled else 0))


def _values(run: Run, keys: Iterable[Any]) -> RowSet:
    return groups_of(run.ranked, {number for key in keys if (number := run.group(key)) is not None})


def _range(run: Run, bounds: Bounds, key: Any) -> RowSet:
    keys = run.keys
    low, high = bisect_left(keys, key), bisect_right(keys, key)
    return groups_of(run.ranked, bounds(low, high, len(keys)))


def _equal_dates(run: Run, serials: Sequence[float]) -> Work[RowSet]:
    """The dates within a millisecond of a serial date."""
    spans: list[range] = []
    for serial in sorted(serials):
        yield 2 * _LOOK_UP_STEPS
        low, high = _date_bounds(run, serial)
        if spans and low <= spans[-1].stop:
            low, high = spans[-1].start, max(high, spans.pop().stop)
        spans.append(range(low, high))
    if len(spans) == 1:
        return groups_of(run.ranked, spans[0])
    yield sum(map(len, spans))
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


Lookup = Callable[[Field, Sequence[Operand]], Work[RowSet]]


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


def _equal(field: Field, operands: Sequence[Operand]) -> Work[RowSet]:
    return field.equal(operands)


def _within(bounds: Bounds) -> Lookup:
    def lookup(field: Field, operands: Sequence[Operand]) -> Work[RowSet]:
        return field.within(bounds, operands[0])

    return lookup


def _containing(field: Field, operands: Sequence[Operand]) -> Work[RowSet]:
    return field.containing(str(operands[0].value))


def _filled(field: Field, operands: Sequence[Operand]) -> Work[RowSet]:
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
    Operator(
        "$lt",
        SCALAR,
        _within(lambda low, high, end: range(low)),
        "less",
        decide=_never_beyond(False),
    ),
    Operator(
        "$lte",
        SCALAR,
        _within(lambda low, high, end: range(high)),
        "less or equal",
        decide=_never_beyond(),
    ),
    Operator(
        "$gt",
        SCALAR,
        _within(lambda low, high, end: range(high, end)),
        "greater",
        decide=_never_beyond(True),
    ),
    Operator(
        "$gte",
        SCALAR,
        _within(lambda low, high, end: range(low, end)),
        "greater or equal",
        decide=_never_beyond(),
    ),
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
