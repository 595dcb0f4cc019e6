"""The row service: results and cost in calls to Google."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from gateway.errors import NoHeaderRow
from gateway.query.query import Query, SortTerm, parse_where
from tests.worksheets.conftest import TTL_SECONDS, Bench, MakeBench
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


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_cost_with_nothing_cached(bench: Bench, operation: str) -> None:
    """The first request for a worksheet has the cost in the table of `RowService`."""
    await OPERATIONS[operation](bench)

    assert bench.sheets.cost() == COSTS[operation][0]


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_cost_with_header_seen(bench: Bench, operation: str) -> None:
    """With a fresh header a request has the lower cost in the table of `RowService`."""
    await bench.look()
    bench.clock.advance(TTL_SECONDS - 0.1)

    await OPERATIONS[operation](bench)

    assert bench.sheets.cost() == COSTS[operation][1]


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_cost_after_the_ttl(bench: Bench, operation: str) -> None:
    """After the header's lifetime each request costs what the first one did."""
    await bench.look()
    bench.clock.advance(TTL_SECONDS)

    await OPERATIONS[operation](bench)

    assert bench.sheets.cost() == COSTS[operation][0]


@pytest.mark.parametrize("operation", ["list", "where", "read", "create", "update"])
async def test_worksheet_without_header(make_bench: MakeBench, operation: str) -> None:
    """A worksheet whose row 1 names no field gets an error, for 1 read."""
    bench = make_bench([["", " ", "rowIndex"], ["x"], ["y"]])

    with pytest.raises(NoHeaderRow):
        await OPERATIONS[operation](bench)

    assert bench.sheets.cost() == Cost(1, 0)


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
