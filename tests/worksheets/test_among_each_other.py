"""Overlapping requests to one worksheet, and their effect on the next request."""

import asyncio

import pytest

from gateway.errors import QuotaSpent
from tests.worksheets.conftest import Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost


async def test_a_list_that_began_before_an_update_misleads_no_create(make_bench: MakeBench) -> None:
    """A read from before a cell was emptied is not cached, so the next create reads the end."""
    bench = make_bench([["a", "b"], [1, 2]], rows=2)
    answered = asyncio.Event()
    bench.sheets.after("read_columns", answered)
    listing = asyncio.create_task(bench.page())
    await bench.sheets.begun("read_columns")
    await bench.updated(2, {"a": None})
    answered.set()
    await listing

    row = await bench.create(a="NEW")

    assert row == 3
    assert bench.cities.lines() == [["a", "b"], ["", "2"], ["NEW"]]


async def test_a_look_during_an_update_misleads_no_create(make_bench: MakeBench) -> None:
    """A read that began during an update is not cached, so the next create reads the end."""
    bench = make_bench([["a", "b"], [1, 2]], rows=2)
    begun, answered = asyncio.Event(), asyncio.Event()
    bench.sheets.before("apply", begun)
    bench.sheets.after("read_columns", answered)
    updating = asyncio.create_task(bench.updated(2, {"a": None}))
    await bench.sheets.begun("apply")
    listing = asyncio.create_task(bench.page())
    await bench.sheets.begun("read_columns")
    begun.set()
    await updating
    answered.set()
    await listing

    row = await bench.create(a="NEW")

    assert row == 3
    assert bench.cities.lines() == [["a", "b"], ["", "2"], ["NEW"]]


async def test_a_refused_quota_leaves_the_header_known(bench: Bench) -> None:
    """After a 429 the cached header stays, because nothing was written."""
    await bench.create(name="x")
    bench.sheets.before("apply", QuotaSpent("x", outcome="not_applied"))
    with pytest.raises(QuotaSpent):
        await bench.create(name="y")
    bench.sheets.cost()

    row = await bench.create(name="z")

    assert row == 6
    assert bench.sheets.cost() == Cost(0, 1)
