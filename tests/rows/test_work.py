"""How much a query has to walk: what it names is what answering it makes."""

from itertools import islice

import pytest

from gateway.rows.conditions import parse_where
from gateway.rows.halves import Column
from gateway.rows.query import Query, SortTerm
from gateway.rows.table import Table, make_table
from gateway.rows.work import evaluate_within, work
from tests.rows.cases import make_cases
from tests.rows.sheet import evaluate

ROWS = 3_000
A_FEW = 500


def long_table() -> Table:
    """Numbers, texts that are all different, and texts that are often alike."""
    numbers = [(place * 7919) % 10_007 for place in range(ROWS)]
    names = [f"name {number}" for number in numbers]
    states = [f"state {number % 7}" for number in numbers]
    table = make_table(
        [["n", *map(str, numbers)], ["name", *names], ["state", *states], ["m", *map(str, numbers)]]
    )
    typed: list[Column] = [
        ["n", *numbers],
        ["name", *names],
        ["state", *states],
        ["m", *map(float, numbers)],
    ]
    return table.with_typed(typed)


def where(condition: object, *order: SortTerm, **parts: bool) -> Query:
    return Query(where=parse_where(condition), order=order, wants_total=bool(parts.get("total")))


CHEAP = {
    "plain page": Query(),
    "by row": where({"rowIndex": {"$gte": 50}}, SortTerm("rowIndex", descending=True)),
    "order": where({}, SortTerm("n")),
    "descending": where({}, SortTerm("name", descending=True)),
    "range and order": where({"n": {"$gte": 5, "$lt": 9_000}}, SortTerm("n"), total=True),
    "equality": where({"name": "name 7919"}),
    "equality of many": where({"state": "state 3"}),
    "equality of a number": where({"n": 7919}, SortTerm("m")),
    "narrow range, other order": where({"n": {"$gte": 5, "$lt": 40}}, SortTerm("m")),
    "broad range, other order": where({"n": {"$gte": 5}}, SortTerm("m", descending=True)),
}
DEAR = {
    "contains": where({"name": {"$text": "zz"}}, total=True),
    "count of a broad range among others": where({"n": {"$gte": 5}, "m": {"$gte": 5}}, total=True),
    "two terms, many alike": where({}, SortTerm("state"), SortTerm("n")),
}


@pytest.mark.parametrize("query", CHEAP.values(), ids=CHEAP)
def test_kept_structures_make_queries_cheap(query: Query) -> None:
    """A query that has been answered once is answered within a few cells from then on."""
    table = long_table()
    evaluate(table, query)

    assert work(table, query, table.header.whole) <= A_FEW
    assert evaluate_within(table, query, table.header.whole, A_FEW) == evaluate(table, query)


@pytest.mark.parametrize("query", DEAR.values(), ids=DEAR)
def test_what_must_be_walked_stays_dear(query: Query) -> None:
    """Looking into all texts, counting and breaking many ties take their time again and again."""
    table = long_table()
    evaluate(table, query)

    assert work(table, query, table.header.whole) > A_FEW
    assert evaluate_within(table, query, table.header.whole, A_FEW) is None


@pytest.mark.parametrize(
    "query", [each for name, each in CHEAP.items() if name not in ("plain page", "by row")]
)
def test_the_first_query_is_dear(query: Query) -> None:
    """What is not there yet counts with what making it walks, and is not made by asking."""
    table = long_table()

    assert work(table, query, table.header.whole) >= ROWS
    assert evaluate_within(table, query, table.header.whole, ROWS - 1) is None
    assert not any(vars(index).keys() & {"order", "numbers"} for index in table.indexes.values())


def test_what_work_names_is_what_answering_makes() -> None:
    """Whatever the query, nothing that it needs counts as missing after it was answered."""
    for table, case in islice(make_cases(3), 3_000):
        evaluate(table, case.query)

        cells = (table.last_row + 1) * (len(table.displayed) + 1)
        assert (
            evaluate_within(table, case.query, table.header.whole, 40 * cells + 1_000) is not None
        )
