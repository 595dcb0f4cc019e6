"""Sort order of a query: places read from an index in order, and a sort of the others."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import msgspec

from gateway.query.row_sets import Groups, RowSet
from gateway.table.ordered import Ranked, ascending, sorted_places
from gateway.table.steps import BLOCK, Work

_FIRST_BLOCK = 64


class Term(msgspec.Struct, frozen=True):
    """A rank to sort by; places in none of its groups are empty cells, last in both directions."""

    ranked: Ranked
    empties: Sequence[int] = ()
    descending: bool = False


class Source(msgspec.Struct, frozen=True):
    """Consecutive slices of indexed places; only `cut` copies."""

    segments: tuple[tuple[Sequence[int], int, int], ...]
    """A sequence, the start and the end of its slice."""

    @property
    def length(self) -> int:
        return sum(end - start for _, start, end in self.segments)

    def cut(self, start: int, end: int) -> Sequence[int]:
        """The places from `start` up to `end`, counted over all segments."""
        found: list[Sequence[int]] = []
        before = 0
        for places, low, high in self.segments:
            first, last = low + max(0, start - before), min(high, low + end - before)
            if first < last:
                found.append(places[first:last])
            before += high - low
        return found[0] if len(found) == 1 else [*chain.from_iterable(found)]

    def blocks(self, expected: float) -> Iterator[Sequence[int]]:
        """All places, in growing blocks; the first has about the expected length."""
        at, length, size = 0, self.length, int(min(max(expected, _FIRST_BLOCK), BLOCK))
        while at < length:
            yield self.cut(at, at + size)
            at += size
            size = min(at, BLOCK)


class Ordering(msgspec.Struct, frozen=True):
    """One or more terms, the most important first."""

    terms: tuple[Term, ...]

    @property
    def has_ties(self) -> bool:
        """True if other terms must order rows that are equal by the first one."""
        return len(self.terms) > 1

    def source(self, parts: Sequence[RowSet]) -> Work[tuple[Source, Sequence[RowSet]]]:
        """The places of one of the sets in the order of the first term, and the other sets.

        If no set is indexed in that order: all places, and all sets.
        """
        first = self.terms[0]
        ranked = first.ranked
        places = (yield from ranked.descending()) if first.descending else ranked.places
        for at, part in enumerate(parts):
            if not isinstance(part, Groups):
                continue
            others = [*parts[:at], *parts[at + 1 :]]
            if part.ranked is ranked and isinstance(part.numbers, range):
                low = ranked.starts[part.numbers.start] if part.numbers else 0
                high = low + part.count
                if first.descending:
                    low, high = len(places) - high, len(places) - low
                return Source(((places, low, high),)), others
            if isinstance(ranked.places, range) and len(part.numbers) == 1:  # ascending
                return (yield from _group(part, first)), others
        empties = first.empties
        return Source(((places, 0, len(places)), (empties, 0, len(empties)))), parts

    def sort(self, places: Sequence[int]) -> Work[Sequence[int]]:
        """Sort places by all terms; ties stay in worksheet order."""
        size = self.terms[0].ranked.size
        places = yield from ascending(places, size)
        for term in reversed(self.terms):
            places = yield from _sorted_by(term, places)
        return places

    def sort_ties(self, found: Sequence[int], skip: int, end: int) -> Work[Sequence[int]]:
        """The page of places ordered by the first term, with ties sorted by the others.

        The last group on the page must be complete.
        """
        page = found[skip:end]
        if not self.has_ties or not page:
            return page
        key = yield from self.position()
        low = bisect_left(found, key(page[0]), key=key)
        high = bisect_right(found, key(page[-1]), key=key)
        ordered = yield from self.sort(found[low:high])
        return ordered[skip - low : skip - low + len(page)]

    def position(self) -> Work[Callable[[int], int]]:
        """Position of a place's group by the first term; it ascends along its source."""
        first = self.terms[0]
        ranks, groups = (yield from first.ranked.ranks()), first.ranked.groups
        if not first.descending:
            return ranks.__getitem__
        return lambda place: groups if ranks[place] == groups else -ranks[place]


def _group(part: Groups, term: Term) -> Work[Source]:
    (number,) = part.numbers
    places, low = part.ranked.places, part.ranked.starts[number]
    if not term.descending:
        return Source(((places, low, low + part.count),))
    yield part.count
    return Source(((places[low : low + part.count][::-1], 0, part.count),))


def _sorted_by(term: Term, places: Sequence[int]) -> Work[Sequence[int]]:
    ranked = term.ranked
    if isinstance(ranked.places, range):  # all rows: the places are ascending
        return places[::-1] if term.descending else places
    ranks, nowhere = (yield from ranked.ranks()), ranked.groups
    filled, empty = array("I"), array("I")
    for start in range(0, len(places), BLOCK):
        block = places[start : start + BLOCK]
        yield 2 * len(block)
        filled.extend([place for place in block if ranks[place] != nowhere])
        empty.extend([place for place in block if ranks[place] == nowhere])
    if not term.descending:
        return (yield from sorted_places(filled, ranks.__getitem__)) + empty
    filled.reverse()  # twice, so that ties keep their order
    return (yield from sorted_places(filled, ranks.__getitem__))[::-1] + empty
