"""Evaluate a query: match its conditions, plan, and cut the page of rows that answers it.

Rules:
- The order is total over every mix of types, and no cell raises an exception. An empty cell matches
  no range and is last in both directions.
- The page is cut out of the index if there is no condition, or only a range of the column that
  orders. Otherwise rows are walked in order, or gathered and sorted: both find the same rows, and
  bounds of sizes choose between them.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from operator import attrgetter
from typing import NamedTuple

import msgspec

from gateway.errors import InvalidQuery
from gateway.query.operators import OPERATORS, ColumnField, Field, RowIndexField
from gateway.query.query import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Query,
    SortTerm,
    condition_fields,
)
from gateway.query.row_sets import Complement, Groups, RowSet, all_of, any_of, parts_of, sifted
from gateway.query.suggestions import field_like
from gateway.table.header import ROW_INDEX, View
from gateway.table.ordered import SORT_STEPS, Ranked, ascending, sorted_places
from gateway.table.steps import BLOCK, Work
from gateway.table.table import FIRST_DATA_ROW, Table

_FEW = 4
_PLANNING_STEPS = 20
"""Steps of one condition among more than a few."""
_PATIENCE = 3
"""Multiple of its expected steps that a walk may take."""
_FIRST_BLOCK = 64


class Page(msgspec.Struct, frozen=True):
    rows: Sequence[int]
    has_next: bool
    total: int | None = None
    """The number of all matching rows; None if the query does not ask for it."""


class PageRequest(msgspec.Struct, frozen=True):
    """A page: the places from `skip` up to `end`, and perhaps the number of all of them."""

    skip: int
    end: int
    wants_total: bool = False


class PagePlaces(msgspec.Struct, frozen=True):
    """The places of a page, whether more follow, and the number of all places if requested."""

    places: Sequence[int]
    has_next: bool
    total: int | None = None


class Term(msgspec.Struct, frozen=True):
    """A rank to sort by; places in none of its groups are empty cells, last in both directions."""

    ranked: Ranked
    empties: Sequence[int] = ()
    descending: bool = False


class Segment(NamedTuple):
    """A slice of indexed places from `start` to `end`."""

    places: Sequence[int]
    start: int
    end: int


class Source(msgspec.Struct, frozen=True):
    """Consecutive slices of indexed places; only `cut` copies."""

    segments: tuple[Segment, ...]

    @property
    def length(self) -> int:
        length = 0
        for _, start, end in self.segments:
            length += end - start
        return length

    def cut(self, start: int, end: int) -> Sequence[int]:
        """The places from `start` up to `end`, counted over all segments."""
        found: list[Sequence[int]] = []
        before = 0
        for places, low, high in self.segments:
            first, last = max(low, low + start - before), min(high, low + end - before)
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
                high = low + part.most
                if first.descending:
                    low, high = len(places) - high, len(places) - low
                return Source((Segment(places, low, high),)), others
            if isinstance(ranked.places, range) and len(part.numbers) == 1:  # ascending
                (number,) = part.numbers
                low = part.ranked.starts[number]
                group = Segment(part.ranked.places, low, low + part.most)
                if first.descending:
                    yield part.most
                    group = Segment(group.places[low : group.end][::-1], 0, part.most)
                return Source((group,)), others
        empties = Segment(first.empties, 0, len(first.empties))
        return Source((Segment(places, 0, len(places)), empties)), parts

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


def columns_of(query: Query, order: Sequence[SortTerm], view: View) -> Mapping[str, int]:
    """The column of each field of `where` and of these terms, but for `rowIndex`.

    Raises UnknownField for a field that the view lacks.
    """
    where = () if query.where is None else condition_fields(query.where)
    columns: dict[str, int] = {}
    for parameter, names in (("where", where), ("order", map(attrgetter("field"), order))):
        for name in names:
            if name != ROW_INDEX:
                column = view.find(name)
                if column is None:
                    hint = field_like(parameter, name, view.has)
                    raise view.unknown_field(parameter, [name], hint=hint)
                columns[name] = column
    return columns


def sort_terms(query: Query, view: View) -> Sequence[SortTerm]:
    """The terms of `order`, each field once. A text that is a field's name means that field.

    Raises InvalidQuery for a term without a name.
    """
    whole = query.whole_order
    if whole is not None:
        if whole.descending and view.find(f"-{whole.field}") is not None:
            return [SortTerm(f"-{whole.field}")]
        if view.find(whole.field) is not None:
            return [whole]
    terms: dict[str, SortTerm] = {}
    for term in query.order:
        is_field = term.descending and view.find(f"-{term.field}") is not None
        meant = SortTerm(f"-{term.field}") if is_field else term
        if not meant.field:
            raise InvalidQuery(
                "order holds a term without a field name; it is FIELD or -FIELD, comma-separated, "
                "or a JSON array of them."
            )
        terms.setdefault(meant.field, meant)  # a second term of a field would have no effect
    return [*terms.values()]


def evaluate(table: Table, query: Query, view: View) -> Work[Page]:
    """The page of a query with `where` or `order`. Raises UnknownField.

    The table must have its typed rendering.
    """
    order = sort_terms(query, view)
    columns = columns_of(query, order, view)
    request = PageRequest(query.skip, query.skip + query.limit, query.wants_total)
    rows, row_set = table.rows, None
    if query.where is not None:
        row_set = yield from _matching(query.where, table, columns)
        if row_set.least == rows.groups:
            row_set = None
    terms = [] if order else [Term(rows)]
    for term in order:
        if term.field == ROW_INDEX:  # no rows are equal in it, so it is the last
            terms.append(Term(rows, descending=term.descending))
            break
        column = yield from table.index(columns[term.field]).order()
        terms.append(Term(column.ranked, column.empties, term.descending))
    found = yield from find_page(row_set, Ordering(tuple(terms)), request)
    return Page([place + 1 for place in found.places], found.has_next, found.total)


def plain_page(table: Table, query: Query) -> Page:
    """The page of a query without `where` and `order`, in worksheet order."""
    first, rows = FIRST_DATA_ROW + query.skip, table.last_row + 1
    end = first + query.limit
    total = max(0, rows - FIRST_DATA_ROW) if query.wants_total else None
    return Page(range(min(first, rows), min(end, rows)), end < rows, total)


def _matching(condition: Condition, table: Table, columns: Mapping[str, int]) -> Work[RowSet]:
    """The rows that meet a condition; `columns` are those of its fields but for `rowIndex`."""
    rows, is_negated = table.rows, isinstance(condition, Negation)
    match condition:
        case Comparison(name, word, operands):
            field: Field = RowIndexField(table)
            if name != ROW_INDEX:
                field = ColumnField(table.index(columns[name]), rows)
            operator = OPERATORS[word]
            found, is_negated = (yield from operator.lookup(field, operands)), operator.is_negated
        case Negation(inside):
            found = yield from _matching(inside, table, columns)
        case AllOf(conditions) | AnyOf(conditions):
            sets: list[RowSet] = []
            for each in conditions:
                sets.append((yield from _matching(each, table, columns)))
                if len(sets) > _FEW:
                    yield _PLANNING_STEPS
            found = all_of(sets, rows) if isinstance(condition, AllOf) else any_of(sets, rows)
    return Complement(range(1, rows.size), found) if is_negated else found


def find_page(row_set: RowSet | None, ordering: Ordering, request: PageRequest) -> Work[PagePlaces]:
    parts = () if row_set is None else parts_of(row_set)
    source, rest = yield from ordering.source(parts)
    if not rest and not ordering.has_ties:
        length = source.length
        total = length if request.wants_total else None
        return PagePlaces(source.cut(request.skip, request.end), request.end < length, total)
    walk_steps = _walk_steps(source, rest, parts, ordering, request)
    found = None
    if walk_steps:
        found = yield from _walk(source, rest, ordering, request, walk_steps)
    if found is None:
        matching = yield from sifted((yield from parts[0].places()), parts[1:])
        page = (yield from ordering.sort(matching))[request.skip : request.end]
        total = len(matching) if request.wants_total else None
        found = PagePlaces(page, request.end < len(matching), total)
    return found


def _walk_steps(
    source: Source,
    rest: Sequence[RowSet],
    parts: Sequence[RowSet],
    ordering: Ordering,
    request: PageRequest,
) -> float:
    """Maximum steps of a walk before the plan falls back to gathering; 0 means no walk."""
    if not rest:
        return inf
    weight = 1 + sum(part.weight for part in rest)
    most = parts[0].most
    sifting = 1 + sum(part.weight for part in parts[1:])
    gathering = most * (sifting + SORT_STEPS * len(ordering.terms))
    if request.wants_total:
        return inf if source.length * weight <= gathering else 0
    if not most:
        return 0
    fewest = (request.end + 1) * source.length * weight / most  # if the matches are spread evenly
    return min(max(_PATIENCE * fewest, BLOCK), gathering) if fewest <= gathering else 0


def _walk(
    source: Source,
    parts: Sequence[RowSet],
    ordering: Ordering,
    request: PageRequest,
    most_steps: float,
) -> Work[PagePlaces | None]:
    """Filter the source until the page is full; None if that takes too many steps."""
    must_end = request.wants_total and parts
    weight = 1 + sum(part.weight for part in parts)
    found, steps = array("I"), 0
    position = (yield from ordering.position()) if ordering.has_ties else None
    for block in source.blocks(most_steps / weight / 2 if parts else 0):
        steps += len(block) * weight
        if steps > most_steps:
            return None
        yield 1 + len(block) // 4
        for part in parts:
            if not block:
                break
            block = yield from part.sift(block)
        found.extend(block)
        if len(found) <= request.end or must_end:
            continue
        if position is None or not request.end:
            break
        if position(found[-1]) != position(found[request.end - 1]):
            break  # the last group is complete
    total = (len(found) if parts else source.length) if request.wants_total else None
    page = yield from ordering.sort_ties(found, request.skip, request.end)
    return PagePlaces(page, request.end < len(found), total)


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
        return (yield from sorted_places(filled, ranks)) + empty
    filled.reverse()  # twice, so that ties keep their order
    return (yield from sorted_places(filled, ranks))[::-1] + empty
