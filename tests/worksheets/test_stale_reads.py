"""Reads while Google fails, is slow, or must not be called; and `no-cache`."""

import asyncio

import pytest

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    NotFresh,
    QuotaSpent,
    UpstreamAuth,
    UpstreamError,
    UpstreamTimeout,
    WorksheetNotFound,
    WriteOutcomeUnknown,
)
from gateway.query.query import Query, parse_where
from gateway.worksheets.access import Target, WorksheetId
from gateway.worksheets.reading import BUDGET_SHARE, HOLD_SECONDS, NO_CACHE_SECONDS
from tests.fakes import BOOK
from tests.worksheets.conftest import KEPT, TTL_OF_ROWS_SECONDS, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

IN_TEXAS = Query(where=parse_where({"state": "TX"}))
UNANSWERED = WriteOutcomeUnknown("no answer", outcome="unknown", retry_after_seconds=185)
FAILURES = [
    pytest.param(QuotaSpent("spent", retry_after_seconds=7), "budget", id="budget"),
    pytest.param(CircuitOpen("open", retry_after_seconds=5), "breaker", id="breaker"),
    pytest.param(UpstreamError("503"), "google", id="google-fails"),
    pytest.param(UpstreamTimeout("late"), "google", id="google-hangs"),
    pytest.param(UpstreamAuth("no token"), "google", id="no-token"),
]


@pytest.mark.parametrize(("failure", "reason"), FAILURES)
@pytest.mark.parametrize("query", [Query(), IN_TEXAS], ids=["list", "where"])
async def test_an_older_snapshot_stands_in(
    kept: Bench, failure: GatewayError, reason: str, query: Query
) -> None:
    """If the rows cannot be read again, the old rows are served and marked as stale."""
    before = await kept.page(query)
    kept.clock.advance(100.0)
    kept.sheets.before("read_columns", failure)

    page, freshness = await kept.served_page(query)

    assert page.records == before.records
    assert freshness.reason == reason
    assert freshness.age_seconds == pytest.approx(100.0)
    assert freshness.ttl_seconds == pytest.approx(TTL_OF_ROWS_SECONDS - 100.0)


async def test_not_older_than_allowed(kept: Bench) -> None:
    """After `max_stale_seconds` the failure is the answer."""
    await kept.page()
    kept.clock.advance(3601.0)
    kept.sheets.before("read_columns", UpstreamError("503"))

    with pytest.raises(UpstreamError):
        await kept.page()


async def test_nothing_kept_is_no_answer(kept: Bench) -> None:
    """A worksheet that was never read has no rows to serve."""
    kept.sheets.before("read_columns", UpstreamError("503"))

    with pytest.raises(UpstreamError):
        await kept.page()


async def test_after_a_failure_google_is_left_alone_for_a_moment(kept: Bench) -> None:
    """After a failed read, old rows are served for a while without a new try."""
    await kept.page()
    kept.clock.advance(TTL_OF_ROWS_SECONDS)
    kept.sheets.before("read_columns", UpstreamError("503"))
    await kept.page()
    kept.sheets.cost()

    _, held = await kept.served_page()
    cost = kept.sheets.cost()
    kept.clock.advance(HOLD_SECONDS)
    _, again = await kept.served_page()

    assert (held.reason, cost) == ("google", Cost(0, 0))
    assert (again.reason, kept.sheets.cost()) == ("", Cost(1, 0))


async def test_a_read_under_way_for_long_is_not_waited_for(kept: Bench) -> None:
    """While a read is slow, later requests are answered with old rows at once."""
    await kept.page()
    kept.clock.advance(TTL_OF_ROWS_SECONDS)
    gate = asyncio.Event()
    kept.sheets.before("read_columns", gate)
    first = asyncio.create_task(kept.page())
    await kept.sheets.begun("read_columns", 2)
    kept.clock.advance(3.0)

    _, freshness = await kept.served_page()
    gate.set()
    await first

    assert freshness.reason == "slow"
    assert kept.sheets.cost() == Cost(2, 0)


async def test_an_acknowledged_write_is_never_missed_by_a_stale_answer(kept: Bench) -> None:
    """Stale rows contain acknowledged creates."""
    await kept.page()
    row = await kept.create(name="Reno")
    kept.clock.advance(100.0)
    kept.sheets.before("read_columns", UpstreamError("503"))

    record = await kept.record(row)

    assert record["name"] == "Reno"


async def test_one_failed_rendering_keeps_the_other(kept: Bench) -> None:
    """A filter uses the last complete snapshot, although one rendering was read later."""
    await kept.page(IN_TEXAS)
    kept.clock.advance(TTL_OF_ROWS_SECONDS)
    kept.cities.type(2, "Bostom")
    await kept.page()
    kept.sheets.before("read_columns", UpstreamError("503"))

    page, freshness = await kept.served_page(IN_TEXAS)

    assert [record["name"] for record in page.records] == ["Austin"]
    assert freshness.reason == "google"


async def test_a_search_shows_what_a_list_showed_before(make_bench: MakeBench) -> None:
    """Once a list has shown an edit, no search uses rows from before the edit."""
    bench = make_bench(cache={**KEPT, "rows_ttl_seconds": 60.0})
    await bench.page(IN_TEXAS)
    bench.cities.type(4, None, "CA")
    await bench.page(no_cache=True)
    bench.sheets.cost()

    page = await bench.page(IN_TEXAS)

    assert page.records == []
    assert bench.sheets.cost() == Cost(1, 0)


async def test_no_cache_reads_anew(kept: Bench) -> None:
    """`no-cache` is answered with the current rows of the worksheet."""
    await kept.page()
    kept.cities.type(2, "Bostom")
    kept.sheets.cost()

    page, freshness = await kept.served_page(no_cache=True)

    assert page.records[0]["name"] == "Bostom"
    assert not freshness.is_hit
    assert kept.sheets.cost() == Cost(1, 0)


@pytest.mark.parametrize("query", [Query(), IN_TEXAS], ids=["list", "where"])
async def test_no_cache_is_obeyed_now_and_then(kept: Bench, query: Query) -> None:
    """Within ten seconds of a forced read, `no-cache` gets the cached rows."""
    await kept.page(query)
    await kept.page(query, no_cache=True)
    kept.sheets.cost()
    kept.clock.advance(1.0)
    await kept.page(query, no_cache=True)
    again = kept.sheets.cost()
    kept.clock.advance(NO_CACHE_SECONDS - 1.0)

    await kept.page(query, no_cache=True)

    assert again == Cost(0, 0)
    assert kept.sheets.cost().reads >= 1


async def test_no_cache_is_never_answered_with_old_rows(kept: Bench) -> None:
    """If fresh rows cannot be read, the error has the reason and a time to retry."""
    await kept.page()
    kept.clock.advance(TTL_OF_ROWS_SECONDS)
    kept.sheets.before("read_columns", QuotaSpent("The quota is spent.", retry_after_seconds=7))

    with pytest.raises(NotFresh, match="quota is spent") as caught:
        await kept.page(no_cache=True)

    assert (caught.value.code, caught.value.status) == (5030, 503)
    assert caught.value.retry_after_seconds == 7


async def test_a_short_budget_raises_the_ttl_of_all(make_bench: MakeBench) -> None:
    """If the quota cannot refresh all worksheets in time, all lifetimes grow by the same factor."""
    bench = make_bench(cache=KEPT, reads_per_second=1.0)
    refs = [WorksheetId(spreadsheet=BOOK, title=f"T{number}") for number in range(20)]
    for ref in refs:
        bench.fake.add(ref.title, [["name"], ["x"]])
        await bench.page(target=Target(ref))
    bench.clock.advance(1.0)
    needed = 20 / (BUDGET_SHARE * 1.0)

    _, before = await bench.served_page(target=Target(refs[0]))
    bench.clock.advance(needed - 1.5)
    lives = [(await bench.served_page(target=Target(ref)))[1].ttl_seconds for ref in refs]

    assert before.ttl_seconds == pytest.approx(needed - 1.0)
    assert lives == [pytest.approx(0.5)] * 20


async def test_made_up_names_stretch_nothing(make_bench: MakeBench) -> None:
    """Requests for missing worksheets do not change the lifetime of others."""
    bench = make_bench(cache=KEPT, reads_per_second=1.0)
    await bench.page()
    for number in range(50):
        with pytest.raises(WorksheetNotFound):
            await bench.page(target=Target(WorksheetId(BOOK, f"none {number}")))
    bench.clock.advance(1.0)

    _, freshness = await bench.served_page()

    assert freshness.ttl_seconds == pytest.approx(TTL_OF_ROWS_SECONDS - 1.0)


async def test_what_an_open_write_left_alone_is_fresh_again(kept: Bench) -> None:
    """After an open write one read makes the rows fresh again, also if they are unchanged."""
    await kept.page()
    kept.sheets.before("apply", UNANSWERED)
    kept.sheets.before("fence_tokens", UpstreamAuth("no token"))
    with pytest.raises(WriteOutcomeUnknown):
        await kept.create(name="Reno")
    await kept.page()
    kept.sheets.cost()

    _, freshness = await kept.served_page()

    assert freshness.is_hit
    assert kept.sheets.cost() == Cost(0, 0)


async def test_a_read_that_waits_for_its_turn_is_not_waited_for(make_bench: MakeBench) -> None:
    """While a read waits for quota, later requests are answered with old rows."""
    bench = make_bench(cache=KEPT, is_counted=False)
    await bench.page()
    bench.clock.advance(TTL_OF_ROWS_SECONDS)
    gate = asyncio.Event()
    bench.sheets.before("read_columns", gate)
    first = asyncio.create_task(bench.page())
    await bench.sheets.begun("read_columns", 2)
    bench.clock.advance(0.3)

    _, freshness = await bench.served_page()
    gate.set()
    await first

    assert freshness.reason == "budget"


async def test_stale_and_new_renderings_are_not_combined(kept: Bench) -> None:
    """If the displayed rendering cannot be read, a search does not mix it with new values."""
    await kept.page()
    kept.clock.advance(100.0)
    kept.cities.type(2, None, None, 999_999)
    kept.sheets.before("read_columns", UpstreamError("503"))

    page = await kept.page(Query(where=parse_where({"population": {"$gt": 990_000}})))

    assert [record["population"] for record in page.records] == ["999999"]


async def test_no_cache_after_one_that_failed(kept: Bench) -> None:
    """A second `no-cache` is not answered with rows from before the failed first one."""
    await kept.page()
    kept.clock.advance(TTL_OF_ROWS_SECONDS - 1.0)
    kept.sheets.before("read_columns", UpstreamError("503"))
    with pytest.raises(NotFresh):
        await kept.page(no_cache=True)
    kept.sheets.cost()

    _, freshness = await kept.served_page(no_cache=True)

    assert not freshness.is_hit
    assert kept.sheets.cost() == Cost(1, 0)
