"""The row service: results and cost in calls to Google."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from gateway.errors import GatewayError, InvalidBody, InvalidQuery, NoHeaderRow, RowNotFound
from gateway.query.query import Query, SortTerm
from gateway.query.where import parse_where
from gateway.table.header import Selection
from tests.worksheets.conftest import CITIES, TTL_SECONDS, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

Operation = Callable[[Bench], Awaitable[object]]


def _where(**fields: object) -> Query:
    return Query(where=parse_where(fields))


OPERATIONS: Mapping[str, Operation] = {
    "list": lambda bench: bench.page(),
    "where": lambda bench: bench.page(_where(state="CO")),
    "order": lambda bench: bench.page(Query(order=(SortTerm("name"),))),
    "order-by-rowIndex": lambda bench: bench.page(
        Query(order=(SortTerm("rowIndex", descending=True),))
    ),
    "read": lambda bench: bench.read(3),
    "create": lambda bench: bench.created({"name": "Reno", "population": 264165}),
    "update": lambda bench: bench.updated(3, {"population": 1}),
}
COSTS = {  # nothing cached, header seen
    "list": ((1, 0), (1, 0)),
    "where": ((2, 0), (2, 0)),
    "order": ((2, 0), (2, 0)),
    "order-by-rowIndex": ((2, 0), (2, 0)),
    "read": ((1, 0), (1, 0)),
    "create": ((1, 1), (0, 1)),
    "update": ((1, 1), (1, 1)),
}
FAILURES: Mapping[str, tuple[Operation, type[GatewayError], Cost, Cost]] = {
    "where-on-unknown-field": (
        lambda bench: bench.page(_where(mayor="x")),
        InvalidQuery,
        Cost(1, 0),
        Cost(1, 0),
    ),
    "order-by-unknown-field": (
        lambda bench: bench.page(Query(order=(SortTerm("mayor"),))),
        InvalidQuery,
        Cost(1, 0),
        Cost(1, 0),
    ),
    "create-unknown-field": (
        lambda bench: bench.created({"name": "x", "mayor": "y"}),
        InvalidBody,
        Cost(1, 0),
        Cost(1, 0),
    ),
    "create-nothing": (
        lambda bench: bench.created({"name": None, "state": ""}),
        InvalidBody,
        Cost(0, 0),
        Cost(0, 0),
    ),
    "update-unknown-field": (
        lambda bench: bench.updated(3, {"mayor": "y"}),
        InvalidBody,
        Cost(1, 0),
        Cost(1, 0),
    ),
    "read-row-0": (
        lambda bench: bench.read(0),
        RowNotFound,
        Cost(0, 0),
        Cost(0, 0),
    ),
    "read-header": (
        lambda bench: bench.read(1),
        RowNotFound,
        Cost(0, 0),
        Cost(0, 0),
    ),
    "read-below-last": (
        lambda bench: bench.read(5),
        RowNotFound,
        Cost(1, 0),
        Cost(1, 0),
    ),
    "read-past-grid": (
        lambda bench: bench.read(99_999_999),
        RowNotFound,
        Cost(1, 0),
        Cost(1, 0),
    ),
    "update-row-0": (
        lambda bench: bench.updated(0, {"name": "x"}),
        RowNotFound,
        Cost(0, 0),
        Cost(0, 0),
    ),
    "update-header": (
        lambda bench: bench.updated(1, {"name": "x"}),
        RowNotFound,
        Cost(0, 0),
        Cost(0, 0),
    ),
    "update-below-last": (
        lambda bench: bench.updated(5, {"name": "x"}),
        RowNotFound,
        Cost(2, 0),
        Cost(2, 0),
    ),
    "update-past-grid": (
        lambda bench: bench.updated(101, {"name": "x"}),
        RowNotFound,
        Cost(2, 0),
        Cost(2, 0),
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_cost_with_nothing_cached(bench: Bench, operation: str) -> None:
    """The first request for a worksheet costs what the table of `RowService` says."""
    await OPERATIONS[operation](bench)

    assert bench.sheets.cost() == COSTS[operation][0]


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_cost_with_header_seen(bench: Bench, operation: str) -> None:
    """A header seen within the ttl saves what the table of `RowService` says."""
    await bench.look()
    bench.clock.advance(TTL_SECONDS - 0.1)

    await OPERATIONS[operation](bench)

    assert bench.sheets.cost() == COSTS[operation][1]


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_cost_after_the_ttl(bench: Bench, operation: str) -> None:
    """Once the header's ttl has passed, everything costs what it did at first."""
    await bench.look()
    bench.clock.advance(TTL_SECONDS)

    await OPERATIONS[operation](bench)

    assert bench.sheets.cost() == COSTS[operation][0]


@pytest.mark.parametrize("case", FAILURES)
@pytest.mark.parametrize("is_seen", [False, True], ids=["cold", "header-seen"])
async def test_cost_of_failures(bench: Bench, case: str, is_seen: bool) -> None:
    """Errors that need no sheet cost nothing, an unknown field one read; nothing is written."""
    operation, error, cold, seen = FAILURES[case]
    if is_seen:
        await bench.look()
    before = bench.cities.lines()

    with pytest.raises(error):
        await operation(bench)

    assert bench.sheets.cost() == (seen if is_seen else cold)
    assert bench.cities.lines() == before


@pytest.mark.parametrize("operation", ["list", "where", "read", "create", "update"])
async def test_worksheet_without_header(make_bench: MakeBench, operation: str) -> None:
    """A worksheet whose row 1 names no field is answered so, for one read."""
    bench = make_bench([["", " ", "rowIndex"], ["x"], ["y"]])

    with pytest.raises(NoHeaderRow):
        await OPERATIONS[operation](bench)

    assert bench.sheets.cost() == Cost(1, 0)


async def test_list_shows_displayed_text(bench: Bench) -> None:
    """A record is its row number and every field as the sheet displays it."""
    page = await bench.page(Query(limit=2))

    assert page.records == [
        {"rowIndex": 2, "name": "Boston", "state": "MA", "population": "654776"},
        {"rowIndex": 3, "name": "Denver", "state": "CO", "population": "715522"},
    ]
    assert page.has_next


async def test_list_filters_sorts_and_cuts(bench: Bench) -> None:
    """`where` and `order` compare typed values; `keys` cuts the records."""
    query = Query(
        where=parse_where({"population": {"$gt": 700_000}}),
        order=(SortTerm("population", descending=True),),
        keys=Selection(("name", "nothing")),
    )

    page = await bench.page(query)

    assert page.records == [
        {"rowIndex": 4, "name": "Austin"},
        {"rowIndex": 3, "name": "Denver"},
    ]
    assert not page.has_next


async def test_blank_rows_between_are_rows(make_bench: MakeBench) -> None:
    """A blank row between rows is a record of nulls, one after the last row is not there."""
    bench = make_bench([*CITIES[:2], [], CITIES[2], [None, None, ""]])

    page = await bench.page()

    assert [record["name"] for record in page.records] == ["Boston", None, "Denver"]
    assert await bench.record(3) == {
        "rowIndex": 3,
        "name": None,
        "state": None,
        "population": None,
    }


async def test_read_takes_keys(bench: Bench) -> None:
    """A single row can be cut to some of its fields."""
    assert await bench.record(4, ["state"]) == {"rowIndex": 4, "state": "TX"}


async def test_read_sees_a_row_at_once(bench: Bench) -> None:
    """The next read contains the written row."""
    row = await bench.create(name="Reno", state="NV")
    await bench.updated(row, {"population": 264165})

    assert await bench.record(row) == {
        "rowIndex": 5,
        "name": "Reno",
        "state": "NV",
        "population": "264165",
    }


async def test_unknown_fields_can_be_ignored(make_bench: MakeBench) -> None:
    """With `unknown_fields = "ignore"` they are dropped and named, not refused."""
    bench = make_bench(unknown_fields="ignore")

    created = await bench.created({"name": "Reno", "mayor": "x"})
    updated = await bench.updated(2, {"mayor": "x", "state": "ma"})

    assert created.record == {"rowIndex": 5, "name": "Reno"}
    assert updated.record == {"rowIndex": 2, "state": "ma"}
    assert created.ignored == updated.ignored == ("mayor",)
