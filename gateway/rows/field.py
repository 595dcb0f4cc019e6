"""How a condition on one field becomes a part: for columns by their index, for `rowIndex` by sums.

Rules (the contract's *Comparison*): an operand is looked up where its kind of cell is kept; what
does not compare is met nowhere, and nothing raises for odd content.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from gateway.rows.cells import TOLERANCE_DAYS, plain_notation
from gateway.rows.index import ColumnIndex
from gateway.rows.kinds import NUMBER
from gateway.rows.ordered import Run
from gateway.rows.parts import Hits, Outside, Part, Scan, Span, Stretch, any_of
from gateway.rows.query import Operand, Operator

NOTHING = Hits(())

_EXACT_DOUBLES = 2**53
"""Below it an integer and the double equal to it have the same plain notation."""

Bounds = Callable[[int, int, int], tuple[int, int]]
_BOUNDS: Mapping[Operator, Bounds] = {
    "$lt": lambda low, high, end: (0, low),
    "$lte": lambda low, high, end: (0, high),
    "$gt": lambda low, high, end: (high, end),
    "$gte": lambda low, high, end: (low, end),
}
"""Which keys meet a range: `low` of them are below the operand, those up to `high` equal it."""

_TRUTHS_OF_RANGE: Mapping[Operator, Callable[[bool], tuple[bool, ...]]] = {
    "$lt": lambda truth: (False,) if truth else (),
    "$lte": lambda truth: (False, True) if truth else (False,),
    "$gt": lambda truth: () if truth else (True,),
    "$gte": lambda truth: (True,) if truth else (False, True),
}


class Field(Protocol):
    """Something that rows have and conditions name."""

    def equal(self, operands: Sequence[Operand]) -> Part:
        """Where the field equals any of the operands."""

    def within(self, operator: Operator, operand: Operand) -> Part:
        """Where the field is on one side of an operand, for the four operators of ranges."""

    def containing(self, text: str) -> Part:
        """Where the field displays a text, in whatever case."""

    def filled(self) -> Part:
        """Where the field is not empty."""


class ColumnField(msgspec.Struct, frozen=True):
    """A column of the worksheet."""

    index: ColumnIndex
    whole: range

    def equal(self, operands: Sequence[Operand]) -> Part:
        lists = [places for operand in operands for places in self._equal(operand) if len(places)]
        return Hits(tuple(lists))

    def within(self, operator: Operator, operand: Operand) -> Part:
        if operand.value is None or operand.value == "":
            return NOTHING
        if isinstance(operand.value, bool):
            truths = _TRUTHS_OF_RANGE[operator](operand.value)
            return Hits(tuple(self.index.truths[truth] for truth in truths))
        if operand.number is not None:
            return _span(self.index.numbers, operator, operand.number)
        words = _span(self.index.words, operator, operand.value)
        if operand.serial is None:
            return words
        dates = _span_of_dates(self.index.dates, operator, operand.serial)
        return any_of([words, dates], self.whole)

    def containing(self, text: str) -> Part:
        part = text.casefold()
        return Scan(self.whole, self.index.folded, part) if part else Stretch(self.whole)

    def filled(self) -> Part:
        empties = self.index.empties
        return Outside(self.whole, Hits((empties,))) if len(empties) else Stretch(self.whole)

    def _equal(self, operand: Operand) -> Iterable[Sequence[int]]:
        """The places where the cell equals the operand, as lists that may overlap."""
        value, index = operand.value, self.index
        if value is None or value == "":
            return [index.empties]
        if isinstance(value, bool):
            return [index.truths[value]]
        if not isinstance(value, str):
            return [_places_of_number(index, value)]
        found = [index.showing(value)]
        if operand.number is not None and index.kinds.has(NUMBER):
            found.append(self._spelled(value, operand.number))
        if operand.serial is not None:
            found.append(_same_moment(index.dates, operand.serial))
        return found

    def _spelled(self, text: str, number: float | int) -> Sequence[int]:
        """Number cells that are written like the text in plain notation."""
        kinds, values = self.index.kinds, self.index.values
        is_exact = abs(number) < _EXACT_DOUBLES
        if is_exact and plain_notation(number) != text:
            return ()
        cells = _places_of_number(self.index, number)
        if kinds.numerals:
            cells = [place for place in cells if kinds.codes[place] == NUMBER]
        if is_exact:
            return cells
        return [place for place in cells if plain_notation(_number(values[place])) == text]


class RowTexts:
    """What `rowIndex` displays at each place."""

    def __getitem__(self, place: int) -> str:
        return str(place + 1)


class RowIndexField(msgspec.Struct, frozen=True):
    """The number of the row itself: a number cell that displays it plainly."""

    whole: range

    def equal(self, operands: Sequence[Operand]) -> Part:
        rows = {row for operand in operands if (row := _row(operand)) is not None}
        places = sorted(row - 1 for row in rows if row - 1 in self.whole)
        return Hits((places,) if places else ())

    def within(self, operator: Operator, operand: Operand) -> Part:
        if operand.number is None:
            return NOTHING
        ceiling, floor = math.ceil(operand.number), math.floor(operand.number)
        first, stop = self.whole.start, self.whole.stop
        low = min(max(ceiling - 1, first), stop)
        high = min(max(floor, first), stop)
        bounds = _BOUNDS[operator](low - first, high - first, stop - first)
        return Stretch(self.whole[slice(*bounds)])

    def containing(self, text: str) -> Part:
        return Scan(self.whole, RowTexts(), text.casefold())

    def filled(self) -> Part:
        return Stretch(self.whole)


def _span(run: Run, operator: Operator, operand: Any) -> Part:
    keys = run.keys
    low, high = bisect_left(keys, operand), bisect_right(keys, operand)
    return Span(run.ranked, *_BOUNDS[operator](low, high, len(keys)))


def _span_of_dates(run: Run, operator: Operator, serial: float) -> Part:
    low, high = _moments(run, serial)
    return Span(run.ranked, *_BOUNDS[operator](low, high, len(run.keys)))


def _moments(run: Run, serial: float) -> tuple[int, int]:
    """The keys within a millisecond of a serial date: the first, and one past the last."""

    def distance(key: float) -> float:
        return key - serial

    low = bisect_left(run.keys, -TOLERANCE_DAYS, key=distance)
    return low, bisect_right(run.keys, TOLERANCE_DAYS, lo=low, key=distance)


def _same_moment(run: Run, serial: float) -> Sequence[int]:
    low, high = _moments(run, serial)
    places = Span(run.ranked, low, high).places()
    return places if high - low < 2 else sorted(places)


def _places_of_number(index: ColumnIndex, number: float | int) -> Sequence[int]:
    keys = index.numbers.keys
    at = bisect_left(keys, number)
    found = at < len(keys) and keys[at] == number
    return Span(index.numbers.ranked, at, at + 1).places() if found else ()


def _row(operand: Operand) -> int | None:
    """The row number that equals the operand: a whole number, or its plain notation."""
    if operand.number is None or operand.number != int(operand.number):
        return None
    row = int(operand.number)
    return row if not isinstance(operand.value, str) or operand.value == str(row) else None


def _number(value: object) -> float | int:
    return value if isinstance(value, int | float) else math.nan
