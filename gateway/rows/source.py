"""Places in the order that a query asks for, without sorting anything now."""

from collections.abc import Iterator, Sequence

import msgspec

from gateway.rows.index import Order
from gateway.rows.parts import Hits, Part, Span, Stretch

_LONGEST_STEP = 8_192


class Source(msgspec.Struct, frozen=True):
    """Pieces of kept sequences, one after the other; nothing is copied until it is cut out."""

    segments: tuple[tuple[Sequence[int], int, int], ...]
    """A sequence, and where the piece of it begins and ends."""

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
        return found[0] if len(found) == 1 else [place for part in found for place in part]

    def steps(self, expected: int) -> Iterator[Sequence[int]]:
        """All places, piece by piece: the first about as long as expected, then longer ones."""
        at, length, size = 0, self.length, min(max(64, expected), _LONGEST_STEP)
        while at < length:
            yield self.cut(at, at + size)
            at, size = at + size, min(2 * size, _LONGEST_STEP)


def rows_source(places: Sequence[int], *, descending: bool) -> Source:
    """Places that are ascending, in the order of the worksheet or against it."""
    return Source(((places[::-1] if descending else places, 0, len(places)),))


def column_source(order: Order, *, descending: bool) -> Source:
    """A whole column in its order, empty cells last."""
    ranked, empties = order.ranked, order.empties
    places = ranked.descending if descending else ranked.places
    return Source(((places, 0, len(places)), (empties, 0, len(empties))))


def span_source(order: Order, span: Span, *, descending: bool) -> Source:
    """The part of a column's order that a range of its numbers is; numbers come first in it."""
    ranked = order.ranked
    low, high = ranked.starts[span.first], ranked.starts[span.last]
    if not descending:
        return Source(((ranked.places, low, high),))
    end = len(ranked.places)
    return Source(((ranked.descending, end - high, end - low),))


def source_of_rows(part: Part, *, descending: bool) -> Source | None:
    """A part in the order of the worksheet, if it has that order already."""
    if isinstance(part, Stretch):
        return rows_source(part.range, descending=descending)
    if isinstance(part, Hits) and len(part.lists) == 1:
        return rows_source(part.merged, descending=descending)
    return None
