"""Evaluation of a query on a table: conditions, sort order, and the page of rows.

Rules:
- A row position is the index of a row in the columns of the table. The header has position 0.
- Sorting works for any mix of types, and no cell raises an error. An empty cell matches no range,
  and is last in both directions.
- Building an index, filtering rows and sorting count as work (`gateway.table.steps`). Looking up
  conditions in existing indexes counts only if they have many operands.
- If the query has no condition, or only a range of the column that it sorts by, the page is a slice
  of that column's index. Otherwise there are two ways that find the same rows: filter the rows in
  sort order until the page is full, or find all matching rows and sort them. Size estimates decide.
- A page after a cursor has the rows that `order` sorts after the last row of the page before. Rows
  that are equal in all fields of `order` follow if they are below the cursor's position
  (`gateway.query.place`).
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import TypeVar

import msgspec
from msgspec.structs import replace as replaced

from gateway.errors import CursorLost, InvalidQuery
from gateway.query.operators import (
    OPERATORS,
    AllOf,
    ColumnField,
    Comparison,
    Condition,
    Field,
    Negation,
    RowIndexField,
    comparisons,
)
from gateway.query.place import Place, Seen, find_gap, place_after, stand
from gateway.query.query import Query, SortTerm
from gateway.query.row_sets import (
    Complement,
    Groups,
    Intersection,
    RowSet,
    all_of,
    any_of,
    groups_of,
    sifted,
)
from gateway.query.suggestions import field_like
from gateway.table.cells import EMPTY
from gateway.table.header import ROW_INDEX, View
from gateway.table.index import ColumnIndex
from gateway.table.ordered import SORT_STEPS, Ranked, ascending, sorted_places
from gateway.table.steps import BLOCK, Unbuilt, Work
from gateway.table.table import Table, column_at

Found = TypeVar("Found", "Page", Place)

_FEW = 8
"""Maximum number of operands in a query that `find_page` looks up without counting the work."""
_LOOK_UP_STEPS = 40
"""Steps of work (50 ns each) to look up one operand in the index of a column."""
_PATIENCE = 3
"""Maximum steps of work to filter rows in sort order, as a multiple of the expected steps."""
_FIRST_BLOCK = 64
_SOUGHT = 32
"""Expected number of rows around a cursor's row that the search for its position compares."""
_MOST_SEEN = 64
"""Maximum number of `Seen` objects that a table caches, one for each set of readable columns."""


class Page(msgspec.Struct, frozen=True):
    places: Sequence[int]
    """Row positions of the page, which are indexes in the columns of the table."""
    has_next: bool
    total: int | None = None
    """Number of all matching rows, or None if the query does not request the total."""
    before: Sequence[int] = ()
    """Row positions before the cursor, if these rows are equal in all fields of `order`."""
    header_row: int = 0
    """Row number of the header."""
    terms: Sequence["Term"] = ()
    """Sort terms of the query, empty if it has no `order`."""

    @property
    def rows(self) -> Sequence[int]:
        """Row numbers of the page in the sheet. Consecutive ascending numbers are a range."""
        places, header_row = self.places, self.header_row
        if isinstance(places, range) and places.step == 1:
            return range(places.start + header_row, places.stop + header_row)
        return [place + header_row for place in places]


class Term(msgspec.Struct, frozen=True):
    """Column to sort by, with the row positions in sort order."""

    ranked: Ranked
    empties: Sequence[int] = ()
    """Row positions of empty cells, which are last in both directions."""
    descending: bool = False
    index: ColumnIndex | None = None
    """Index of the column, or None for `rowIndex`."""


class Source(msgspec.Struct, frozen=True):
    """Row positions in sort order, as a slice of an index without a copy.

    The rows are `places` from `start` on, in reverse order if `is_backwards`, then `empties`.
    """

    places: Sequence[int]
    start: int
    length: int
    """Number of rows, with the empty cells."""
    empties: Sequence[int] = ()
    is_backwards: bool = False

    def cut(self, first: int, stop: int) -> Sequence[int]:
        """Returns the row positions with the indexes `first` to `stop` - 1 in the sort order.

        Indexes count from 0 at the first row of the source. Indexes after its last row are ignored.
        """
        start, count = self.start, self.length - len(self.empties)
        end, low, high = start + count, start + first, start + stop
        if self.is_backwards:
            return self.places[max(start, end - stop) : max(start, end - first)][::-1]
        # `min` takes longer.
        found = self.places[low : high if high < end else end]
        if stop <= count or not self.empties:
            return found
        return [*found, *self.empties[max(first - count, 0) : stop - count]]

    def blocks(self, expected: float) -> Iterator[Sequence[int]]:
        """Yield all row positions in growing blocks. The first block has about `expected` rows."""
        at, length, size = 0, self.length, int(min(max(expected, _FIRST_BLOCK), BLOCK))
        while at < length:
            yield self.cut(at, at + size)
            at += size
            size = min(at, BLOCK)


def columns_of(
    where: Sequence[Comparison], order: Sequence[SortTerm], view: View
) -> Mapping[str, int]:
    """Column of each field in the comparisons and sort terms, by field name, without `rowIndex`.

    Raises UnknownField for a field that is not in the view.
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
    """Sort terms of a query, without repeated fields.

    If a field is named `-name`, the term `-name` means this field. If the whole text of `order` is
    the name of a field, or `-` and the name, the only term is this field, even if the name has
    commas. Raises InvalidQuery for a term without a name.
    """
    whole = query.whole_order
    if whole is None and not query.order:
        return ()
    terms: dict[str, SortTerm] = {}
    for term in query.order if whole is None else (whole, *query.order):
        meant, name = term, f"-{term.field}"
        # `find` takes longer, and few fields begin with a dash.
        if term.descending and (name.strip() in view.trimmed or not name.isascii()):
            meant = SortTerm(name) if view.find(name) is not None else term
        if term is whole:
            if meant is not whole or view.find(whole.field) is not None:
                return [meant]
            continue
        if not meant.field:
            raise InvalidQuery(
                "order has a term without a field name. Send FIELD or -FIELD, "
                "comma-separated, or a JSON array of them."
            )
        terms.setdefault(meant.field, meant)  # a second term of a field would have no effect
    return [*terms.values()]


def plain_page(table: Table, query: Query) -> Page:
    """Page of a query without `where` and `order`, with rows in worksheet order."""
    size, first = table.size, 1 + query.skip
    end = first + query.limit
    total = size - 1 if query.wants_total else None
    places = range(first if first < size else size, end if end < size else size)
    return Page(places, end < size, total, header_row=table.header.row)


def find_page(
    table: Table, query: Query, view: View, place: Place | None = None
) -> Page | Work[Page]:
    """Find the page of a query. Returns the page, or a generator (`Work`) that finds the page.

    The table must have typed values if the query has `where` or `order`. With `place`, the page
    begins after this cursor position. Raises UnknownField. The generator raises CursorLost if the
    position is not found.
    """
    where, order = comparisons(query.where), sort_terms(query, view)
    columns = columns_of(where, order, view)
    # The table can drop indexes during the query, so the query keeps references.
    indexes = dict(zip(columns, map(table.index, columns.values()), strict=True))
    operands = 0
    for comparison in where:
        operands += 1 + len(comparison.operands)
    missing, seen = None, None
    if place is not None:
        place = replaced(place, row=max(1, place.row + 1 - table.header.row))
        seen = _seen(table, view)
    if operands <= _FEW:
        try:
            return _looked_up(table, query, order, indexes, place, seen)
        except Unbuilt as unbuilt:
            missing = unbuilt.work
    look_up = partial(_looked_up, table, query, order, indexes, place, seen)
    return _counted(look_up, missing, _LOOK_UP_STEPS * operands)


def place_behind(
    table: Table, query: Query, page: Page, view: View, place: Place | None
) -> Place | Work[Place]:
    """Returns the position after a page for the next cursor, or a generator that makes it.

    `page` has up to `AHEAD` rows more than the query's limit. `place` is the position before the
    page.
    """
    limit, places = query.limit, page.places
    if not limit:
        return place or Place()
    terms, seen = [term.index for term in page.terms], _seen(table, view)
    return place_after(places[:limit], places[limit:], page.before, terms, seen, table.header.row)


def _seen(table: Table, view: View) -> Seen:
    """Displayed cells of the view's columns. The table caches this object by column numbers."""
    numbers = tuple(view.columns.values())
    seen: Seen | None = table.seen.get(numbers)
    if seen is None:
        if len(table.seen) >= _MOST_SEEN:
            table.seen.clear()
        columns = [column_at(table.displayed, column) for column in numbers]
        seen = table.seen[numbers] = Seen(columns)
    return seen


def evaluate(table: Table, query: Query, view: View) -> Work[Page]:
    """Find the page of a query without a cursor."""
    found = find_page(table, query, view)
    return found if isinstance(found, Page) else (yield from found)


def _counted(
    look_up: Callable[[], Found | Work[Found]], missing: Work[object] | None, look_up_steps: int
) -> Work[Found]:
    """Repeat: build the `missing` index, then call `look_up`, until no index is missing.

    Each call of `look_up` counts as `look_up_steps` steps of work.
    """
    while True:
        if missing is not None:
            yield from missing
        yield look_up_steps
        try:
            found = look_up()
        except Unbuilt as unbuilt:
            missing = unbuilt.work
        else:
            return found if isinstance(found, (Page, Place)) else (yield from found)


def _looked_up(
    table: Table,
    query: Query,
    order: Sequence[SortTerm],
    indexes: Mapping[str, ColumnIndex],
    place: Place | None,
    seen: Seen | None,
) -> Page | Work[Page]:
    """Returns the page if it is a slice of an index, or a generator that filters and sorts rows.

    Raises Unbuilt if an index is missing.
    """
    rows = table.rows
    parts: tuple[RowSet, ...] = ()
    if query.where is not None:
        row_set = _matching(query.where, table, indexes)
        if row_set.least < rows.groups:
            parts = row_set.parts if type(row_set) is Intersection else (row_set,)
    terms: list[Term] = []
    for term in order:
        if term.field == ROW_INDEX:  # further terms have no effect
            terms.append(Term(rows, descending=term.descending))
            break
        index = indexes[term.field]
        column = index.ready_order
        terms.append(Term(column.ranked, column.empties, term.descending, index))
    if place is not None and seen is not None:
        return _behind(place, seen, table, query, parts, terms)
    source, others = _source(terms[0] if terms else Term(rows), parts)
    if others or len(terms) > 1:
        return _found(source, others, parts, terms, query, table)
    length, end = source.length, query.skip + query.limit
    total = length if query.wants_total else None
    return Page(source.cut(query.skip, end), end < length, total, (), table.header.row, terms)


def _behind(
    place: Place,
    seen: Seen,
    table: Table,
    query: Query,
    parts: tuple[RowSet, ...],
    terms: Sequence[Term],
) -> Work[Page]:
    """Find the page after a cursor's position among the rows that are in all `parts`.

    The total also counts the rows before the position. Raises CursorLost if the position is not
    found.
    """
    rows, total = table.rows, None
    if query.wants_total:
        total = rows.groups
        if parts:
            total = len((yield from sifted((yield from parts[0].places()), parts[1:])))
    begin, equal, behind = 0, list[RowSet](), list[RowSet]()
    is_equal = True
    for number, term in enumerate(terms):
        ranked, index = term.ranked, term.index
        if index is None:  # row numbers are distinct
            span = range(min(place.row - 1, rows.groups), rows.groups)
            if term.descending:
                span = range(min(place.row - 2, rows.groups))
            behind.append(all_of([*equal, groups_of(rows, span)], rows))
            is_equal = False
            break
        if number >= len(place.values):
            raise CursorLost()
        value = place.values[number]
        empty = ColumnField(index, rows).filled(is_filled=False)
        if value.kind == EMPTY:
            begin = begin if equal else len(ranked.places)
            equal.append(empty)
            continue
        group = yield from stand((yield from index.order()), value)
        if group is None:
            raise CursorLost()
        if number == 0:
            begin = ranked.starts[group.start]
            if term.descending:
                begin = len(ranked.places) - ranked.starts[group.stop]
        span = range(group.start) if term.descending else range(group.stop, ranked.groups)
        behind.append(all_of([*equal, any_of([groups_of(ranked, span), empty], rows)], rows))
        is_equal = bool(group)
        if not is_equal:
            break
        equal.append(groups_of(ranked, group))
    before: Sequence[int] = ()
    if is_equal:
        both = yield from _ascending(all_of([*parts, *equal], rows), rows)
        gap = yield from find_gap(place, seen, *both)
        if gap is None:
            raise CursorLost()
        below = groups_of(rows, range(min(gap.last, rows.groups), rows.groups))
        behind.append(all_of([*equal, below], rows))
        before = gap.before
    first = terms[0] if terms else Term(rows)
    if first.descending:
        yield from first.ranked.descending()
    left = all_of([*parts, any_of(behind, rows)], rows)
    parts = left.parts if type(left) is Intersection else (left,)
    source, others = _source(first, parts)
    if not isinstance(first.ranked.places, range):
        end = source.start + source.length - len(source.empties)
        start = min(max(source.start, begin), end)
        source = replaced(source, start=start, length=source.start + source.length - start)
    wanted = replaced(query, wants_total=False)
    page = yield from _found(source, others, parts, terms, wanted, table)
    found = page.places
    is_ascending = len(terms) < 2 and first.ranked is rows and not first.descending
    if is_ascending and found and found[-1] - found[0] == len(found) - 1:
        found = range(found[0], found[-1] + 1)  # a range is encoded faster
    return replaced(page, places=found, total=total, before=before)


def _ascending(row_set: RowSet, rows: Ranked) -> Work[tuple[Sequence[int], Sequence[RowSet]]]:
    """Split a row set into positions in worksheet order, and sets that filter the positions.

    Finds and sorts all rows of the set if this seems cheaper than to filter the positions until
    `_SOUGHT` rows are found.
    """
    parts = row_set.parts if type(row_set) is Intersection else (row_set,)
    places, others = rows.places, parts
    for at, part in enumerate(parts):
        if isinstance(part, Groups) and isinstance(part.numbers, range):
            is_worksheet = isinstance(part.ranked.places, range)
            if is_worksheet or len(part.numbers) < 2:
                low = part.ranked.starts[part.numbers.start] if part.numbers else 0
                places = part.ranked.places[low : low + part.most]
                others = parts[:at] + parts[at + 1 :]
                break
    most = parts[0].most
    gathering = most * (1 + sum(part.weight for part in parts[1:]) + SORT_STEPS)
    walking = _SOUGHT * len(places) * sum(part.weight for part in others) / max(1, most)
    if gathering >= walking:
        return places, others
    found = yield from sifted((yield from parts[0].places()), parts[1:])
    return (yield from ascending(found, rows.size)), ()


def _matching(condition: Condition, table: Table, indexes: Mapping[str, ColumnIndex]) -> RowSet:
    rows, is_negated = table.rows, False
    if type(condition) is Comparison:
        name, operator = condition.field, OPERATORS[condition.operator]
        field: Field = (
            RowIndexField(table) if name == ROW_INDEX else ColumnField(indexes[name], rows)
        )
        found, is_negated = operator.lookup(field, condition.operands), operator.is_negated
    elif type(condition) is Negation:
        found, is_negated = _matching(condition.condition, table, indexes), True
    else:
        sets = [_matching(each, table, indexes) for each in condition.conditions]
        found = all_of(sets, rows) if type(condition) is AllOf else any_of(sets, rows)
    return Complement(range(1, rows.size), found) if is_negated else found


def _source(first: Term, parts: tuple[RowSet, ...]) -> tuple[Source, tuple[RowSet, ...]]:
    """Choose one row set that is indexed in the order of the first sort term.

    Returns the row positions of this set in sort order, and the other sets. If no set is indexed in
    this order, returns the positions of all rows, and all sets. Raises Unbuilt.
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
            places = ranked.ready_descending
            low, high = len(places) - high, len(places) - low
        source = Source(places, low, high - low, (), is_backwards)
        return source, parts[:at] + parts[at + 1 :] if len(parts) > 1 else ()
    places = ranked.ready_descending if is_descending else ranked.places
    return Source(places, 0, len(places) + len(first.empties), first.empties), parts


def _found(
    source: Source,
    others: Sequence[RowSet],
    parts: Sequence[RowSet],
    terms: Sequence[Term],
    query: Query,
    table: Table,
) -> Work[Page]:
    """Find the page among the rows that are in `source` and in all `others`.

    If this seems cheap, filters `source` in sort order. Otherwise, or if the filter takes too many
    steps, finds and sorts the rows that are in all `parts`, which are the same rows.
    """
    end, most_steps = query.skip + query.limit, inf
    if others:
        weight = 1 + sum(part.weight for part in others)
        sifting = 1 + sum(part.weight for part in parts[1:])
        most = parts[0].most
        gathering = most * (sifting + SORT_STEPS * (len(terms) or 1))
        # Estimate for matches that are spread evenly.
        fewest = (end + 1) * source.length * weight / max(1, most)
        if query.wants_total:
            most_steps = inf if source.length * weight <= gathering else 0
        else:
            is_cheaper = most and fewest <= gathering
            most_steps = min(max(_PATIENCE * fewest, BLOCK), gathering) if is_cheaper else 0
    if most_steps:
        page = yield from _walk(source, others, terms, query, most_steps, table)
        if page is not None:
            return page
    matching = yield from sifted((yield from parts[0].places()), parts[1:])
    places = (yield from _sort(terms, matching, table.size))[query.skip : end]
    total = len(matching) if query.wants_total else None
    return Page(places, end < len(matching), total, (), table.header.row, terms)


def _walk(
    source: Source,
    others: Sequence[RowSet],
    terms: Sequence[Term],
    query: Query,
    most_steps: float,
    table: Table,
) -> Work[Page | None]:
    """Find the page by filtering the rows of `source` in sort order until the page is full.

    Returns None if the filter needs more than `most_steps` steps.
    """
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
        ordered = yield from _sort(terms, found[low:high], table.size)
        places = ordered[query.skip - low : query.skip - low + len(places)]
    total = (len(found) if others else source.length) if query.wants_total else None
    return Page(places, end < len(found), total, (), table.header.row, terms)


def _position(first: Term) -> Work[Callable[[int], int]]:
    """Returns a function that maps a row position to a number that sorts like the first term."""
    ranks, groups = (yield from first.ranked.ranks()), first.ranked.groups
    if not first.descending:
        return ranks.__getitem__
    return lambda place: groups if ranks[place] == groups else -ranks[place]


def _sort(terms: Sequence[Term], places: Sequence[int], size: int) -> Work[Sequence[int]]:
    """Sort row positions by all sort terms. Equal rows stay in worksheet order.

    `size` is the number of cells of a column.
    """
    places = yield from ascending(places, size)
    for term in reversed(terms):
        ranked, is_descending = term.ranked, term.descending
        if isinstance(ranked.places, range):  # `rowIndex`: the positions are ascending
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
