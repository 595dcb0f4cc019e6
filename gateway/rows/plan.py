"""How the rows of a query are found: by walking them in order, or by gathering and sorting them.

Rules: a plan is made from what the parts of a condition know about their sizes, and never decides
what the answer is. Where the condition is a range of the column that orders, or there is none, the
page is cut out of what is kept; else either the order is walked until the page is full, or the
smallest part is gathered, sifted by the others and sorted.
"""

from collections.abc import Sequence

import msgspec

from gateway.rows.ordering import Ordering
from gateway.rows.parts import Part, parts_of, sifted
from gateway.rows.source import Source

_SORTING = 4
"""Putting a place into order takes as long as sifting so many."""


class Want(msgspec.Struct, frozen=True):
    """A page: the places from `skip` up to `end`, and perhaps how many there are in all."""

    skip: int
    end: int
    has_total: bool = False


class Found(msgspec.Struct, frozen=True):
    """The places of a page, whether more follow, and how many there are in all, if wanted."""

    places: Sequence[int]
    has_next: bool
    total: int | None = None


class Plan(msgspec.Struct, frozen=True):
    """Places in the order of the first term, the parts that sift them, and what that may cost."""

    ordering: Ordering
    want: Want
    source: Source
    rest: tuple[Part, ...]
    part: Part | None
    """All conditions together."""

    @property
    def expected_steps(self) -> int:
        """About how many places the walk passes before the page is full."""
        length = self.source.length
        if self.want.has_total:
            return length
        needed = self.want.end + 1 + self.ordering.rows_alike
        share = share_of(self.rest, len(self.ordering.whole))
        return length if share <= 0 else min(length, int(needed / share) + 1)

    @property
    def gathering(self) -> int:
        """About how many places are passed, and sorted, if the smallest part is gathered."""
        if self.part is None:
            return self.source.length * _SORTING
        whole = len(self.ordering.whole)
        parts = parts_of(self.part)
        return int(parts[0].count * (1 + _SORTING * share_of(parts[1:], whole)))

    @property
    def is_cut(self) -> bool:
        """Whether the page is a slice of what is kept."""
        return not self.rest and not self.ordering.has_ties

    @property
    def is_walk(self) -> bool:
        return self.part is None or self.expected_steps <= self.gathering

    def run(self) -> Found:
        if self.is_cut:
            return self._cut()
        if self.is_walk:
            return self._walk()
        return self._gather()

    def _cut(self) -> Found:
        want, length = self.want, self.source.length
        total = length if want.has_total else None
        return Found(self.source.cut(want.skip, want.end), want.end < length, total)

    def _walk(self) -> Found:
        want, found = self.want, list[int]()
        for places in self.source.steps(self.expected_steps):
            found += sifted(places, self.rest)
            if not want.has_total and self._is_full(found):
                break
        total = len(found) if want.has_total else None
        page = self.ordering.settle(found, want.skip, want.end)
        return Found(page, want.end < len(found), total)

    def _gather(self) -> Found:
        want = self.want
        places = self.part.places() if self.part is not None else self.ordering.whole
        total = len(places) if want.has_total else None
        page = self.ordering.sort(places)[want.skip : want.end]
        return Found(page, want.end < len(places), total)

    def _is_full(self, found: Sequence[int]) -> bool:
        """Whether the page is known, the last of its groups of ties complete."""
        end = self.want.end
        if len(found) <= end:
            return False
        ranks = self.ordering.ranks() if self.ordering.has_ties and end else None
        return ranks is None or ranks[found[-1]] != ranks[found[end - 1]]


def make_plan(part: Part | None, ordering: Ordering, want: Want) -> Plan:
    """The plan for a condition, or for all rows."""
    if part is None:
        return Plan(ordering, want, ordering.everything(), (), None)
    parts = parts_of(part)
    for at, each in enumerate(parts):  # the smallest first
        source = ordering.within(each)
        if source is not None:
            return Plan(ordering, want, source, parts[:at] + parts[at + 1 :], part)
    return Plan(ordering, want, ordering.everything(), parts, part)


def share_of(parts: Sequence[Part], whole: int) -> float:
    """About which share of places all of the parts let through, were they independent."""
    share = 1.0
    for part in parts:
        share *= part.count / whole if whole else 0.0
    return share
