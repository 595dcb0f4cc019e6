"""Reads from a snapshot: content, cost, own writes."""

import asyncio

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import SpreadsheetNotShared, UpstreamError
from gateway.query.query import Query, SortTerm, parse_where
from gateway.worksheets.access import Target, WorksheetId
from tests.fakes import BOOK
from tests.worksheets.conftest import TTL_OF_ROWS_SECONDS, Bench
from tests.worksheets.scripted_sheets import Cost

IN_TEXAS = Query(where=parse_where({"state": "TX"}))
BY_NAME = Query(order=(SortTerm("name"),))


def _names(records: object) -> list[object]:
    assert isinstance(records, list)
    return [record["name"] for record in records]


async def test_a_fresh_snapshot_costs_nothing(kept: Bench) -> None:
    """Lists, pages and rows cost no call within the snapshot's lifetime."""
    await kept.page()
    kept.sheets.cost()
    kept.clock.advance(TTL_OF_ROWS_SECONDS - 0.1)

    page, freshness = await kept.served_page(Query(skip=1, limit=1))
    record = await kept.record(4)

    assert _names(list(page.records)) == ["Denver"]
    assert record["name"] == "Austin"
    assert kept.sheets.cost() == Cost(0, 0)
    assert freshness.is_hit
    assert freshness.age_seconds == pytest.approx(TTL_OF_ROWS_SECONDS - 0.1)
    assert freshness.ttl_seconds == pytest.approx(0.1)
    assert freshness.reason == ""


async def test_after_its_ttl_it_is_read_anew(kept: Bench) -> None:
    """After the lifetime one read shows a person's edit."""
    await kept.page()
    kept.cities.type(2, "Bostom")
    kept.sheets.cost()
    before = await kept.names()
    kept.clock.advance(TTL_OF_ROWS_SECONDS)

    page, freshness = await kept.served_page()

    assert before == ["Boston", "Denver", "Austin"]
    assert _names(list(page.records)) == ["Bostom", "Denver", "Austin"]
    assert kept.sheets.cost() == Cost(1, 0)
    assert not freshness.is_hit
    assert freshness.ttl_seconds == pytest.approx(TTL_OF_ROWS_SECONDS)


async def test_the_first_filter_reads_the_typed_rendering(kept: Bench) -> None:
    """A filter after a list reads the typed rendering; later filters cost nothing."""
    await kept.page()
    kept.sheets.cost()

    filtered = await kept.names(IN_TEXAS)
    first = kept.sheets.cost()
    ordered = await kept.names(BY_NAME)

    assert filtered == ["Austin"]
    assert ordered == ["Austin", "Boston", "Denver"]
    assert (first, kept.sheets.cost()) == (Cost(1, 0), Cost(0, 0))


async def test_a_filter_on_a_field_that_is_none_costs_nothing(kept: Bench) -> None:
    """A fresh snapshot shows that the field does not exist."""
    await kept.page()
    kept.sheets.cost()

    with pytest.raises(Exception, match="mayor"):
        await kept.page(Query(where=parse_where({"mayor": 1})))

    assert kept.sheets.cost() == Cost(0, 0)


async def test_who_asks_meanwhile_joins(kept: Bench) -> None:
    """Two hundred concurrent lists and filters cost one read of each rendering."""
    queries = [Query(), IN_TEXAS, BY_NAME, Query(limit=1)] * 50

    pages = await asyncio.gather(*map(kept.page, queries))

    assert {len(page.records) for page in pages} == {1, 3}
    assert kept.sheets.cost() == Cost(2, 0)


async def test_one_who_leaves_hurts_nobody(kept: Bench) -> None:
    """The read continues when the request that started it is cancelled."""
    gate = asyncio.Event()
    kept.sheets.before("read_columns", gate)
    first, *others = [asyncio.create_task(kept.page()) for _ in range(10)]
    await kept.sheets.begun("read_columns")
    first.cancel()
    await wait_all_tasks_blocked()
    gate.set()
    pages = await asyncio.gather(*others)

    assert {len(page.records) for page in pages} == {3}
    assert kept.sheets.cost() == Cost(1, 0)


async def test_a_worksheet_that_is_shared_no_more(kept: Bench) -> None:
    """An error of access drops the snapshot for all keys."""
    await kept.page()
    kept.clock.advance(TTL_OF_ROWS_SECONDS)
    kept.sheets.before("read_columns", SpreadsheetNotShared("not shared"))
    with pytest.raises(SpreadsheetNotShared):
        await kept.page()
    kept.sheets.before("read_columns", UpstreamError("down"))

    with pytest.raises(UpstreamError):
        await kept.page()


async def test_worksheets_do_not_mix(kept: Bench) -> None:
    """Each worksheet has its own snapshot."""
    kept.fake.add("Towns", [["name"], ["Reno"]])
    await kept.page()

    page = await kept.page(target=Target(WorksheetId(BOOK, "Towns")))

    assert _names(list(page.records)) == ["Reno"]
    assert await kept.names() == ["Boston", "Denver", "Austin"]
