"""Parts of a worksheet's rows: which places a condition is met at, in forms that need no walk.

Rules: a part is made without walking the column, knows about how large it is, and is asked either
for all its places or which of some given places belong to it, whichever is less work.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import msgspec

from gateway.rows.kept import Kept
from gateway.rows.ordered import Ranked

STEPS_OF_BISECT = 16
"""Looking a place up in a sorted list takes as long as putting so many into a set."""


class Part(Protocol):
    """The places of some rows; a place is a row less 1."""

    @property
    def count(self) -> int:
        """About how many places there are; what to plan with."""

    def places(self) -> Sequence[int]:
        """All of them, in any order."""

    def sift(self, places: Sequence[int]) -> Sequence[int]:
        """Those of the given places that belong to it, in the given order."""


class Texts(Protocol):
    """A text for each place."""

    def __getitem__(self, place: int, /) -> str: ...


class Stretch(msgspec.Struct, frozen=True):
    """Neighbouring rows."""

    range: range

    @property
    def count(self) -> int:
        return len(self.range)

    def places(self) -> Sequence[int]:
        return self.range

    def sift(self, places: Sequence[int]) -> Sequence[int]:
        low, high = self.range.start, self.range.stop
        return [place for place in places if low <= place < high]


class Span(msgspec.Struct, frozen=True):
    """Neighbouring groups of a rank: a range of values."""

    ranked: Ranked
    first: int
    last: int
    """One past the last group; `first` where there is none."""

    @property
    def count(self) -> int:
        return self.ranked.starts[self.last] - self.ranked.starts[self.first]

    def places(self) -> Sequence[int]:
        starts = self.ranked.starts
        return self.ranked.places[starts[self.first] : starts[self.last]]

    def sift(self, places: Sequence[int]) -> Sequence[int]:
        ranks, low, high = self.ranked.ranks, self.first, self.last
        return [place for place in places if low <= ranks[place] < high]


@dataclass(frozen=True)
class Hits:
    """Places looked up, as lists that may overlap, each ascending."""

    lists: tuple[Sequence[int], ...]

    @property
    def count(self) -> int:
        return sum(map(len, self.lists))

    @Kept
    def merged(self) -> Sequence[int]:
        """All places, ascending."""
        return self.lists[0] if len(self.lists) == 1 else sorted(self.members)

    @Kept
    def members(self) -> frozenset[int]:
        return frozenset(chain.from_iterable(self.lists))

    def places(self) -> Sequence[int]:
        return self.merged

    def sift(self, places: Sequence[int]) -> Sequence[int]:
        if len(places) * STEPS_OF_BISECT < self.count:
            lists = self.lists
            return [place for place in places if any(_holds(each, place) for each in lists)]
        members = self.members
        return [place for place in places if place in members]


class Scan(msgspec.Struct, frozen=True):
    """Where a text contains another."""

    whole: range
    texts: Texts
    part: str

    @property
    def count(self) -> int:
        return len(self.whole) // 2  # nothing is known

    def places(self) -> Sequence[int]:
        return self.sift(self.whole)

    def sift(self, places: Sequence[int]) -> Sequence[int]:
        texts, part = self.texts, self.part
        return [place for place in places if part in texts[place]]


class Outside(msgspec.Struct, frozen=True):
    """All rows but those of a part."""

    whole: range
    part: Part

    @property
    def count(self) -> int:
        return max(0, len(self.whole) - self.part.count)

    def places(self) -> Sequence[int]:
        return self.sift(self.whole)

    def sift(self, places: Sequence[int]) -> Sequence[int]:
        inside = self.part.sift(places)
        if not inside:
            return places
        members = frozenset(inside)
        return [place for place in places if place not in members]


class Both(msgspec.Struct, frozen=True):
    """What belongs to all of several parts, the smallest first."""

    parts: tuple[Part, ...]

    @property
    def count(self) -> int:
        return self.parts[0].count

    def places(self) -> Sequence[int]:
        return sifted(self.parts[0].places(), self.parts[1:])

    def sift(self, places: Sequence[int]) -> Sequence[int]:
        return sifted(places, self.parts)


@dataclass(frozen=True)
class Either:
    """What belongs to any of several parts."""

    whole: range
    parts: tuple[Part, ...]

    @property
    def count(self) -> int:
        return min(len(self.whole), sum(part.count for part in self.parts))

    @Kept
    def members(self) -> frozenset[int]:
        return frozenset(chain.from_iterable(part.places() for part in self.parts))

    def places(self) -> Sequence[int]:
        return [*self.members]

    def sift(self, places: Sequence[int]) -> Sequence[int]:
        if len(places) * len(self.parts) > sum(part.count for part in self.parts):
            members = self.members
            return [place for place in places if place in members]
        return self._sift_by_parts(places)

    def _sift_by_parts(self, places: Sequence[int]) -> Sequence[int]:
        """Ask each part for what the parts before it have not taken."""
        taken: set[int] = set()
        rest = places
        for part in self.parts:
            taken.update(part.sift(rest))
            rest = [place for place in rest if place not in taken]
        return [place for place in places if place in taken]


def sifted(places: Sequence[int], parts: Iterable[Part]) -> Sequence[int]:
    """The places that belong to all of the parts."""
    for part in parts:
        if not places:
            break
        places = part.sift(places)
    return places


def all_of(parts: Iterable[Part], whole: range) -> Part:
    """What belongs to all of the parts; ranges of one rank become one, and so do those of rows."""
    spans: dict[Ranked, Span] = {}
    others: list[Part] = []
    rows = whole
    for part in chain.from_iterable(map(parts_of, parts)):
        if isinstance(part, Span):
            known = spans.get(part.ranked)
            spans[part.ranked] = part if known is None else _narrowed(known, part)
        elif isinstance(part, Stretch):
            rows = range(max(rows.start, part.range.start), min(rows.stop, part.range.stop))
        else:
            others.append(part)
    if rows != whole:
        others.append(Stretch(rows))
    others += spans.values()
    if len(others) < 2:
        return others[0] if others else Stretch(whole)
    others.sort(key=_count)
    return others[0] if is_nothing(others[0]) else Both(tuple(others))


def any_of(parts: Iterable[Part], whole: range) -> Part:
    """What belongs to any of the parts; looked-up places become one part."""
    hits: list[Sequence[int]] = []
    others: list[Part] = []
    for part in parts:
        if isinstance(part, Stretch) and part.range == whole:
            return part
        if isinstance(part, Hits):
            hits += part.lists
        elif not is_nothing(part):
            others.append(part)
    if hits or not others:
        others.append(Hits(tuple(hits)))
    return others[0] if len(others) == 1 else Either(whole, tuple(others))


def parts_of(part: Part) -> tuple[Part, ...]:
    """The parts that all have to hold, the smallest first."""
    return part.parts if isinstance(part, Both) else (part,)


def is_nothing(part: Part) -> bool:
    """Whether a part is known to have no place; of what must be scanned it is not known."""
    return isinstance(part, Stretch | Span | Hits) and part.count == 0


def _narrowed(span: Span, other: Span) -> Span:
    first = max(span.first, other.first)
    return Span(span.ranked, first, max(first, min(span.last, other.last)))


def _count(part: Part) -> int:
    return part.count


def _holds(places: Sequence[int], place: int) -> bool:
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place
