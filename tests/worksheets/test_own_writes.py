"""Read-your-writes: later answers contain every write, even if a read ran at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import (
    RowNumberUnknown,
    UpstreamAuth,
    UpstreamError,
    WorksheetNotFound,
    WriteOutcomeUnknown,
)
from gateway.query.query import Query, SortTerm
from gateway.query.where import parse_where
from gateway.worksheets.access import Target, WorksheetId
from tests.fakes import BOOK
from tests.worksheets.conftest import KEPT, TTL_OF_ROWS_SECONDS, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

IN_TEXAS = Query(where=parse_where({"state": "TX"}))
BY_NAME = Query(order=(SortTerm("name"),))
UNANSWERED = WriteOutcomeUnknown("no answer", outcome="unknown", retry_after_seconds=185)


async def test_a_create_shows_at_once(kept: Bench) -> None:
    """A created row is in the next list, filter and read, without another call."""
    await kept.look()
    await kept.page(IN_TEXAS)
    kept.sheets.cost()

    row = await kept.create(name="Dallas", state="TX", population=1_304_379)
    filtered = await kept.names(IN_TEXAS)
    sizes = Query(where=parse_where({"population": {"$gt": 1_000_000}}))

    assert filtered == ["Austin", "Dallas"]
    assert await kept.names(sizes) == ["Dallas"]
    assert (await kept.record(row))["population"] == "1304379"
    assert kept.sheets.cost() == Cost(0, 1)


async def test_an_update_shows_at_once(kept: Bench) -> None:
    """An updated cell is found by its new value and no more by its old one; its tag is true."""
    await kept.page(IN_TEXAS)
    kept.sheets.cost()

    written = await kept.updated(4, {"state": "CA", "population": 5})

    assert await kept.names(IN_TEXAS) == []
    assert await kept.names(Query(where=parse_where({"population": {"$lt": 10}}))) == ["Austin"]
    assert (await kept.read(4)).tag == written.tag
    assert kept.sheets.cost() == Cost(1, 1)


async def test_an_emptied_last_row_is_gone_at_once(kept: Bench) -> None:
    """After an update that empties the last row, nothing lists or reads it."""
    await kept.page()

    await kept.updated(4, {"name": None, "state": None, "population": None})

    assert await kept.names() == ["Boston", "Denver"]


async def test_a_write_keeps_the_age(kept: Bench) -> None:
    """A snapshot that was patched is no younger for it."""
    await kept.page()
    kept.clock.advance(TTL_OF_ROWS_SECONDS - 1)
    await kept.create(name="Reno")

    _, freshness = await kept.served_page()

    assert freshness.age_seconds == pytest.approx(TTL_OF_ROWS_SECONDS - 1)


async def test_rows_of_others_in_between_are_not_left_out(kept: Bench) -> None:
    """If others wrote below what we had read, the snapshot is not patched, but read anew."""
    await kept.page()
    kept.cities.type(5, "Reno")
    kept.clock.advance(1.0)
    await kept.page(no_cache=True)
    kept.cities.type(6, "Tulsa")

    row = await kept.create(name="Miami")

    assert row == 7
    assert await kept.names() == ["Boston", "Denver", "Austin", "Reno", "Tulsa", "Miami"]


async def test_an_update_that_saw_more_than_the_snapshot(kept: Bench) -> None:
    """If the look before an update shows another row than was read, all is read anew."""
    await kept.page()
    kept.cities.type(3, "Aurora")

    written = await kept.updated(3, {"state": "IL"})

    assert (await kept.read(3)).tag == written.tag
    assert await kept.names() == ["Boston", "Aurora", "Austin"]


Write = Callable[[Bench], Awaitable[object]]
WRITES: Mapping[str, Write] = {
    "create": lambda bench: bench.create(name="Reno"),
    "update": lambda bench: bench.updated(2, {"name": "Reno"}),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("query", [Query(), BY_NAME], ids=["list", "order"])
async def test_an_older_read_does_not_bring_the_old_rows_back(
    kept: Bench, write: str, query: Query
) -> None:
    """A read that began before a write and ends after it is not what later readers see."""
    gate = asyncio.Event()
    kept.sheets.after("read_columns", gate)
    early = asyncio.create_task(kept.page(query))
    await kept.sheets.begun("read_columns")
    await WRITES[write](kept)
    gate.set()
    await early

    assert "Reno" in await kept.names(query)


@pytest.mark.parametrize("write", WRITES)
async def test_who_comes_after_a_write_does_not_wait_for_an_older_read(
    kept: Bench, write: str
) -> None:
    """A reader after the write has a read of its own, while the older one still hangs."""
    kept.sheets.after("read_columns", asyncio.Event())
    early = asyncio.create_task(kept.page())
    await kept.sheets.begun("read_columns")
    await WRITES[write](kept)

    assert "Reno" in await kept.names()
    early.cancel()


@pytest.mark.parametrize("is_seen", [False, True], ids=["before the write", "after it"])
@pytest.mark.parametrize("write", WRITES)
async def test_an_overtaken_read_is_brought_up_to_the_write(
    kept: Bench, write: str, is_seen: bool
) -> None:
    """The read is cached, whether Google read before or after the write."""
    await kept.page()
    kept.clock.advance(TTL_OF_ROWS_SECONDS)
    gate = asyncio.Event()
    (kept.sheets.before if is_seen else kept.sheets.after)("read_columns", gate)
    early = asyncio.create_task(kept.names())
    await kept.sheets.begun("read_columns", 2)
    await WRITES[write](kept)
    kept.cities.type(3, "Dover")
    gate.set()
    shown = await early

    assert "Reno" in shown
    assert ("Dover" in shown) == is_seen
    assert await kept.names() == shown
    assert kept.sheets.count("read_columns") == 2


@pytest.mark.parametrize("write", WRITES)
async def test_types_are_brought_up_to_the_write(kept: Bench, write: str) -> None:
    """A number that was read before it was written is not searched for by its old value."""
    await kept.page(BY_NAME)
    kept.clock.advance(TTL_OF_ROWS_SECONDS)
    gate = asyncio.Event()
    kept.sheets.after("read_columns", gate)
    kept.sheets.after("read_columns", gate)
    small = Query(where=parse_where({"population": {"$lt": 10}}))
    early = asyncio.create_task(kept.names(small))
    await kept.sheets.begun("read_columns", 4)
    if write == "create":
        await kept.create(name="Reno", population=5)
    else:
        await kept.updated(2, {"name": "Reno", "population": 5})
    gate.set()

    assert await early == ["Reno"]
    assert await kept.names(small) == ["Reno"]
    assert kept.sheets.count("read_columns") == 4


async def test_a_read_overtaken_by_an_open_write_is_done_again(kept: Bench) -> None:
    """The result of such a write is unknown; only a later read shows it."""
    await kept.page()
    kept.clock.advance(TTL_OF_ROWS_SECONDS)
    gate = asyncio.Event()
    kept.sheets.after("read_columns", gate)
    early = asyncio.create_task(kept.names())
    await wait_all_tasks_blocked()
    kept.sheets.before("apply", UNANSWERED)
    kept.sheets.before("fence_tokens", UpstreamAuth("no token"))
    with pytest.raises(WriteOutcomeUnknown):
        await kept.create(name="Reno")
    gate.set()

    assert await early == ["Boston", "Denver", "Austin"]
    assert kept.sheets.count("read_columns") == 3


async def test_an_open_write_has_the_rows_read_anew(kept: Bench) -> None:
    """After a write with unknown outcome, the snapshot is no longer fresh."""
    await kept.page()
    kept.sheets.before("apply", UNANSWERED)
    kept.sheets.before("fence_tokens", UpstreamAuth("no token"))
    with pytest.raises(WriteOutcomeUnknown):
        await kept.create(name="Reno")
    kept.sheets.cost()

    _, freshness = await kept.served_page()

    assert kept.sheets.cost() == Cost(1, 0)
    assert not freshness.is_hit


async def test_an_applied_row_that_cannot_be_found_is_not_missed(kept: Bench) -> None:
    """Where nobody knows its place, what was read before it is not served any more."""
    await kept.page()
    kept.sheets.after("apply", lambda: kept.cities.type(5, "Las Vegas"), UNANSWERED)
    with pytest.raises(RowNumberUnknown):
        await kept.create(name="Reno")
    kept.sheets.before("read_columns", UpstreamError("down"))

    with pytest.raises(UpstreamError):
        await kept.page()


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_that_was_found_shows_at_once(kept: Bench, write: str) -> None:
    """A lost answer is no excuse for a later read that misses the write."""
    await kept.page()
    kept.sheets.after("apply", UNANSWERED)
    await WRITES[write](kept)

    assert "Reno" in await kept.names()


async def test_an_update_that_changes_nothing_shows_what_it_saw(kept: Bench) -> None:
    """After an update that had nothing to write, no list shows an older row than its answer."""
    await kept.page()
    kept.cities.type(2, "Bostonia")

    await kept.updated(2, {"name": "Bostonia"})

    assert await kept.names() == ["Bostonia", "Denver", "Austin"]


async def test_an_update_that_changes_nothing_is_never_missed(make_bench: MakeBench) -> None:
    """Rows from before its answer are not even served while Google fails."""
    bench = make_bench(cache=KEPT)
    await bench.page()
    bench.cities.type(2, "Bostonia")
    await bench.updated(2, {"name": "Bostonia"})
    bench.sheets.before("read_columns", UpstreamError("down"))

    with pytest.raises(UpstreamError):
        await bench.page()


async def test_an_update_that_changes_nothing_keeps_what_fits(kept: Bench) -> None:
    """If the update saw what was read before, that goes on being served."""
    await kept.page()

    await kept.updated(2, {"name": "Boston"})
    kept.sheets.cost()

    assert await kept.names() == ["Boston", "Denver", "Austin"]
    assert kept.sheets.cost() == Cost(0, 0)


async def test_made_up_names_do_not_hide_a_write(make_bench: MakeBench) -> None:
    """However many other worksheets are asked for, an older read does not bring old rows back."""
    bench = make_bench(cache={**KEPT, "max_worksheets": 3})
    gate = asyncio.Event()
    bench.sheets.after("read_columns", gate)
    early = asyncio.create_task(bench.page())
    await bench.sheets.begun("read_columns")
    await bench.updated(2, {"name": "Reno"})
    for number in range(5):
        with pytest.raises(WorksheetNotFound):
            await bench.page(target=Target(WorksheetId(BOOK, f"none {number}")))
    gate.set()
    await early

    assert "Reno" in await bench.names()
