"""Evaluate a query: look up its conditions, plan, and cut the page of rows that answers it.

Rules:
- The order is total over every mix of types, and no cell raises an exception. An empty cell matches
  no range and is last in both directions.
- Conditions are looked up in indexes that are ready, without counted work. Counted are the making
  of an index, the walk of rows, and sorting.
- The page is cut out of the index if there is no condition, or only a range of the column that
  orders. Otherwise rows are walked in order, or gathered and sorted: both find the same rows, and
  bounds of sizes choose between them.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf

import msgspec

from gateway.errors import InvalidQuery
from gateway.query.operators import OPERATORS, ColumnField, Field, RowIndexField
from gateway.query.query import (
    AllOf,
    Comparison,
    Condition,
    Negation,
    Query,
    SortTerm,
    comparisons,
)
from gateway.query.row_sets import Complement, Groups, Intersection, RowSet, all_of, any_of, sifted
from gateway.query.suggestions import field_like
from gateway.table.header import ROW_INDEX, View
from gateway.table.index import ColumnIndex
from gateway.table.ordered import SORT_STEPS, Ranked, ascending, sorted_places
from gateway.table.steps import BLOCK, Unbuilt, Work, ready
from gateway.table.table import Table

_FEW = 8
"""Operands of a condition that is looked up at once; more are counted."""
_LOOK_UP_STEPS = 40
"""Steps of looking up one operand in the indexes of a column."""
_PATIENCE = 3
"""Multiple of its expected steps that a walk may take."""
_FIRST_BLOCK = 64


class Page(msgspec.Struct, frozen=True):
    rows: Sequence[int]
    has_next: bool
    total: int | None = None
    """The number of all matching rows; None if the query does not ask for it."""


class Term(msgspec.Struct, frozen=True):
    """A rank to sort by; places in none of its groups are empty cells, last in both directions."""

    ranked: Ranked
    empties: Sequence[int] = ()
    descending: bool = False


class Source(msgspec.Struct, frozen=True):
    """Indexed places from `start` to `end`, perhaps backwards, then `empties`; a cut copies."""

    places: Sequence[int]
    start: int
    end: int
    empties: Sequence[int] = ()
    is_backwards: bool = False

    @property
    def length(self) -> int:
        return self.end - self.start + len(self.empties)

    def cut(self, first: int, stop: int) -> Sequence[int]:
        """The places from position `first` up to `stop`."""
        if self.is_backwards:
            low, high = max(self.start, self.end - stop), max(self.start, self.end - first)
            return self.places[low:high][::-1]
        count = self.end - self.start
        found = self.places[self.start + min(first, count) : self.start + min(stop, count)]
        if stop <= count or not self.empties:
            return found
        return [*found, *self.empties[max(first - count, 0) : stop - count]]

    def blocks(self, expected: float) -> Iterator[Sequence[int]]:
        """All places, in growing blocks; the first has about the expected length."""
        at, length, size = 0, self.length, int(min(max(expected, _FIRST_BLOCK), BLOCK))
        while at < length:
            yield self.cut(at, at + size)
            at += size
            size = min(at, BLOCK)


def columns_of(
    where: Sequence[Comparison], order: Sequence[SortTerm], view: View
) -> Mapping[str, int]:
    """The column of each field of comparisons and of these terms, but for `rowIndex`.

    Raises UnknownField for a field that the view lacks.
    """
    columns: dict[str, int] = {}
    parameter: str
    terms: Sequence[Comparison | SortTerm]
    for parameter, terms in (("where", where), ("order", order)):
        for term in terms:
            name = term.field
            if name not in columns and name != ROW_INDEX:
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
    if not query.order:
        return ()
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


def plain_page(table: Table, query: Query) -> Page:
    """The page of a query without `where` and `order`, in worksheet order."""
    header_row, rows = table.header.row, table.last_row + 1
    first = header_row + 1 + query.skip
    end = first + query.limit
    total = max(0, rows - header_row - 1) if query.wants_total else None
    return Page(range(min(first, rows), min(end, rows)), end < rows, total)


def find_page(table: Table, query: Query, view: View) -> Page | Work[Page]:
    """The page of a query with `where` or `order`, or the counted work that finds it.

    Raises UnknownField. The table must have its typed rendering.
    """
    where, order = comparisons(query.where), sort_terms(query, view)
    columns = columns_of(where, order, view)
    # The table may drop indexes meanwhile; a query keeps its own.
    indexes = {name: table.index(column) for name, column in columns.items()}
    operands = 0
    for comparison in where:
        operands += 1 + len(comparison.operands)
    missing = None
    if operands <= _FEW:
        try:
            return _looked_up(table, query, order, indexes)
        except Unbuilt as unbuilt:
            missing = unbuilt.work
    look_up = partial(_looked_up, table, query, order, indexes)
    return _counted(look_up, missing, _LOOK_UP_STEPS * operands)


def evaluate(table: Table, query: Query, view: View) -> Work[Page]:
    """The page as `find_page` finds it."""
    found = find_page(table, query, view)
    return found if isinstance(found, Page) else (yield from found)


def _counted(
    look_up: Callable[[], Page | Work[Page]], missing: Work[object] | None, look_up_steps: int
) -> Work[Page]:
    """Make the `missing` index and others that the query needs, then find the page."""
    while True:
        if missing is not None:
            yield from missing
        yield look_up_steps
        try:
            found = look_up()
        except Unbuilt as unbuilt:
            missing = unbuilt.work
        else:
            return found if isinstance(found, Page) else (yield from found)


def _looked_up(
    table: Table, query: Query, order: Sequence[SortTerm], indexes: Mapping[str, ColumnIndex]
) -> Page | Work[Page]:
    """The page if it is a cut of an index, else work that walks or sorts rows. Raises Unbuilt."""
    rows, header_row = table.rows, table.header.row
    parts: tuple[RowSet, ...] = ()
    if query.where is not None:
        row_set = _matching(query.where, table, indexes)
        if row_set.least < rows.groups:
            parts = row_set.parts if isinstance(row_set, Intersection) else (row_set,)
    terms = [] if order else [Term(rows)]
    for term in order:
        if term.field == ROW_INDEX:  # no rows are equal in it, so it is the last
            terms.append(Term(rows, descending=term.descending))
            break
        column = ready(ColumnIndex.order, indexes[term.field])
        terms.append(Term(column.ranked, column.empties, term.descending))
    source, others = _source(terms[0], parts)
    if others or len(terms) > 1:
        return _found(source, others, parts, terms, query, header_row)
    length, end = source.length, query.skip + query.limit
    total = length if query.wants_total else None
    found = [place + header_row for place in source.cut(query.skip, end)]
    return Page(found, end < length, total)


def _matching(condition: Condition, table: Table, indexes: Mapping[str, ColumnIndex]) -> RowSet:
    """The rows that meet a condition; `indexes` are those of its fields but for `rowIndex`."""
    rows, is_negated = table.rows, False
    if isinstance(condition, Comparison):
        name, operator = condition.field, OPERATORS[condition.operator]
        field: Field = (
            RowIndexField(table) if name == ROW_INDEX else ColumnField(indexes[name], rows)
        )
        found, is_negated = operator.lookup(field, condition.operands), operator.is_negated
    elif isinstance(condition, Negation):
        found, is_negated = _matching(condition.condition, table, indexes), True
    else:
        sets = [_matching(each, table, indexes) for each in condition.conditions]
        found = all_of(sets, rows) if isinstance(condition, AllOf) else any_of(sets, rows)
    return Complement(range(1, rows.size), found) if is_negated else found


def _source(first: Term, parts: tuple[RowSet, ...]) -> tuple[Source, tuple[RowSet, ...]]:
    """The places of one of the sets in the order of the first term, and the other sets.

    If no set is indexed in that order: all places, and all sets. Raises Unbuilt.
    """
    ranked, is_descending = first.ranked, first.descending
    is_worksheet = isinstance(ranked.places, range)
    for at, part in enumerate(parts):
        if not isinstance(part, Groups):
            continue
        numbers = part.numbers
        if part.ranked is ranked and isinstance(numbers, range):
            low = ranked.starts[numbers.start] if numbers else 0
        elif is_worksheet and len(numbers) == 1:  # ascending
            (number,) = numbers
            low = part.ranked.starts[number]
        else:
            continue
        places, high = part.ranked.places, low + part.most
        is_backwards = is_descending and is_worksheet
        if is_descending and not is_worksheet:
            places = ready(Ranked.descending, ranked)
            low, high = len(places) - high, len(places) - low
        source = Source(places, low, high, is_backwards=is_backwards)
        return source, parts[:at] + parts[at + 1 :]
    places = ready(Ranked.descending, ranked) if is_descending else ranked.places
    return Source(places, 0, len(places), first.empties), parts


def _found(
    source: Source,
    others: Sequence[RowSet],
    parts: Sequence[RowSet],
    terms: Sequence[Term],
    query: Query,
    header_row: int,
) -> Work[Page]:
    """The page of the rows of all `parts`, of which the source is one, and `others` the rest.

    A walk in order that takes more steps than expected ends in gathering and sorting.
    """
    end, most_steps = query.skip + query.limit, inf
    if others:
        weight = 1 + sum(part.weight for part in others)
        sifting = 1 + sum(part.weight for part in parts[1:])
        most = parts[0].most
        gathering = most * (sifting + SORT_STEPS * len(terms))
        # If the matches are spread evenly.
        fewest = (end + 1) * source.length * weight / max(1, most)
        if query.wants_total:
            most_steps = inf if source.length * weight <= gathering else 0
        else:
            is_cheaper = most and fewest <= gathering
            most_steps = min(max(_PATIENCE * fewest, BLOCK), gathering) if is_cheaper else 0
    if most_steps:
        page = yield from _walk(source, others, terms, query, most_steps, header_row)
        if page is not None:
            return page
    matching = yield from sifted((yield from parts[0].places()), parts[1:])
    places = (yield from _sort(terms, matching))[query.skip : end]
    total = len(matching) if query.wants_total else None
    return Page([place + header_row for place in places], end < len(matching), total)


def _walk(
    source: Source,
    others: Sequence[RowSet],
    terms: Sequence[Term],
    query: Query,
    most_steps: float,
    header_row: int,
) -> Work[Page | None]:
    """Filter the source until the page is full; None if that takes too many steps."""
    end = query.skip + query.limit
    must_end = query.wants_total and others
    weight = 1 + sum(part.weight for part in others)
    found, steps = array("I"), 0
    position = (yield from _position(terms[0])) if len(terms) > 1 else None
    for block in source.blocks(most_steps / weight / 2 if others else 0):
        steps += len(block) * weight
        if steps > most_steps:
            return None
        yield 1 + len(block) // 4
        for part in others:
            if not block:
                break
            block = yield from part.sift(block)
        found.extend(block)
        if len(found) <= end or must_end:
            continue
        if position is None or not end:
            break
        if position(found[-1]) != position(found[end - 1]):
            break  # the last group is complete
    places: Sequence[int] = found[query.skip : end]
    if position is not None and places:  # order ties by the other terms
        low = bisect_left(found, position(places[0]), key=position)
        high = bisect_right(found, position(places[-1]), key=position)
        ordered = yield from _sort(terms, found[low:high])
        places = ordered[query.skip - low : query.skip - low + len(places)]
    total = (len(found) if others else source.length) if query.wants_total else None
    return Page([place + header_row for place in places], end < len(found), total)


def _position(first: Term) -> Work[Callable[[int], int]]:
    """Position of a place's group by the first term; it ascends along its source."""
    ranks, groups = (yield from first.ranked.ranks()), first.ranked.groups
    if not first.descending:
        return ranks.__getitem__
    return lambda place: groups if ranks[place] == groups else -ranks[place]


def _sort(terms: Sequence[Term], places: Sequence[int]) -> Work[Sequence[int]]:
    """Sort places by all terms; ties stay in worksheet order."""
    places = yield from ascending(places, terms[0].ranked.size)
    for term in reversed(terms):
        ranked, is_descending = term.ranked, term.descending
        if isinstance(ranked.places, range):  # all rows: the places are ascending
            places = places[::-1] if is_descending else places
            continue
        ranks, nowhere = (yield from ranked.ranks()), ranked.groups
        filled, empty = array("I"), array("I")
        for start in range(0, len(places), BLOCK):
            block = places[start : start + BLOCK]
            yield 2 * len(block)
            filled.extend([place for place in block if ranks[place] != nowhere])
            empty.extend([place for place in block if ranks[place] == nowhere])
        if is_descending:
            filled.reverse()  # twice, so that ties keep their order
        ordered = yield from sorted_places(filled, ranks)
        places = (ordered[::-1] if is_descending else ordered) + empty
    return places
