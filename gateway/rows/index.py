"""What is kept of one column so that queries need not walk it, each part made on first use.

Rules: pure functions of the two halves of one column, complete before they are seen, never changed.
The contract's *Order* is `order`; its *Comparison* is spread over the runs: numbers with text that
is a number, texts by code point, date cells by their serial dates, equal texts by hash.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar, cast

from gateway.rows.cells import is_date_text
from gateway.rows.kept import Kept
from gateway.rows.kinds import BOOLEAN, EMPTY, NUMBER, NUMERAL, TEXT, Kinds, make_kinds
from gateway.rows.ordered import PIECE, Ranked, Run, make_run, picked, sorted_places

Cell = TypeVar("Cell")

_TRUTHS: Mapping[str, bool] = {"FALSE": False, "TRUE": True}


@dataclass(frozen=True)
class Order:
    """A column in the contract's order: what is filled by rank, then what is empty."""

    ranked: Ranked
    empties: Sequence[int]


@dataclass(frozen=True, eq=False)
class ColumnIndex:
    """A column of a typed table; places count from 0, which is its header."""

    displayed: Sequence[object]
    typed: Sequence[object]
    size: int
    """The rows of the worksheet: one past the highest place."""

    @Kept
    def texts(self) -> Sequence[str]:
        """What each cell displays."""
        for start in range(0, len(self.displayed), PIECE):
            if set(map(type, self.displayed[start : start + PIECE])) != {str}:
                texts = [cell if isinstance(cell, str) else "" for cell in self.displayed]
                return _as_long(texts, self.size, "")
        return _as_long(cast(Sequence[str], self.displayed), self.size, "")

    @Kept
    def values(self) -> Sequence[object]:
        """What each cell holds."""
        return self.texts if self.typed is self.displayed else _as_long(self.typed, self.size, None)

    @Kept
    def kinds(self) -> Kinds:
        return make_kinds(self.texts, self.values)

    @Kept
    def empties(self) -> Sequence[int]:
        return self.kinds.places(EMPTY)

    @Kept
    def numbers(self) -> Run:
        """Numbers, and text that is a number."""
        return make_run(self.kinds.places(NUMBER, NUMERAL), self._number_keys(), self.size)

    @Kept
    def words(self) -> Run:
        """Text that is no number, by code point."""
        return make_run(self.kinds.places(TEXT), self.texts, self.size)

    @Kept
    def dates(self) -> Run:
        """The numbers that display a date."""
        if not self.kinds.has(NUMBER):
            return make_run((), (), self.size)
        texts = self.texts
        dates = [place for place in self.kinds.places(NUMBER) if is_date_text(texts[place])]
        if len(dates) == len(self.kinds.places(NUMBER, NUMERAL)):
            return self.numbers
        return make_run(dates, self.values, self.size)

    @Kept
    def alike(self) -> Mapping[str, int | list[int]]:
        """The place or places at which each text is displayed; not of the empty text."""
        alike: dict[str, int | list[int]] = {}
        for place, text in enumerate(islice(self.texts, 1, None), 1):
            first = alike.setdefault(text, place)
            if first is place:  # the text is new
                continue
            if isinstance(first, list):
                first.append(place)
            else:
                alike[text] = [first, place]
        alike.pop("", None)
        return alike

    @Kept
    def folded(self) -> Sequence[str]:
        """The texts without regard to case; a text that folding leaves alone is shared."""
        return [
            text if (folded := text.casefold()) == text else folded
            for text in islice(self.texts, self.size)
        ]

    @Kept
    def truths(self) -> Mapping[bool, Sequence[int]]:
        """Where booleans stand, and the texts TRUE and FALSE."""
        places: dict[bool, list[int]] = {False: [], True: []}
        for place in self.kinds.places(BOOLEAN):
            places[bool(self.values[place])].append(place)
        codes = self.kinds.codes
        for text, truth in _TRUTHS.items():
            places[truth] += [place for place in self.showing(text) if codes[place] == TEXT]
        return {truth: sorted(found) for truth, found in places.items()}

    @Kept
    def order(self) -> Order:
        """Numbers, then text without regard to case, then booleans; then empty cells."""
        parts = [self.numbers.ranked, self._folded_words(), self._booleans()]
        filled = [ranked for ranked in parts if ranked.groups]
        ranked = filled[0] if len(filled) == 1 else _chained(filled, self.size)
        return Order(ranked, self.empties)

    def showing(self, text: str) -> Sequence[int]:
        """The places at which a text (not the empty one) is displayed, ascending."""
        places = self.alike.get(text, ())
        return (places,) if isinstance(places, int) else places

    def _number_keys(self) -> Sequence[object]:
        """The numbers at their places; what stands elsewhere is not looked at."""
        kinds = self.kinds
        if kinds.types == {int, float}:
            return _doubles(self.values)
        if not kinds.numerals:
            return self.values
        keys = list(self.values)
        for place, number in kinds.numerals.items():
            keys[place] = number
        return keys

    def _folded_words(self) -> Ranked:
        """Text without regard to case, then by code point."""
        words = self.words
        folded = [key.casefold() for key in words.keys]
        groups = sorted_places(range(len(folded)), folded)
        if all(group == at for at, group in enumerate(groups)):
            return words.ranked
        return _regrouped(words.ranked, groups)

    def _booleans(self) -> Ranked:
        kinds, values = self.kinds, self.values
        return make_run(kinds.places(BOOLEAN), values, self.size).ranked


def _as_long(cells: Sequence[Cell], size: int, blank: Cell) -> Sequence[Cell]:
    """A column cut or filled up to the length of the worksheet."""
    if len(cells) == size:
        return cells
    return [*cells[:size], *[blank] * (size - len(cells))]


def _doubles(values: Sequence[Any]) -> Sequence[Any]:
    """All numbers as floats, for one type sorts faster than two; as they are if that is inexact."""
    doubles = [0.0]
    for start in range(1, len(values), PIECE):
        piece = [*map(float, values[start : start + PIECE])]
        if max(map(abs, piece)) > 2**53:
            return values
        doubles += piece
    return doubles


def _regrouped(ranked: Ranked, groups: Sequence[int]) -> Ranked:
    """The groups in another order."""
    if ranked.groups == len(ranked.places):
        places = array("I", picked(ranked.places, groups))
        return Ranked(places, ranked.starts, ranked.size)
    places, starts = array("I"), array("I", [0])
    for group in groups:
        places += ranked.places[ranked.starts[group] : ranked.starts[group + 1]]  # type: ignore
        starts.append(len(places))
    return Ranked(places, starts, ranked.size)


def _chained(parts: Sequence[Ranked], size: int) -> Ranked:
    places, starts = array("I"), array("I", [0])
    for ranked in parts:
        starts.extend(start + len(places) for start in islice(ranked.starts, 1, None))
        places.extend(ranked.places)
    return Ranked(places, starts, size)
