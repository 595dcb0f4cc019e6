"""Conditions of `where`: operators, the rows that they match, and what is always or never true.

Rules:
- An operator is one entry of `OPERATORS`. The parser, the evaluator and `/openapi.json` use this
  table. Other modules know only `EQUAL` by name, the operator of a plain value.
- A field is a column with its index, or `rowIndex`. A look-up is a plain function on existing
  indexes. Its time depends on the number of operands, not on the number of rows.
- A cell equals an operand if it has the operand's value, or displays the operand's text. `$lt` and
  `$gt` split the cells of the operand's class (such as numbers) at one position of the sort order,
  and match no equal cells. So `$lt`, `$eq` and `$gt` divide a class as `order` sorts it.
- An operand that cannot be compared matches no row. No cell raises an error.
- A write by filter must not match all rows by accident, through empty input such as `$text: ""` or
  `$nin: []`. `verdict` finds conditions that are always or never true. Each operator decides this
  for its operands (`Operator.decide`), and `verdict` combines the results.
- A range of `rowIndex` counts as a condition that depends on the row, and so does `$exists`. A
  client can use them to match all rows deliberately. Other conditions on `rowIndex` are decided as
  for a cell that always has a number of 2 or more.
- `$or` of `$exists: true` and `$exists: false` matches all rows, but also counts as a condition
  that depends on the row, because no empty input leads to it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, final

import msgspec

from gateway.query.row_sets import (
    Complement,
    Containing,
    NumberContaining,
    OfKind,
    RowSet,
    all_of,
    any_of,
    groups_of,
)
from gateway.table.cells import BOOLEAN, CLASS, EMPTY, FILLED, NUMBER, TEXT, composed, text_key
from gateway.table.header import ROW_INDEX
from gateway.table.index import ColumnIndex
from gateway.table.ordered import Ranked
from gateway.table.table import FIRST_DATA_ROW, Table

Scalar = str | int | float | bool | None


class Operand(msgspec.Struct, frozen=True):
    """Value in a condition, parsed for comparison with cells."""

    value: Scalar
    """Value in the request. A text is in NFC, like the texts of cells."""
    kind: int
    """First kind of the value's class, such as `NUMBER` or `TEXT` (`gateway.table.cells`)."""
    key: Any = None
    """Sort key of the value in its class. The key of a text is the case-folded text."""
    text: str = ""
    """Text of a text value, or "" for other values."""

    @property
    def is_empty(self) -> bool:
        """True if the operand equals empty cells."""
        return self.kind == EMPTY

    @property
    def number(self) -> float | None:
        """Number that the value is or that a text such as "5" represents, or None."""
        return self.key if self.kind == NUMBER else None


# `isinstance` takes long for a struct of another class. So conditions are final classes, and `type`
# compares them.
@final
class Comparison(msgspec.Struct, frozen=True):
    field: str
    operator: str
    """Name of an operator in `gateway.query.operators.OPERATORS`."""
    operands: tuple[Operand, ...]
    """One operand, or the distinct operands of a list."""


@final
class AllOf(msgspec.Struct, frozen=True):
    conditions: tuple["Condition", ...]


@final
class AnyOf(msgspec.Struct, frozen=True):
    conditions: tuple["Condition", ...]


@final
class Negation(msgspec.Struct, frozen=True):
    condition: "Condition"


Condition = Comparison | AllOf | AnyOf | Negation


def make_operands(values: Iterable[Scalar]) -> tuple[Operand, ...]:
    unique = dict.fromkeys(
        (isinstance(value, bool), None if value == "" else value) for value in values
    )
    return tuple(make_operand(value) for _, value in unique)


def make_operand(value: Scalar) -> Operand:
    if type(value) is int or type(value) is float:
        return Operand(value, NUMBER, value)
    if value is None or value == "":
        return Operand(value, EMPTY)
    if isinstance(value, str):
        value = composed(value)
        kind, key = text_key(value)
        return Operand(value, CLASS[kind], value.casefold() if kind == TEXT else key, value)
    return Operand(value, BOOLEAN, value)


def comparisons(condition: Condition | None) -> list[Comparison]:
    """Returns all comparisons in a condition, from left to right."""
    found: list[Comparison] = []
    left = [] if condition is None else [condition]
    while left:
        each = left.pop()
        if type(each) is Comparison:
            found.append(each)
        elif type(each) is Negation:
            left.append(each.condition)
        else:
            left += reversed(each.conditions)
    return found


class Field(Protocol):
    """Field of a condition. Each method returns the rows that match, without the header.

    Each method raises Unbuilt if an index is missing.
    """

    def equal(self, operands: Sequence[Operand]) -> RowSet: ...

    def within(self, operand: Operand, *, is_above: bool, has_equal: bool) -> RowSet:
        """Rows whose cell has the operand's class and is greater than the operand.

        With `is_above` False, rows whose cell is less. `has_equal` adds the rows that are equal.
        """

    def containing(self, text: str) -> RowSet:
        """Rows whose displayed text contains `text`, ignoring case."""

    def filled(self, *, is_filled: bool) -> RowSet: ...


class ColumnField(msgspec.Struct, frozen=True):
    index: ColumnIndex
    rows: Ranked

    def equal(self, operands: Sequence[Operand]) -> RowSet:
        """Rows whose cell has the value of an operand, or displays the operand's text."""
        # Not `set[int]()`, which takes 20 times as long.
        groups: set[int] = set()
        displayed: set[int] = set()
        found: list[RowSet] = []
        has_odd = self.index.ready_keys.odd
        for operand in operands:
            if operand.kind == EMPTY:
                found.append(self._of_kind(EMPTY))
                continue
            order = self.index.ready_order
            segment = order.segments.get(operand.kind)
            if segment is not None:
                groups.update(segment.find(operand.key, operand.text)[1])
            if has_odd and operand.text:
                displays = self.index.ready_displays
                shown = displays.find(operand.text)
                if shown is not None and displays.are_whole[shown]:
                    groups.add(displays.stands[shown])
                elif shown is not None:
                    displayed.add(shown)
        if groups:
            found.append(groups_of(order.ranked, groups))
        if displayed:
            found.append(groups_of(displays.run.ranked, displayed))
        return found[0] if len(found) == 1 else any_of(found, self.rows)

    def within(self, operand: Operand, *, is_above: bool, has_equal: bool) -> RowSet:
        """Rows whose cell has the operand's class and sorts after or before the operand.

        `is_above` means after. `has_equal` adds the rows that are equal. If cells of another class
        display a text, such as the number 5 for `$5.00`, the operand has the class and the position
        of the lowest of these cells. So has a number, date or clock if the column has no cell of
        its class. Otherwise the operand has the position of its value. If no cell has this value,
        but cells of the operand's class display its text, it has the position of the lowest of
        these cells.
        """
        if operand.kind == EMPTY:
            return any_of((), self.rows)
        order, shown, at = self.index.ready_order, None, 0
        segment = order.segments.get(operand.kind)
        members: list[int] = []
        if segment is not None:
            at, members = segment.find(operand.key, operand.text)
        if operand.text and self.index.ready_keys.odd:
            displays = self.index.ready_displays
            number = displays.find(operand.text)
            if number is not None:
                stand = displays.stands[number]
                is_own = segment is not None and segment.first <= stand < segment.end
                if not is_own and (segment is None or operand.kind == TEXT):
                    segment, at, members, is_own = order.segment_of(stand), stand, [], True
                elif is_own and not members:
                    at = stand
                if not displays.are_whole[number]:
                    shown = groups_of(displays.run.ranked, {number})
                elif is_own:
                    members = sorted({*members, stand})
        if segment is None:
            return any_of((), self.rows)
        span = range(at, segment.end) if is_above else range(segment.first, at)
        if not members and shown is None:
            return groups_of(order.ranked, span)
        spans = _with(span, members) if has_equal else _without(span, members)
        sets = [*map(partial(groups_of, order.ranked), spans)]
        found = sets[0] if len(sets) == 1 else any_of(sets, self.rows)
        if shown is None:
            return found
        if not has_equal:
            return all_of((found, Complement(self.whole, shown)), self.rows)
        equal = all_of((shown, self._of_kind(*segment.kinds)), self.rows)
        return any_of((found, equal), self.rows)

    def containing(self, text: str) -> RowSet:
        part = text.casefold()
        if not part:
            return groups_of(self.rows, range(self.rows.groups))
        return Containing(self.whole, self.index.ready_folded, part)

    def filled(self, *, is_filled: bool) -> RowSet:
        return self._of_kind(*(FILLED if is_filled else (EMPTY,)))

    @property
    def whole(self) -> range:
        """Row positions of all data rows."""
        return range(1, self.rows.size)

    def _of_kind(self, *wanted: int) -> RowSet:
        cells = self.index.ready_keys
        count = sum(map(cells.counts.__getitem__, wanted))
        return OfKind(self.whole, cells.kinds, frozenset(wanted), count, count)


class RowIndexField(msgspec.Struct, frozen=True):
    """Field `rowIndex`: the row number, compared like a cell with a number."""

    table: Table

    def equal(self, operands: Sequence[Operand]) -> RowSet:
        numbers = {operand.number for operand in operands if operand.number is not None}
        first, last_row = self.table.header.row + 1, self.table.last_row
        rows = {int(number) for number in numbers if number == int(number)}
        found = {row - first for row in rows if first <= row <= last_row}
        return groups_of(self.table.rows, found)

    def within(self, operand: Operand, *, is_above: bool, has_equal: bool) -> RowSet:
        rows = self.table.rows
        if operand.number is None:
            return any_of((), rows)
        ceiling, floor = math.ceil(operand.number), math.floor(operand.number)
        header_row = self.table.header.row
        count = max(0, self.table.last_row - header_row)
        at = ceiling - 1 - header_row if is_above is has_equal else floor - header_row
        at = min(max(at, 0), count)
        return groups_of(rows, range(at, count) if is_above else range(at))

    def containing(self, text: str) -> RowSet:
        whole = range(1, self.table.size)
        return NumberContaining(whole, text.casefold(), self.table.header.row)

    def filled(self, *, is_filled: bool) -> RowSet:
        rows = self.table.rows
        return groups_of(rows, range(rows.groups if is_filled else 0))


def _without(span: range, groups: Sequence[int]) -> list[range]:
    start = span.start
    spans: list[range] = []
    for group in groups:
        if start <= group < span.stop:
            if start < group:
                spans.append(range(start, group))
            start = group + 1
    spans.append(range(start, max(start, span.stop)))
    return spans


def _with(span: range, groups: Sequence[int]) -> list[range]:
    """Add group numbers to a range. A number that is not adjacent becomes a separate range."""
    start, stop = span.start, span.stop
    spans: list[range] = []
    for group in groups:
        if group == stop:
            stop += 1
        elif group == start - 1:
            start -= 1
        elif not start <= group < stop:
            spans.append(range(group, group + 1))
    return [range(start, stop), *spans]


Lookup = Callable[[Field, Sequence[Operand]], RowSet]


class OperandShape(msgspec.Struct, frozen=True, kw_only=True):
    """JSON type of an operand: a scalar of one type, a scalar of any type, or a list of scalars."""

    is_list: bool = False
    python_type: type = object
    json_type: str | None = None
    """Name of `python_type` in JSON Schema, or None for any scalar."""
    noun: str = ""
    """Name of `python_type` in an error message, or "" for any scalar."""


SCALAR = OperandShape()
SCALARS = OperandShape(is_list=True)
TEXT_OPERAND = OperandShape(python_type=str, json_type="string", noun="a string")
FLAG = OperandShape(python_type=bool, json_type="boolean", noun="true or false")


def _depends(_operands: Sequence[Operand]) -> bool | None:
    return None


class Operator(msgspec.Struct, frozen=True):
    name: str
    operand: OperandShape
    lookup: Lookup
    description: str
    """Description in `/openapi.json` and in error messages."""
    is_negated: bool = False
    """True if the operator matches the rows that `lookup` does not find."""
    decide: Callable[[Sequence[Operand]], bool | None] = _depends
    """Function of the operands that returns True if `lookup` always finds all rows.

    The function returns False if `lookup` never finds a row, or None if the cells decide.
    """
    aliases: tuple[str, ...] = ()


def _equal(field: Field, operands: Sequence[Operand]) -> RowSet:
    return field.equal(operands)


def _within(*, is_above: bool, has_equal: bool) -> Lookup:
    def lookup(field: Field, operands: Sequence[Operand]) -> RowSet:
        return field.within(operands[0], is_above=is_above, has_equal=has_equal)

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
    """Returns the `decide` function of a range operator.

    An empty operand matches no row. A boolean in `ends` matches no row, because no boolean is less
    than false or greater than true.
    """

    def decide(operands: Sequence[Operand]) -> bool | None:
        operand = operands[0]
        is_end = isinstance(operand.value, bool) and operand.value in ends
        return False if operand.is_empty or is_end else None

    return decide


_LESS = _within(is_above=False, has_equal=False)
_AT_MOST = _within(is_above=False, has_equal=True)
_GREATER = _within(is_above=True, has_equal=False)
_AT_LEAST = _within(is_above=True, has_equal=True)

_UNEQUAL = "not equal; an empty cell equals only null"
_CONTAINING = "contains this text, in upper or lower case"
_FILLED = "true: the cell is not empty; false: it is empty"

_TABLE = (
    Operator("$eq", SCALAR, _equal, "equal"),
    Operator("$ne", SCALAR, _equal, _UNEQUAL, is_negated=True, aliases=("$neq",)),
    Operator("$lt", SCALAR, _LESS, "less", decide=_never_beyond(False)),
    Operator("$lte", SCALAR, _AT_MOST, "less or equal", decide=_never_beyond()),
    Operator("$gt", SCALAR, _GREATER, "greater", decide=_never_beyond(True)),
    Operator("$gte", SCALAR, _AT_LEAST, "greater or equal", decide=_never_beyond()),
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
    """True if a condition matches every row, False if it matches no row, None if cells decide."""
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
