"""Pages and rows of a large worksheet while Google fails, is slow, or must not be called."""

import asyncio

import pytest

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    NotFresh,
    QuotaSpent,
    RowNotFound,
    SheetTooLarge,
    UpstreamAuth,
    UpstreamError,
    UpstreamTimeout,
    WriteOutcomeUnknown,
)
from gateway.query.place import Cursors
from gateway.query.query import Query
from gateway.worksheets.reading import HOLD_SECONDS, PATIENCE_SECONDS
from tests.worksheets.conftest import (
    KEPT,
    TARGET,
    TTL_OF_ROWS_SECONDS,
    Bench,
    MakeBench,
    PlainEncoder,
)
from tests.worksheets.scripted_sheets import Cost

LINES = [["name", "n"], *([f"c{row}", row] for row in range(2, 12))]
FAILURES = [
    pytest.param(QuotaSpent("spent", retry_after_seconds=7), "budget", id="budget"),
    pytest.param(CircuitOpen("open", retry_after_seconds=5), "breaker", id="breaker"),
    pytest.param(UpstreamError("503"), "google", id="google-fails"),
    pytest.param(UpstreamTimeout("late"), "google", id="google-hangs"),
    pytest.param(UpstreamAuth("no token"), "google", id="no-token"),
]


@pytest.fixture
def large(make_bench: MakeBench) -> Bench:
    """A worksheet that is read in windows once its size is known."""
    return make_bench(LINES, cache={**KEPT, "window_above_cells": 5})


@pytest.fixture
async def in_windows(large: Bench) -> Bench:
    """A worksheet of which only rows 2 to 7 were read, some time ago."""
    large.sheets.before("read_columns", SheetTooLarge("too large"))
    await large.page(Query(limit=6))
    large.clock.advance(100.0)
    large.sheets.cost()
    return large


def fail(bench: Bench, failure: GatewayError | None = None) -> None:
    """Make the next read of a window fail."""
    bench.sheets.before("read_ranges", failure or UpstreamError("503"))


@pytest.mark.parametrize(("failure", "reason"), FAILURES)
async def test_all_rows_stand_in_for_a_window(
    large: Bench, failure: GatewayError, reason: str
) -> None:
    """The first read of a worksheet has all rows, which contain each page."""
    await large.page()
    large.clock.advance(100.0)
    fail(large, failure)

    page, freshness = await large.served_page(Query(skip=3, limit=2))

    assert [record["name"] for record in page.records] == ["c5", "c6"]
    assert page.has_next
    assert freshness.reason == reason
    assert freshness.age_seconds == pytest.approx(100.0)
    assert freshness.ttl_seconds < 0
    assert large.sheets.cost() == Cost(2, 0)


async def test_all_rows_stand_in_for_a_row(large: Bench) -> None:
    await large.page()
    large.clock.advance(100.0)
    fail(large)

    assert (await large.record(7))["name"] == "c7"


@pytest.mark.parametrize(
    ("query", "names", "has_next"),
    [
        pytest.param(Query(limit=6), [f"c{row}" for row in range(2, 8)], True, id="the same"),
        pytest.param(Query(limit=3), ["c2", "c3", "c4"], True, id="its begin"),
        pytest.param(Query(skip=2, limit=2), ["c4", "c5"], True, id="in it"),
        pytest.param(Query(skip=4, limit=2), ["c6", "c7"], True, id="its end"),
        pytest.param(Query(limit=0), [], True, id="no row of it"),
    ],
)
async def test_a_larger_window_stands_in(
    in_windows: Bench, query: Query, names: list[str], has_next: bool
) -> None:
    fail(in_windows)

    page, freshness = await in_windows.served_page(query)

    assert [record["name"] for record in page.records] == names
    assert page.has_next is has_next
    assert freshness.reason == "google"
    assert freshness.age_seconds == pytest.approx(100.0)


@pytest.mark.parametrize("query", [Query(limit=7), Query(skip=5, limit=2), Query(skip=8)])
async def test_rows_that_are_not_cached_have_no_stand_in(in_windows: Bench, query: Query) -> None:
    fail(in_windows)

    with pytest.raises(UpstreamError):
        await in_windows.page(query)


async def test_a_row_of_a_window_is_as_it_was(in_windows: Bench) -> None:
    """A stale row has the tag of the whole row."""
    fail(in_windows)
    stale = await in_windows.read(4)
    in_windows.clock.advance(HOLD_SECONDS)

    assert stale.record["name"] == "c4"
    assert stale == await in_windows.read(4)


async def test_below_the_last_window_there_are_no_rows(large: Bench) -> None:
    """A window at the end of the worksheet answers all pages below its first row."""
    large.sheets.before("read_columns", SheetTooLarge("too large"))
    await large.page(Query(skip=8, limit=5))
    large.clock.advance(100.0)
    pages = []
    for query in (Query(skip=9, limit=1), Query(skip=8, limit=100), Query(skip=50)):
        fail(large)
        pages.append(await large.page(query))
        large.clock.advance(HOLD_SECONDS)
    fail(large)
    with pytest.raises(RowNotFound):
        await large.record(40)

    names = [[record["name"] for record in page.records] for page in pages]
    assert names == [["c11"], ["c10", "c11"], []]
    assert not any(page.has_next for page in pages)


async def test_the_newest_rows_stand_in(large: Bench) -> None:
    """The window is served if it was read later than all rows."""
    await large.page()
    large.clock.advance(50.0)
    large.cities.type(3, "new")
    await large.page(Query(limit=4))
    large.clock.advance(50.0)
    fail(large)

    page, freshness = await large.served_page(Query(skip=1, limit=1))

    assert [record["name"] for record in page.records] == ["new"]
    assert freshness.age_seconds == pytest.approx(50.0)


async def test_no_older_than_allowed(in_windows: Bench) -> None:
    in_windows.clock.advance(3501.0)
    fail(in_windows)

    with pytest.raises(UpstreamError):
        await in_windows.page(Query(limit=3))


async def test_no_cache_is_not_answered_from_a_larger_window(in_windows: Bench) -> None:
    fail(in_windows)

    with pytest.raises(NotFresh):
        await in_windows.page(Query(limit=3), no_cache=True)


async def test_google_is_not_asked_again_at_once(in_windows: Bench) -> None:
    fail(in_windows)
    await in_windows.page(Query(limit=3))
    in_windows.sheets.cost()

    _, held = await in_windows.served_page(Query(limit=2))

    assert held.reason == "google"
    assert in_windows.sheets.cost() == Cost(0, 0)


async def test_a_window_that_takes_long_is_not_waited_for(in_windows: Bench) -> None:
    gate = asyncio.Event()
    in_windows.sheets.before("read_ranges", gate)
    first = asyncio.create_task(in_windows.served_page(Query(limit=9)))
    await in_windows.sheets.begun("read_ranges", 2)
    in_windows.sheets.before("read_ranges", gate)
    second = asyncio.create_task(in_windows.served_page(Query(limit=2)))
    await in_windows.sheets.begun("read_ranges", 3)
    in_windows.clock.advance(PATIENCE_SECONDS)
    async with asyncio.timeout(5.0):
        _, freshness = await in_windows.served_page(Query(limit=2))
    gate.set()
    await asyncio.gather(first, second)

    assert freshness.reason == "slow"


@pytest.mark.parametrize("is_whole", [True, False], ids=["all rows", "a window"])
async def test_a_stale_window_never_misses_a_write(large: Bench, is_whole: bool) -> None:
    """An acknowledged write is in the window; after an open write the rows are stale."""
    if not is_whole:
        large.sheets.before("read_columns", SheetTooLarge("too large"))
    await large.page(Query(limit=6))
    await large.updated(3, {"name": "ours"})
    large.sheets.before("apply", WriteOutcomeUnknown("?", outcome="unknown"))
    large.sheets.before("fence_tokens", UpstreamAuth("no token"))
    with pytest.raises(WriteOutcomeUnknown):
        await large.updated(4, {"name": "perhaps"})
    fail(large)

    page, freshness = await large.served_page(Query(limit=2))

    assert [record["name"] for record in page.records] == ["c2", "ours"]
    assert freshness.reason == "google"


async def test_rows_that_may_be_elsewhere_do_not_stand_in(large: Bench) -> None:
    """A created row below the last window has an unknown page, so the window is not served."""
    large.sheets.before("read_columns", SheetTooLarge("too large"))
    await large.page(Query(skip=8, limit=5))
    await large.create(name="below")
    large.clock.advance(TTL_OF_ROWS_SECONDS)
    fail(large)

    with pytest.raises(UpstreamError):
        await large.page(Query(skip=9, limit=4))


async def test_a_page_of_rows_alike_is_answered_if_all_rows_are_too_large(
    make_bench: MakeBench,
) -> None:
    """If all rows are too large, a cursor still works while the rows around it differ."""
    lines = [["name", "n"], *([f"c{row // 2}", "x"] for row in range(2, 40))]
    bench = make_bench(lines, cache={**KEPT, "window_above_cells": 5})
    seal = Cursors(bytes(32)).seal("key", b"")
    encoder = PlainEncoder()
    cursor, given = "", []
    for number in range(1, 10):
        bench.sheets.before("read_columns", SheetTooLarge("too large"), nth=number)
    for _ in range(4):
        query = Query(limit=11, wants_place=True, cursor=cursor)
        served = await bench.service.list_rows(TARGET, query, encoder, seal=seal)
        given += [record["rowIndex"] for record in encoder.pages[-1].records]
        place = served.encoded.paging.place
        cursor = seal.of(place) if place else ""
        bench.clock.advance(100.0)

    assert (given, cursor) == ([*range(2, 40)], "")
