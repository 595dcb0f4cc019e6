"""The order of a query: places that have it already, and how to put others into it."""

from collections.abc import Sequence

import msgspec

from gateway.rows.index import ColumnIndex
from gateway.rows.ordered import sorted_places
from gateway.rows.parts import Part, Span
from gateway.rows.source import (
    Source,
    column_source,
    rows_source,
    source_of_rows,
    span_source,
)


class Term(msgspec.Struct, frozen=True):
    """One column to sort by; None is the row itself."""

    index: ColumnIndex | None
    descending: bool = False


WORKSHEET_ORDER = Term(None)


class Ordering(msgspec.Struct, frozen=True):
    """Terms in falling importance, each kept order used as far as it goes."""

    terms: tuple[Term, ...]
    """At least one; none but the last is the row itself, for no two rows are alike by it."""
    whole: range

    @property
    def has_ties(self) -> bool:
        """Whether rows that are alike by the first term must be ordered by the others."""
        return len(self.terms) > 1

    @property
    def rows_alike(self) -> int:
        """About how many rows the first term does not tell apart."""
        index = self.terms[0].index
        if index is None or not self.has_ties:
            return 0
        return len(self.whole) // max(1, index.order.ranked.groups)

    def everything(self) -> Source:
        """All places, in the order of the first term."""
        first = self.terms[0]
        if first.index is None:
            return rows_source(self.whole, descending=first.descending)
        return column_source(first.index.order, descending=first.descending)

    def within(self, part: Part) -> Source | None:
        """The places of a part in the order of the first term, if it is kept that way."""
        first = self.terms[0]
        if first.index is None:
            return source_of_rows(part, descending=first.descending)
        if isinstance(part, Span) and part.ranked is first.index.numbers.ranked:
            return span_source(first.index.order, part, descending=first.descending)
        return None

    def sort(self, places: Sequence[int]) -> Sequence[int]:
        """Any places in the order of all terms, ties as in the worksheet."""
        places = sorted(places)
        for term in reversed(self.terms):
            places = _sorted_by(term, places)
        return places

    def ranks(self) -> Sequence[int] | None:
        """What two places have alike if the first term does not tell them apart."""
        index = self.terms[0].index
        return None if index is None else index.order.ranked.ranks

    def settle(self, found: Sequence[int], skip: int, end: int) -> Sequence[int]:
        """The page of places that are in the order of the first term, put right by the others.

        The group that the page ends in must be complete.
        """
        page = found[skip:end]
        ranks = self.ranks()
        if ranks is None or not self.has_ties or not page:
            return page
        low, high = skip, skip + len(page)
        while low and ranks[found[low - 1]] == ranks[page[0]]:
            low -= 1
        while high < len(found) and ranks[found[high]] == ranks[page[-1]]:
            high += 1
        return self.sort(found[low:high])[skip - low : skip - low + len(page)]


def _sorted_by(term: Term, places: list[int]) -> list[int]:
    if term.index is None:
        return places[::-1] if term.descending else places
    ranked = term.index.order.ranked
    ranks, nowhere = ranked.ranks, ranked.groups
    filled = [place for place in places if ranks[place] != nowhere]
    empty = [place for place in places if ranks[place] == nowhere]
    if not term.descending:
        return sorted_places(filled, ranks) + empty
    filled.reverse()  # twice, so that ties stay as they are
    return sorted_places(filled, ranks)[::-1] + empty
