"""Later answers never show older rows than earlier answers."""

import asyncio
from collections.abc import Sequence

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import PreconditionFailed, RowNotFound
from gateway.query.query import Query, SortTerm
from gateway.table.header import IfMatch
from gateway.worksheets.writes import Write
from tests.fakes import Formatted
from tests.worksheets.conftest import KEPT, TARGET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

FIRST_TWO = Query(limit=2)
BY_NAME = Query(order=(SortTerm("name"),))


@pytest.fixture
def large(make_bench: MakeBench) -> Bench:
    """Three cities in a worksheet that is known to be large, and is read in windows."""
    return make_bench(cache={**KEPT, "window_above_cells": 5})


async def known(bench: Bench) -> None:
    """Make the size of the worksheet known, and drop its rows."""
    await bench.page()
    bench.clock.advance(10.0)
    bench.sheets.cost()


async def test_a_newer_window_ends_an_older_one(large: Bench) -> None:
    """A row that was read alone is not older in a page cached before."""
    await known(large)
    await large.names(FIRST_TWO)
    large.cities.type(3, "Dover")

    row = await large.record(3)

    assert row["name"] == "Dover"
    assert await large.names(FIRST_TWO) == ["Boston", "Dover"]
    assert large.sheets.cost() == Cost(3, 0)


async def test_a_window_ends_an_older_snapshot(large: Bench) -> None:
    """A search does not show an older cell than a page did."""
    await known(large)
    await large.names(BY_NAME)
    large.clock.advance(4.0)
    large.cities.type(3, "Dover")
    large.clock.advance(2.0)
    await large.record(3)

    assert await large.names(BY_NAME) == ["Austin", "Boston", "Dover"]


async def test_windows_that_agree_are_kept_together(large: Bench) -> None:
    """Overlapping pages cost 1 read each, the last one 2, and later none."""
    await known(large)
    for _ in range(2):
        for row in (2, 3, 4):
            await large.record(row)
        await large.names(FIRST_TWO)

    assert large.sheets.cost() == Cost(5, 0)


async def test_a_write_is_in_the_windows_that_are_kept(large: Bench) -> None:
    """An update changes a cached page, and a create below leaves it unchanged."""
    await known(large)
    await large.names(FIRST_TWO)
    await large.updated(3, {"name": "Dover"})
    await large.create(name="Reno")
    large.sheets.cost()

    assert await large.names(FIRST_TWO) == ["Boston", "Dover"]
    assert large.sheets.cost() == Cost(0, 0)


async def test_a_window_overtaken_by_a_write_has_it(large: Bench) -> None:
    """A page contains a write that ended while the page was read."""
    await known(large)
    gate = asyncio.Event()
    large.sheets.after("read_ranges", gate)
    early = asyncio.create_task(large.names(FIRST_TWO))
    await large.sheets.begun("read_ranges")
    await large.updated(3, {"name": "Dover"})
    large.sheets.cost()
    gate.set()

    assert await early == ["Boston", "Dover"]
    assert await large.names(FIRST_TWO) == ["Boston", "Dover"]
    assert large.sheets.cost() == Cost(0, 0)


async def test_a_window_at_the_end_is_read_anew_after_a_create(large: Bench) -> None:
    """The created row may belong to the last page, so that page is read again."""
    await known(large)
    everything = await large.names()
    await large.create(name="Reno")

    assert await large.names() == [*everything, "Reno"]


async def test_the_row_of_a_failed_condition_counts(kept: Bench) -> None:
    """A row that a 412 showed is not older in the next list."""
    await kept.page()
    kept.cities.type(3, "Dover")
    update = Write.update(row=3, fields={"name": "Reno"}, condition=IfMatch(frozenset({'"x"'})))
    with pytest.raises(PreconditionFailed) as caught:
        await kept.service.write(TARGET, update)

    assert caught.value.existing["name"] == "Dover"
    assert await kept.names() == ["Boston", "Dover", "Austin"]


async def answers_of_overlapping_reads(
    bench: Bench, queries: Sequence[Query]
) -> list[list[object]]:
    """The first read is answered late, with rows from before a person's edit."""
    gate = asyncio.Event()
    bench.sheets.after("read_ranges", gate)
    early = asyncio.create_task(bench.names(queries[0]))
    await wait_all_tasks_blocked()
    bench.cities.type(3, "Dover")
    second = await bench.names(queries[1])
    gate.set()
    return [await early, second, await bench.names(queries[0])]


async def test_reads_that_overlap_and_differ_are_not_kept_both(large: Bench) -> None:
    """The order of the reads is unknown, so the one that ends last is repeated."""
    await known(large)

    first, second, third = await answers_of_overlapping_reads(
        large, [FIRST_TWO, Query(skip=1, limit=1)]
    )

    assert (first, second, third) == (["Boston", "Dover"], ["Dover"], ["Boston", "Dover"])
    assert large.sheets.cost() == Cost(3, 0)


async def test_a_row_past_the_grid_ends_no_window(large: Bench) -> None:
    await known(large)
    await large.names(FIRST_TWO)
    with pytest.raises(RowNotFound):
        await large.record(5000)
    large.sheets.cost()

    await large.names(FIRST_TWO)
    with pytest.raises(RowNotFound):
        await large.record(5000)

    assert large.sheets.cost() == Cost(0, 0)


async def test_the_end_of_a_window_counts(large: Bench) -> None:
    """After a row below it was shown, a page does not say that no row follows."""
    await known(large)
    three = Query(limit=3)
    before, _ = await large.served_page(three)
    large.cities.type(5, "Tulsa")
    await large.record(5)

    after, _ = await large.served_page(three)

    assert (before.has_next, after.has_next) == (False, True)


async def test_a_row_that_is_gone_is_in_no_list(kept: Bench) -> None:
    """A row that an update did not find is not listed afterwards."""
    await kept.page()
    kept.cities.type(4, "", "", "")
    with pytest.raises(RowNotFound):
        await kept.updated(4, {"name": "Reno"})

    assert await kept.names() == ["Boston", "Denver"]


async def test_older_types_do_not_replace_newer_ones(make_bench: MakeBench) -> None:
    """Numbers with equal displays are sorted by the values of the last answer."""
    rows = [["name", "n"], ["Boston", Formatted(1.1, "1")], ["Denver", Formatted(1.2, "1")]]
    bench = make_bench(rows, cache=KEPT)
    by_number = Query(order=(SortTerm("n"),))
    await bench.page()
    gate = asyncio.Event()
    bench.sheets.after("read_columns", gate)
    early = asyncio.create_task(bench.names(by_number))
    await wait_all_tasks_blocked()
    bench.cities.type(2, "Boston", Formatted(1.9, "1"))
    await bench.updated(3, {"name": "Dover"})
    second = await bench.names(by_number)
    gate.set()
    await early

    assert second == ["Dover", "Boston"]
    assert await bench.names(by_number) == second


async def test_a_search_after_lost_rows_reads_its_types_last(kept: Bench) -> None:
    """Without cached rows, the typed rendering is read after the displayed one."""
    await kept.page(BY_NAME)
    kept.cities.type(3, "Dover")
    await kept.updated(2, {"name": "Reno"})
    kept.cities.type(2, "Rome")
    await kept.updated(2, {"state": "MA"})  # what is kept shows another row there
    kept.sheets.cost()
    gate = asyncio.Event()
    kept.sheets.before("read_columns", gate, nth=1)

    search = asyncio.create_task(kept.page(BY_NAME))
    await wait_all_tasks_blocked()

    assert kept.sheets.cost() == Cost(1, 0)
    gate.set()
    await search
    assert kept.sheets.cost() == Cost(1, 0)
