"""Reads of the renderings of a worksheet, and their cache."""

import asyncio
from collections.abc import MutableMapping
from functools import partial
from typing import Any

import pytest

from gateway.errors import QuotaSpent
from gateway.query.query import Query, parse_where
from tests.worksheets.conftest import TTL_SECONDS, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

IN_TEXAS = Query(where=parse_where({"state": "TX"}))
TWICE = [["name", "name", "state", "state"], ["a", "b", "c", "d"]]


def _tear(bench: Bench, number: int) -> None:
    """Make a person change a text between the two reads of the `number`-th next pair."""
    gate = asyncio.Event()
    edit = partial(bench.cities.type, 2, f"city {number}", "TX")
    bench.sheets.after("read_columns", edit, gate.set, nth=2 * number - 1)
    bench.sheets.before("read_columns", gate, nth=2 * number)


@pytest.mark.parametrize("is_seen", [False, True], ids=["cold", "header-seen"])
async def test_renderings_that_differ_are_read_again(bench: Bench, is_seen: bool) -> None:
    """If a text changes between the two reads, both are repeated."""
    if is_seen:
        await bench.read(2)
        bench.sheets.cost()
    _tear(bench, 1)

    page = await bench.page(IN_TEXAS)

    assert [record["name"] for record in page.records] == ["city 1", "Austin"]
    assert bench.sheets.cost() == Cost(4, 0)


async def test_renderings_that_differ_twice_are_read_a_third_time(bench: Bench) -> None:
    """Answered rows and the values that chose them are from one state."""
    await bench.read(2)
    bench.sheets.cost()
    _tear(bench, 1)
    _tear(bench, 2)

    page = await bench.page(IN_TEXAS)

    assert [record["rowIndex"] for record in page.records] == [2, 4]
    assert bench.sheets.cost() == Cost(6, 0)


async def test_known_fields_are_read_side_by_side(bench: Bench) -> None:
    """With a cached header the two renderings are read in parallel."""
    await bench.read(2)
    gate = asyncio.Event()
    bench.sheets.before("read_columns", gate)
    bench.sheets.before("read_columns", gate.set, nth=2)

    async with asyncio.timeout(5):
        page = await bench.page(IN_TEXAS)

    assert [record["name"] for record in page.records] == ["Austin"]


async def test_renamed_column_within_the_ttl(bench: Bench) -> None:
    """A field that the cached header lacks causes a read, which finds it."""
    await bench.read(2)
    bench.cities.type(1, None, "land")
    bench.sheets.cost()

    page = await bench.page(Query(where=parse_where({"land": "TX"})))

    assert [record["name"] for record in page.records] == ["Austin"]
    assert bench.sheets.cost() == Cost(2, 0)


async def test_errors_of_one_rendering_are_raised(bench: Bench) -> None:
    """An error of either rendering is the error of the request."""
    await bench.read(2)
    bench.sheets.before("read_columns", QuotaSpent("later"), nth=2)

    with pytest.raises(QuotaSpent):
        await bench.page(IN_TEXAS)


async def test_duplicates_are_reported_once(
    make_bench: MakeBench, events: list[MutableMapping[str, Any]]
) -> None:
    """Duplicate names are logged when the header is first read, by any operation."""
    bench = make_bench(TWICE)
    for _ in range(2):
        await bench.page()
        await bench.create(name="x")
        bench.clock.advance(TTL_SECONDS)

    assert [event["event"] for event in events] == ["duplicate-headers"]
    assert events[0]["headers"] == ["name", "state"]
    assert events[0]["log_level"] == "warning"


async def test_other_duplicates_are_reported_again(
    make_bench: MakeBench, events: list[MutableMapping[str, Any]]
) -> None:
    """A changed header is logged again."""
    bench = make_bench(TWICE)
    await bench.page()
    bench.cities.type(1, None, "city")

    await bench.page()

    assert [event["headers"] for event in events] == [["name", "state"], ["state"]]
