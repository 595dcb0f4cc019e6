"""Typed reads during writes, people's edits and failures: both renderings agree."""

import asyncio
import json
from typing import Any

import pytest

from gateway.errors import UpstreamError
from gateway.query.query import Query
from gateway.web.answers import TYPED_ENCODERS
from gateway.worksheets.answers import Freshness
from gateway.worksheets.writes import Write
from tests.counted_work import longest_turn
from tests.fakes import Formatted
from tests.worksheets.conftest import KEPT, TARGET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost
from tests.worksheets.test_write_cost import MOST_INSTRUCTIONS

LINES = [["name", "n"], *([f"c{row}", Formatted(row + 0.25, str(row))] for row in range(2, 12))]
PAGE = Query(skip=1, limit=3)


@pytest.fixture
def large(make_bench: MakeBench) -> Bench:
    """A worksheet that is read in windows once its size is known."""
    return make_bench(LINES, cache={**KEPT, "window_above_cells": 5})


@pytest.fixture
async def in_windows(large: Bench) -> Bench:
    """A worksheet whose rows were all read long ago."""
    await large.page()
    large.clock.advance(10_000.0)
    large.sheets.cost()
    return large


async def typed(bench: Bench, query: Query = PAGE) -> tuple[list[dict[str, Any]], Freshness]:
    """Rows of a typed page."""
    served = await bench.service.list_rows(TARGET, query, TYPED_ENCODERS["null"])
    return json.loads(served.encoded.body)["results"], served.freshness


def numbers(rows: list[dict[str, Any]]) -> list[object]:
    return [row["n"] for row in rows]


async def test_a_window_is_kept_and_follows_writes(in_windows: Bench) -> None:
    """A typed window costs 2 reads, and none after own writes, which it contains."""
    rows, _ = await typed(in_windows)
    cold = in_windows.sheets.cost()
    await in_windows.updated(4, {"n": False})
    write = Write.update(row=3, fields={"n": 0.5}, is_typed=True)
    await in_windows.service.write(TARGET, write)
    in_windows.sheets.cost()
    after, freshness = await typed(in_windows)

    assert numbers(rows) == [3.25, 4.25, 5.25]
    assert cold == Cost(2, 0)
    assert numbers(after) == [0.5, False, 5.25]
    assert freshness.is_hit
    assert in_windows.sheets.cost() == Cost(0, 0)


async def test_a_typed_window_stands_in_for_a_displayed_one(in_windows: Bench) -> None:
    """While Google fails, typed rows answer a displayed page as stale; not the reverse."""
    await typed(in_windows)
    in_windows.clock.advance(100.0)
    in_windows.sheets.before("read_ranges", UpstreamError("503"))
    page, freshness = await in_windows.served_page(PAGE)
    await in_windows.page(Query(skip=5, limit=2))
    in_windows.clock.advance(100.0)
    in_windows.sheets.before("read_ranges", UpstreamError("503"))

    assert [record["n"] for record in page.records] == ["3", "4", "5"]
    assert freshness.reason == "google"
    with pytest.raises(UpstreamError):
        await typed(in_windows, Query(skip=5, limit=2))


@pytest.mark.parametrize("edit", ["value", "row"])
async def test_a_window_that_changes_between_its_reads_is_read_again(
    in_windows: Bench, edit: str
) -> None:
    """Texts and values are from one moment, and the page has all its rows."""

    def change() -> None:
        if edit == "value":
            in_windows.cities.type(4, "new", 7)
        else:
            in_windows.cities.insert_rows(2)
            in_windows.cities.type(2, "first", 1)

    in_windows.sheets.before("read_sheet", change)
    rows, _ = await typed(in_windows)

    assert numbers(rows) == ([3.25, 7, 5.25] if edit == "value" else [2.25, 3.25, 4.25])
    assert in_windows.sheets.cost() == Cost(4, 0)


async def test_a_value_that_changes_alone_between_the_reads_costs_no_more(
    in_windows: Bench,
) -> None:
    """Both renderings are read in one call, so equal displays need no other read."""
    in_windows.sheets.before(
        "read_sheet", lambda: in_windows.cities.type(4, "c4", Formatted(4.5, "4"))
    )
    rows, _ = await typed(in_windows)

    assert numbers(rows) == [3.25, 4.5, 5.25]
    assert in_windows.sheets.cost() == Cost(2, 0)


async def test_equal_requests_share_their_reads(make_bench: MakeBench) -> None:
    """Concurrent typed lists cost 2 reads, and a displayed list among them none."""
    bench = make_bench(LINES, cache=KEPT)
    pages = await asyncio.gather(typed(bench), typed(bench), bench.page(PAGE))

    assert numbers(pages[0][0]) == numbers(pages[1][0]) == [3.25, 4.25, 5.25]
    assert bench.sheets.cost() == Cost(2, 0)


async def test_moments_of_a_window_are_read_in_short_turns(make_bench: MakeBench) -> None:
    """A page full of dates is converted in short turns of the event loop."""
    day = Formatted(46_054.4375, "2/1/2026 10:30:00 AM")
    lines = [[f"f{at}" for at in range(100)], *([day] * 100 for _ in range(40))]
    bench = make_bench(lines, cache={**KEPT, "window_above_cells": 5})
    await bench.page()
    bench.clock.advance(10_000.0)
    query = Query(limit=40)
    rows, _ = await typed(bench, query)

    assert {*rows[-1].values()} == {41, "2026-02-01T10:30:00"}
    assert await longest_turn(typed(bench, query)) < MOST_INSTRUCTIONS
