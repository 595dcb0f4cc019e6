"""Column index: lookup structures of one column, each built on first use.

Rules: a structure depends on the two renderings of one column only; it is complete before it is
used and never changes. `order` is the sort order of the API. Comparisons use the runs: numbers with
text that is a number, displayed texts in NFC by code point, date cells by their serial dates.
"""

import sys
from array import array
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, TypeVar

from gateway.table.cells import is_date_text, number_in
from gateway.table.folded import FoldedTexts
from gateway.table.ordered import Ranked, Run, make_run, sorted_places
from gateway.table.steps import (
    BLOCK,
    Work,
    blocks,
    shared,
    text_blocks,
)
from gateway.table.texts import ComposedTexts, as_texts, composed_texts

Cell = TypeVar("Cell")

EMPTY = 0
TEXT = 1
NUMERAL = 2
"""Text that is a number."""
INTEGER = 3
"""A number of the sheet that Google writes without a fraction."""
DOUBLE = 4
"""Any other number of the sheet."""
BOOLEAN = 5

NUMBERS = frozenset({INTEGER, DOUBLE})
"""The kinds of cells that hold a number."""

_KINDS: Mapping[type, int] = {
    str: TEXT, NoneType: TEXT, int: INTEGER, float: DOUBLE, bool: BOOLEAN,
}  # fmt: skip
"""The kind for the type of a typed value; `_refine` finds empty cells and numerals in TEXT."""

_CHARACTERS_OF_STEP = 16
"""Characters of a text parsed as a number in one step."""

_BOOLEANS: Mapping[str, bool] = {"FALSE": False, "TRUE": True}
_NUMBER_BYTES = 24
_BYTES_BEGUN = 12
"""Approximate memory of a partly built structure per row."""


@dataclass(frozen=True)
class Kinds:
    """The kind of the cell at each place of a column; its header counts as empty."""

    codes: bytearray
    counts: Counter[int]
    """The number of cells of each kind below the header."""
    numbers: Sequence[object]
    """The number at each place of a number or numeral; any object at other places."""

    def has(self, *kinds: int) -> bool:
        return any(map(self.counts.get, kinds))

    def count(self, *kinds: int) -> int:
        return sum(map(self.counts.__getitem__, kinds))

    def places(self, *kinds: int) -> Work[Sequence[int]]:
        """The places of the cells of these kinds, ascending."""
        count, codes = sum(map(self.counts.__getitem__, kinds)), self.codes
        if count == 0:
            return ()
        if count == len(codes) - 1:
            return range(1, len(codes))
        found = array("I")
        for start in range(0, len(codes), BLOCK):
            piece = codes[start : start + BLOCK]
            yield len(piece)
            found.extend(
                [place for place, code in enumerate(piece, start) if place and code in kinds]
            )
        return found


@dataclass(frozen=True)
class Order:
    """A column in sort order: the filled cells by rank, then the empty ones."""

    ranked: Ranked
    empties: Sequence[int]


@dataclass(frozen=True, eq=False)
class ColumnIndex:
    """A column of a typed table; place 0 is its header."""

    displayed: Sequence[object]
    typed: Sequence[object]
    size: int
    """The rows of the worksheet: one past the highest place."""

    @property
    def byte_count(self) -> int:
        """Approximate memory of the structures made so far, each counted once."""
        total, counted = 0, {id(self.displayed), id(self.typed)}
        parts: list[Any] = [*vars(self).values()]
        while parts:
            part = parts.pop()
            if isinstance(part, Run | Ranked | Order | Kinds):
                parts += vars(part).values()
            elif isinstance(part, Generator):  # partly built
                total += _BYTES_BEGUN * self.size
            elif id(part) not in counted and not isinstance(part, int | Counter):
                counted.add(id(part))
                total += sys.getsizeof(part)
                if isinstance(part, tuple) and part and isinstance(part[0], float):
                    total += _NUMBER_BYTES * len(part)
                elif isinstance(part, FoldedTexts | ComposedTexts):
                    total += part.byte_count
        return total

    @shared
    def texts(self) -> Work[Sequence[str]]:
        """The displayed text of each cell, in NFC."""
        texts = yield from as_texts(self.displayed)
        if len(texts) != self.size:
            texts = _as_long(texts, self.size, "")
        return (yield from composed_texts(texts))

    @shared
    def lengths(self) -> Work[tuple[int, int]]:
        """The number of characters of an average text, and of the longest."""
        texts, total, longest = (yield from self.texts()), 0, 0
        for start in range(0, len(texts), BLOCK):
            piece = texts[start : start + BLOCK]
            yield len(piece)
            lengths = [*map(len, piece)]
            total += sum(lengths)
            longest = max(longest, *lengths)
        return total // max(1, len(texts)), longest

    @shared
    def values(self) -> Work[Sequence[object]]:
        """The typed value of each cell."""
        if self.typed is self.displayed:
            return (yield from self.texts())
        is_whole = len(self.typed) == self.size
        return self.typed if is_whole else _as_long(self.typed, self.size, None)

    @shared
    def kinds(self) -> Work[Kinds]:
        texts = yield from self.texts()
        return (yield from make_kinds(texts, (yield from self.values())))

    @shared
    def folded(self) -> Work[FoldedTexts]:
        length, longest = yield from self.lengths()
        return FoldedTexts((yield from self.texts()), length, longest)

    @shared
    def numbers(self) -> Work[Run]:
        """Numbers, and text that is a number; its groups are the first groups of `order`."""
        keys = (yield from self._numbers_alone()).keys
        return Run(keys, (yield from self.order()).ranked)

    @shared
    def _numbers_alone(self) -> Work[Run]:
        kinds = yield from self.kinds()
        places = yield from kinds.places(INTEGER, DOUBLE, NUMERAL)
        keys = kinds.numbers
        if kinds.counts[INTEGER] and kinds.counts[DOUBLE]:
            keys = yield from _doubles(places, keys)
        return (yield from make_run(places, keys, self.size))

    @shared
    def distinct_texts(self) -> Work[Run]:
        """All cells that are not empty, by displayed text."""
        kinds, texts = (yield from self.kinds()), (yield from self.texts())
        places = yield from kinds.places(TEXT, NUMERAL, INTEGER, DOUBLE, BOOLEAN)
        length, _ = yield from self.lengths()
        return (yield from make_run(places, texts, self.size, length))

    @shared
    def dates(self) -> Work[Run]:
        """The number cells that display a date, by serial date."""
        kinds, texts = (yield from self.kinds()), (yield from self.texts())
        numbers = yield from kinds.places(INTEGER, DOUBLE)
        dates = array("I")
        for start in range(0, len(numbers), BLOCK):
            piece = numbers[start : start + BLOCK]
            yield 16 * len(piece)
            dates.extend([place for place in piece if is_date_text(texts[place])])
        if len(dates) == kinds.count(INTEGER, DOUBLE, NUMERAL):
            return (yield from self.numbers())
        return (yield from make_run(dates, kinds.numbers, self.size))

    @shared
    def booleans(self) -> Work[Run]:
        """Booleans, and the texts TRUE and FALSE."""
        kinds, texts = (yield from self.kinds()), (yield from self.texts())
        values = yield from self.values()
        found: dict[int, bool] = {}
        for start in range(0, self.size, BLOCK):
            codes = kinds.codes[start : start + BLOCK]
            yield 2 * len(codes)
            for place, code in enumerate(codes, start):
                if code == BOOLEAN:
                    found[place] = bool(values[place])
                elif code == TEXT and texts[place] in _BOOLEANS:
                    found[place] = _BOOLEANS[texts[place]]
        return (yield from make_run([*found], found, self.size))

    @shared
    def order(self) -> Work[Order]:
        """Numbers, then case-folded text, then booleans; then empty cells."""
        kinds = yield from self.kinds()
        numbers = (yield from self._numbers_alone()).ranked
        parts = [numbers] if len(numbers.places) else []
        if kinds.counts[TEXT]:
            parts.append((yield from self._folded_words(kinds)))
        if kinds.counts[BOOLEAN]:
            booleans = yield from kinds.places(BOOLEAN)
            values = yield from self.values()
            parts.append((yield from make_run(booleans, values, self.size)).ranked)
        ranked = parts[0] if len(parts) == 1 else (yield from _chained(parts, self.size))
        empties = yield from kinds.places(EMPTY)
        return Order(ranked, empties)

    def _folded_words(self, kinds: Kinds) -> Work[Ranked]:
        """Text by its case-folded form, then by code point."""
        length, _ = yield from self.lengths()
        if kinds.count(TEXT) == len(kinds.codes) - 1 - kinds.count(EMPTY):
            words = yield from self.distinct_texts()
        else:
            texts = yield from self.texts()
            places = yield from kinds.places(TEXT)
            words = yield from make_run(places, texts, self.size, length)
        folded: list[str] = []
        for block, characters in text_blocks(words.keys, 0, len(words.keys)):
            yield 4 * len(block) + characters // 16
            for key in words.keys[block.start : block.stop]:
                text = key.casefold()
                folded.append(key if text == key else text)
        groups = yield from sorted_places(range(len(folded)), folded.__getitem__, length)
        return (yield from _regrouped(words.ranked, groups))


def make_kinds(texts: Sequence[str], values: Sequence[object]) -> Work[Kinds]:
    """The kinds of a column from its displayed texts and typed values, both one for each row."""
    codes, counts = bytearray(), Counter[int]()
    numbers: list[object] = []
    for start in range(0, len(values), BLOCK):
        piece = values[start : start + BLOCK]
        yield len(piece)
        found = _codes(piece)
        numbers += piece
        if TEXT in found:
            for block, characters in text_blocks(texts, start, start + len(piece)):
                yield 2 * len(block) + characters // _CHARACTERS_OF_STEP
                for place, number in _refine(found, texts, piece, block, start):
                    numbers[place] = number
        if start == 0:
            found[0] = EMPTY
            counts[EMPTY] -= 1
        counts.update(found)
        codes += found
    return Kinds(codes, counts, tuple(numbers) if counts[NUMERAL] else values)


def _codes(values: Sequence[object]) -> bytearray:
    """The kinds according to the types of the values only."""
    types = set(map(type, values))
    if len(types) == 1:
        return bytearray([_KINDS[types.pop()]]) * len(values)
    return bytearray(map(_KINDS.__getitem__, map(type, values)))


def _refine(
    codes: bytearray, texts: Sequence[str], values: Sequence[object], block: range, start: int
) -> Sequence[tuple[int, float]]:
    """Mark the empty cells and the numerals among the text cells; returns the numerals' numbers.

    `codes` and `values` begin at the place `start`.
    """
    numerals: list[tuple[int, float]] = []
    for at, text in enumerate(texts[block.start : block.stop], block.start - start):
        if text == "":
            if values[at] is None or values[at] == "":
                codes[at] = EMPTY
        elif codes[at] == TEXT and "-" <= text < ":":  # it begins as a number does
            number = number_in(text)
            if number is not None:
                codes[at] = NUMERAL
                numerals.append((start + at, number))
    return numerals


def _as_long(cells: Sequence[Cell], size: int, blank: Cell) -> Sequence[Cell]:
    """A column cut or filled up to the length of the worksheet."""
    return (*cells[:size], *[blank] * (size - len(cells)))


def _doubles(places: Sequence[int], keys: Sequence[Any]) -> Work[Sequence[Any]]:
    """All numbers as floats, which sort faster than two types; unchanged if that is inexact."""
    doubles = list(keys)
    for start in range(0, len(places), BLOCK):
        piece = places[start : start + BLOCK]
        yield 4 * len(piece)
        for place in piece:
            number = keys[place]
            if not -(2**53) <= number <= 2**53:
                return keys
            doubles[place] = float(number)
    return doubles


def _regrouped(ranked: Ranked, groups: Sequence[int]) -> Work[Ranked]:
    places, starts = array("I"), array("I", [0])
    for start in range(0, len(groups), BLOCK):
        piece = groups[start : start + BLOCK]
        yield 4 * len(piece)
        for group in piece:
            places.extend(ranked.places[ranked.starts[group] : ranked.starts[group + 1]])
            starts.append(len(places))
    is_distinct = len(starts) == len(places) + 1
    return Ranked(places, range(len(starts)) if is_distinct else starts, ranked.size)


def _chained(parts: Sequence[Ranked], size: int) -> Work[Ranked]:
    places, starts = array("I"), array("I", [0])
    for ranked in parts:
        before = len(places)
        for block in blocks(1, len(ranked.starts)):
            yield 2 * len(block)
            starts.extend([before + ranked.starts[group] for group in block])
        places.extend(ranked.places)
    return Ranked(places, starts, size)
