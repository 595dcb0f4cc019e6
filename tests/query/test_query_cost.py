"""Steps and memory of queries, compared with the work that is done.

A trace counts the Python instructions of each block of work. A block that runs many more
instructions than its steps allow is not counted correctly. Planted bugs show that each check can
fail.
"""

import tracemalloc
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
import pytest

from gateway.query.evaluate import evaluate
from gateway.query.query import Query, SortTerm, parse_where
from gateway.query.row_sets import RowSet, sifted
from gateway.table.steps import Metered, OutOfSteps, Work, finish
from gateway.table.table import Table
from tests.counted_work import uncounted
from tests.query.costly import COLUMNS, costly_query, costly_rows
from tests.query.reference import matching_rows, ordered_rows
from tests.query.sheet import make_sheet, text_cell


def costly_table(seed: int, count: int) -> tuple[Table, Any]:
    """Return a table, and the table's rows for the reference evaluator."""
    rows = costly_rows(Random(seed), count)  # noqa: S311
    return make_sheet({name: [row[name] for row in rows] for name in COLUMNS}), rows


def page_of(table: Table, query: Query) -> Work[Any]:
    return evaluate(table, query, table.header.whole)


@pytest.mark.parametrize("seed", range(60))
def test_costly_queries_agree_with_the_reference(seed: int) -> None:
    """Queries on skewed, mixed and huge values, with conditions up to each limit, equal the
    reference.
    """
    random = Random(seed)  # noqa: S311
    table, rows = costly_table(seed, random.choice((1, 30, 120)))
    for _ in range(3):
        where, query = costly_query(random)
        order = [(term.field, term.descending) for term in query.order]
        expected = ordered_rows(rows, matching_rows(rows, where), order)
        end = query.skip + query.limit

        page = finish(page_of(table, query))

        assert list(page.rows) == expected[query.skip : end]
        assert page.has_next == (end < len(expected))
        assert page.total == (len(expected) if query.wants_total else None)


@pytest.mark.parametrize("seed", range(60))
def test_no_query_takes_more_than_its_budget_and_a_block(seed: int) -> None:
    """A query completes, or stops with OutOfSteps at most one block of steps above its budget."""
    random = Random(1_000 + seed)  # noqa: S311
    table, _ = costly_table(seed, 3_000)
    for _ in range(3):
        _, query = costly_query(random)
        budget, largest = random.choice((100, 5_000, 100_000)), 0

        def blocks(work: Work[Any]) -> Work[None]:
            nonlocal largest
            for steps in work:
                largest = max(largest, steps)
                yield steps

        work = Metered(blocks(page_of(table, query)), budget)
        is_done = is_answered(work)

        assert work.steps <= budget + largest
        assert is_done == (work.steps - largest <= budget) or not is_done


def is_answered(work: Metered[Any]) -> bool:
    """True if the work is done within its budget."""
    try:
        while not work.advance(1_000):
            pass
    except OutOfSteps:
        return False
    return True


@pytest.mark.parametrize("seed", range(25))
def test_all_work_of_a_query_is_counted(seed: int) -> None:
    """Each block of a query reports its steps, both while indexes are built and afterwards."""
    random = Random(2_000 + seed)  # noqa: S311
    table, _ = costly_table(seed, 2_500)
    _, query = costly_query(random)

    assert [uncounted(page_of(table, query)), uncounted(page_of(table, query))] == ["", ""]


RANGES_OF_MANY = [{"many": {"$gte": low, "$lt": low + 30}} for low in range(0, 600, 50)]
WALKS: dict[str, Query] = {
    "a union that is gathered": Query(
        where=parse_where({"$or": [*RANGES_OF_MANY, {"few": 1}]}), wants_total=True
    ),
    "a range that is sorted": Query(
        where=parse_where({"many": {"$lt": 300}}), order=(SortTerm("text"), SortTerm("date"))
    ),
    "an order with ties": Query(order=(SortTerm("skewed"), SortTerm("many")), skip=3_000),
}


@pytest.mark.parametrize("query", WALKS.values(), ids=list(WALKS))
def test_each_method_to_find_rows_is_counted(query: Query) -> None:
    """Filters, unions and sorts report steps for all their work."""
    table, _ = costly_table(1, 6_000)

    assert [uncounted(page_of(table, query)), uncounted(page_of(table, query))] == ["", ""]


class Listed(msgspec.Struct, frozen=True):
    """Row set with a planted bug, which returns the rows of several lists."""

    lists: Sequence[Sequence[int]]
    sift_block: Callable[[Sequence[Sequence[int]], Sequence[int]], Work[Sequence[int]]]
    weight: int = 1
    least: int = 0
    most: int = 2_500

    def places(self) -> Work[Sequence[int]]:
        return (yield from sifted(range(1, self.most), (self,)))

    def sift(self, places: Sequence[int]) -> Work[Sequence[int]]:
        return (yield from self.sift_block(self.lists, places))


def bisecting_each_list(
    lists: Sequence[Sequence[int]], places: Sequence[int]
) -> Work[Sequence[int]]:
    yield len(places)
    return [place for place in places if any(_holds(each, place) for each in lists)]


def counting_nothing(lists: Sequence[Sequence[int]], places: Sequence[int]) -> Work[Sequence[int]]:
    yield 0
    return [place for place in places if place in lists[0]]


def looking_up(lists: Sequence[Sequence[int]], places: Sequence[int]) -> Work[Sequence[int]]:
    yield len(places)
    return [place for place in places if place in lists[0]]


def _holds(places: Sequence[int], place: int) -> bool:
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


@pytest.mark.parametrize(
    ("sift", "is_found"),
    [(bisecting_each_list, True), (counting_nothing, True), (looking_up, False)],
    ids=["a list bisected for each row", "a missing count", "no bug"],
)
def test_uncounted_work_is_found(
    sift: Callable[[Sequence[Sequence[int]], Sequence[int]], Work[Sequence[int]]], is_found: bool
) -> None:
    """The trace finds work without steps, and does not report work with steps."""
    row_set: RowSet = Listed([range(1)] * 900, sift)

    assert bool(uncounted(row_set.places())) == is_found


ROWS = 20_000
BYTES_OF_ROW = 64
"""Bytes per row for lists of rows, row numbers, and one sort key."""
SAME = [2**53] * 900
SPELLED = [f"{2**53 + 2}e{'0' * at}" for at in range(300)]
GREEDY: dict[str, Query] = {
    "one operand 900 times": Query(where=parse_where({"n": {"$nin": SAME}})),
    "one number in many spellings": Query(where=parse_where({"n": {"$nin": SPELLED}})),
    "many operands": Query(where=parse_where({"n": {"$in": list(range(900))}})),
    "many times not equal": Query(
        where=parse_where({"$or": [{"n": {"$ne": number}} for number in range(50)]}),
        wants_total=True,
    ),
    "nested": Query(
        where=parse_where({"$not": {"$and": [{"$not": {"n": {"$nin": SAME}}}] * 40}}),
        wants_total=True,
    ),
    "sixteen terms": Query(order=(SortTerm("n"), *[SortTerm("t", descending=True)] * 15)),
}


def skewed_table() -> Table:
    """Return a table of two columns in which nearly all values are equal."""
    numbers = [2**53 if row % 100 else row for row in range(ROWS)]
    texts = [text_cell("usual" if row % 100 else f"rare {row}") for row in range(ROWS)]
    return make_sheet({"n": [text_cell(str(number)) for number in numbers], "t": texts})


def memory_of(work: Work[Any]) -> int:
    """Return the maximum number of bytes that the work holds at one time."""
    tracemalloc.start()
    try:
        finish(work)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("query", GREEDY.values(), ids=list(GREEDY))
def test_memory_depends_on_the_rows_only(query: Query) -> None:
    """A query needs at most 64 bytes per row, for any number of operands and conditions."""
    table = skewed_table()
    finish(page_of(table, query))

    assert memory_of(page_of(table, query)) <= BYTES_OF_ROW * ROWS


def copying(lists: Sequence[Sequence[int]]) -> Work[list[Sequence[int]]]:
    yield sum(map(len, lists))
    return [array("I", each) for each in lists]


def test_a_copy_for_each_operand_is_found() -> None:
    """The memory check finds a planted copy of the rows for each operand."""
    assert memory_of(copying([range(ROWS)] * 900)) > BYTES_OF_ROW * ROWS
