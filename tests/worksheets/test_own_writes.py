"""Read-your-writes: later answers contain each write, also if a read ran at the same time."""

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
from gateway.query.query import Query, SortTerm, parse_where
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
    """An updated cell is found by its new value, not by its old one; its tag is correct."""
    await kept.page(IN_TEXAS)
    kept.sheets.cost()

    written = await kept.updated(4, {"state": "CA", "population": 5})

    assert await kept.names(IN_TEXAS) == []
    assert await kept.names(Query(where=parse_where({"population": {"$lt": 10}}))) == ["Austin"]
    assert (await kept.read(4)).tag == written.tag
    assert kept.sheets.cost() == Cost(1, 1)


async def test_an_emptied_last_row_is_gone_at_once(kept: Bench) -> None:
    """An emptied last row is not listed or read any more."""
    await kept.page()

    await kept.updated(4, {"name": None, "state": None, "population": None})

    assert await kept.names() == ["Boston", "Denver"]


async def test_a_write_keeps_the_age(kept: Bench) -> None:
    """A write does not reset the age of the snapshot."""
    await kept.page()
    kept.clock.advance(TTL_OF_ROWS_SECONDS - 1)
    await kept.create(name="Reno")

    _, freshness = await kept.served_page()

    assert freshness.age_seconds == pytest.approx(TTL_OF_ROWS_SECONDS - 1)


async def test_rows_of_others_in_between_are_not_left_out(kept: Bench) -> None:
    """If other clients appended rows below the known ones, the snapshot is read again."""
    await kept.page()
    kept.cities.type(5, "Reno")
    kept.clock.advance(1.0)
    await kept.page(no_cache=True)
    kept.cities.type(6, "Tulsa")

    row = await kept.create(name="Miami")

    assert row == 7
    assert await kept.names() == ["Boston", "Denver", "Austin", "Reno", "Tulsa", "Miami"]


async def test_an_update_that_saw_more_than_the_snapshot(kept: Bench) -> None:
    """If an update read another row than the snapshot has, all rows are read again."""
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
    """A read that began before a write and ends after it does not replace newer rows."""
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
    """A read after the write starts its own call, while an older call still runs."""
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
    """The read is cached with the write, whether Google read before or after the write."""
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
    """A number that was read before it was written is not found by its old value."""
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
    """Only a read after the open write shows its result."""
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
    """After a write with unknown outcome the snapshot is no longer fresh."""
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
    """If the row number is unknown, older cached rows are not served any more."""
    await kept.page()
    kept.sheets.after("apply", lambda: kept.cities.type(5, "Las Vegas"), UNANSWERED)
    with pytest.raises(RowNumberUnknown):
        await kept.create(name="Reno")
    kept.sheets.before("read_columns", UpstreamError("down"))

    with pytest.raises(UpstreamError):
        await kept.page()


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_that_was_found_shows_at_once(kept: Bench, write: str) -> None:
    """After a lost answer, later reads contain the write."""
    await kept.page()
    kept.sheets.after("apply", UNANSWERED)
    await WRITES[write](kept)

    assert "Reno" in await kept.names()


async def test_an_update_that_changes_nothing_shows_what_it_saw(kept: Bench) -> None:
    """After an unchanged update no list shows an older row than its answer."""
    await kept.page()
    kept.cities.type(2, "Bostonia")

    await kept.updated(2, {"name": "Bostonia"})

    assert await kept.names() == ["Bostonia", "Denver", "Austin"]


async def test_an_update_that_changes_nothing_is_never_missed(make_bench: MakeBench) -> None:
    """Rows from before the answer are not served, even while Google fails."""
    bench = make_bench(cache=KEPT)
    await bench.page()
    bench.cities.type(2, "Bostonia")
    await bench.updated(2, {"name": "Bostonia"})
    bench.sheets.before("read_columns", UpstreamError("down"))

    with pytest.raises(UpstreamError):
        await bench.page()


async def test_an_update_that_changes_nothing_keeps_what_fits(kept: Bench) -> None:
    """If the update read the same row as cached, the cached rows stay."""
    await kept.page()

    await kept.updated(2, {"name": "Boston"})
    kept.sheets.cost()

    assert await kept.names() == ["Boston", "Denver", "Austin"]
    assert kept.sheets.cost() == Cost(0, 0)


async def test_made_up_names_do_not_hide_a_write(make_bench: MakeBench) -> None:
    """Requests for many missing worksheets do not let an older read restore old rows."""
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
