"""Column index: lookup structures of one column, each built on first use.

Rules: a structure depends on the two renderings of one column only; it is complete before it is
used and never changes. All are made of the kinds and keys of the cells (`cells.cell_keys`) and of
the displayed texts in NFC. `order` is the sort order of the API. Comparisons use the runs: numbers
with text that is a number, displayed texts by code point, date cells by their serial dates.
"""

import sys
from array import array
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gateway.table.cells import (
    BOOLEAN,
    DOUBLE,
    EMPTY,
    INTEGER,
    NUMERAL,
    TEXT,
    cell_keys,
    is_date_text,
)
from gateway.table.ordered import Ranked, Run, make_run, picked, sorted_places
from gateway.table.steps import BLOCK, Work, blocks, shared, text_blocks
from gateway.table.texts import ComposedTexts, FoldedTexts, as_texts, composed_texts
from gateway.table.typed import TypedColumn, typed_column

Cell = TypeVar("Cell")

_CHARACTERS_OF_STEP = 16
"""Characters of a text parsed as a number in one step."""

_BOOLEANS: Mapping[object, bool] = {"FALSE": False, "TRUE": True, False: False, True: True}
"""The boolean of a key of a text or boolean cell."""

_NUMBER_BYTES = 24
_BYTES_BEGUN = 12
"""Approximate memory of a partly built structure per row."""


@dataclass(frozen=True)
class Keys:
    """The kind and the key of the cell at each place of a column; its header counts as empty."""

    kinds: bytearray
    keys: Sequence[Any]
    counts: Counter[int]
    """The number of cells of each kind below the header."""

    def count(self, *kinds: int) -> int:
        return sum(map(self.counts.__getitem__, kinds))

    def places(self, *kinds: int) -> Work[Sequence[int]]:
        """The places of the cells of these kinds, ascending."""
        count, codes = self.count(*kinds), self.kinds
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
            if isinstance(part, Run | Ranked | Order | Keys):
                parts += vars(part).values()
            elif isinstance(part, Generator):  # partly built
                total += _BYTES_BEGUN * self.size
            elif id(part) not in counted and not isinstance(part, int | Counter):
                counted.add(id(part))
                total += sys.getsizeof(part)
                if isinstance(part, tuple) and part and isinstance(part[0], float):
                    total += _NUMBER_BYTES * len(part)
                elif isinstance(part, FoldedTexts | ComposedTexts | TypedColumn):
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
    def keys(self) -> Work[Keys]:
        """The kinds and keys of the cells; the keys are the typed values if none differs."""
        values = self.typed
        if values is self.displayed:
            values = yield from self.texts()
        elif len(values) != self.size:
            values = _as_long(values, self.size, None)
        kinds, keys, is_typed = bytearray([EMPTY]), [*values[:1]], True
        for block in blocks(1, self.size):
            piece = values[block.start : block.stop]
            yield len(piece)
            found = cell_keys((), piece)
            if TEXT not in found[0]:
                kinds += found[0]
                keys += found[1]
                continue
            texts = yield from self.texts()
            for part, characters in text_blocks(texts, block.start, block.stop):
                yield 2 * len(part) + characters // _CHARACTERS_OF_STEP
                found = cell_keys(texts[part.start : part.stop], values[part.start : part.stop])
                kinds += found[0]
                keys += found[1]
            is_typed = is_typed and keys[block.start :] == [*piece]
        counts = Counter({kind: kinds.count(kind, 1) for kind in range(BOOLEAN + 1)})
        return Keys(kinds, values if is_typed else tuple(keys), counts)

    @shared
    def typed_cells(self) -> Work[TypedColumn]:
        """The values of the cells in typed answers."""
        return (yield from typed_column(self.displayed, self.typed))

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
        cells = yield from self.keys()
        places, keys = (yield from cells.places(INTEGER, DOUBLE, NUMERAL)), cells.keys
        if cells.count(INTEGER) and cells.count(DOUBLE):
            keys = yield from _doubles(places, keys)
        return (yield from make_run(places, keys, self.size))

    @shared
    def distinct_texts(self) -> Work[Run]:
        """All cells that are not empty, by displayed text."""
        cells, texts = (yield from self.keys()), (yield from self.texts())
        places = yield from cells.places(TEXT, NUMERAL, INTEGER, DOUBLE, BOOLEAN)
        length, _ = yield from self.lengths()
        return (yield from make_run(places, texts, self.size, length))

    @shared
    def dates(self) -> Work[Run]:
        """The number cells that display a date, by serial date."""
        cells, texts = (yield from self.keys()), (yield from self.texts())
        numbers = yield from cells.places(INTEGER, DOUBLE)
        dates = array("I")
        for start in range(0, len(numbers), BLOCK):
            piece = numbers[start : start + BLOCK]
            yield 16 * len(piece)
            dates.extend([place for place in piece if is_date_text(texts[place])])
        if len(dates) == cells.count(INTEGER, DOUBLE, NUMERAL):
            return (yield from self.numbers())
        return (yield from make_run(dates, cells.keys, self.size))

    @shared
    def booleans(self) -> Work[Run]:
        """Booleans, and the texts TRUE and FALSE."""
        cells = yield from self.keys()
        places = yield from cells.places(TEXT, BOOLEAN)
        found: dict[int, bool] = {}
        for start in range(0, len(places), BLOCK):
            piece = places[start : start + BLOCK]
            yield 2 * len(piece)
            for place, key in zip(piece, picked(cells.keys, piece), strict=True):
                if key in _BOOLEANS:
                    found[place] = _BOOLEANS[key]
        return (yield from make_run([*found], found, self.size))

    @shared
    def order(self) -> Work[Order]:
        """Numbers, then text by its case-folded form and by code point, then booleans; then empty
        cells."""
        cells = yield from self.keys()
        numbers = (yield from self._numbers_alone()).ranked
        parts = [numbers] if len(numbers.places) else []
        if cells.count(TEXT):
            length, _ = yield from self.lengths()
            if cells.count(NUMERAL, INTEGER, DOUBLE, BOOLEAN):
                places = yield from cells.places(TEXT)
                words = yield from make_run(places, cells.keys, self.size, length)
            else:
                words = yield from self.distinct_texts()
            folded: list[str] = []
            for block, characters in text_blocks(words.keys, 0, len(words.keys)):
                yield 4 * len(block) + characters // 16
                for key in words.keys[block.start : block.stop]:
                    text = key.casefold()
                    folded.append(key if text == key else text)
            groups = yield from sorted_places(range(len(folded)), folded, length)
            parts.append((yield from _regrouped(words.ranked, groups)))
        if cells.count(BOOLEAN):
            places = yield from cells.places(BOOLEAN)
            parts.append((yield from make_run(places, cells.keys, self.size)).ranked)
        ranked = parts[0] if len(parts) == 1 else (yield from _chained(parts, self.size))
        empties = yield from cells.places(EMPTY)
        return Order(ranked, empties)


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
