"""Tests that no process returns older rows as fresh than another process returned before.

An answer with `detail=alone` does not count as fresh: it can lack writes of other processes.
"""

import asyncio

from gateway.query.query import Query, parse_where
from tests.cluster.peers import Office, identity_of, until
from tests.worksheets.scripted_sheets import Cost

LARGE = Query(where=parse_where({"population": {"$gt": 900_000}}))
SEARCH = Query(where=parse_where({"population": {"$gt": 0}}))


async def test_an_edit_seen_by_another_during_a_write(office: Office) -> None:
    """An edit that a reader returned during a write is in the writer's rows after the write."""
    writer, reader, third = office.peers
    await office.settle_in()
    gate = office.gate()
    writer.sheets.after("apply", gate)
    writing = asyncio.create_task(writer.created("Reno"))
    await writer.sheets.begun("apply")
    office.cities.type(2, "Basel")
    seen = await reader.listed(no_cache=True)
    gate.set()
    await writing
    shown = [await peer.listed() for peer in (writer, reader, third)]

    assert seen.names == office.held_names()
    assert [each.names for each in shown] == [office.held_names()] * 3
    assert not any(each.freshness.is_alone or each.freshness.reason for each in shown)


async def test_a_write_that_is_not_answered_yet(office: Office) -> None:
    """Answers with a new row have `detail=alone` until the answer of its batch is stored."""
    writer, other, _ = office.peers
    await office.settle_in()
    gate = office.gate()
    writer.sheets.after("apply", gate)
    writing = asyncio.create_task(writer.create("Reno", identity_of("Reno")))
    await writer.sheets.begun("apply")
    async with office.held_records():
        gate.set()
        await until(office.is_storing)
        own, others = await writer.listed(), await other.listed()
    await writing

    assert own.freshness.is_alone
    assert not others.freshness.is_alone
    assert "Reno" not in others.names
    assert (await writer.listed()).names == (await other.listed()).names == office.held_names()


async def test_an_edit_between_the_reads_of_a_search(office: Office) -> None:
    """After an edit during a search, other processes do not return older rows.

    The edit happens between the read of the types and the read of the rows, and again after the
    search.
    """
    first, second, _ = office.peers
    await first.listed(SEARCH)
    may_read_rows, may_have_types = office.gate(), office.gate()

    def edit() -> None:
        office.cities.type(2, "Basel")
        may_read_rows.set()

    first.sheets.after("read_columns", edit, may_have_types)
    first.sheets.before("read_columns", may_read_rows, nth=2)
    before = await office.epoch()
    searching = asyncio.create_task(first.listed(SEARCH, no_cache=True))

    async def has_begun_an_epoch() -> bool:
        return await office.epoch() != before

    await until(has_begun_an_epoch)  # the read of the rows starts the epoch
    may_have_types.set()
    searched = await searching
    office.cities.type(2, "Bern")
    seen = await second.listed()
    shown = await first.listed()

    assert searched.names[0] == "Basel"
    assert not shown.freshness.reason
    assert shown.names[0] == seen.names[0]


async def test_a_search_uses_the_types_of_the_latest_rows(office: Office) -> None:
    """After one process returned a changed number, other processes search by the new number."""
    reader, searcher, _ = office.peers
    found = await reader.listed(LARGE)
    office.cities.type(2, None, None, 999_999)
    await reader.listed(no_cache=True)
    searched = await searcher.listed(LARGE)

    assert found.names == ["Austin"]
    assert searched.names == ["Boston", "Austin"]
    assert searcher.cost() == Cost(1, 0)


async def test_a_search_after_an_edit_shares_both_renderings(office: Office) -> None:
    """The first search after an edit stores both renderings for the other processes."""
    first, second, third = office.peers
    await first.listed(LARGE)
    office.cities.type(2, "Basel", None, 999_999)
    await first.listed(LARGE, no_cache=True)
    first_cost = first.cost()
    searched = [await peer.listed(LARGE) for peer in (second, third, first)]

    assert first_cost == Cost(4, 0)
    assert [each.names for each in searched] == [["Basel", "Austin"]] * 3
    # On a busy machine the first process can read or store its types later than its rows.
    costs = [peer.cost() for peer in (second, third, first)]
    assert max(cost.reads for cost in costs) <= 1
    assert costs[2] == Cost(0, 0)


async def test_a_search_after_dropped_rows_reads_its_types_last(office: Office) -> None:
    """After the cached rows were dropped, a search reads the types after the rows."""
    first, _, _ = office.peers
    await first.listed(LARGE)
    await first.update(2, name="Reno")
    office.cities.type(2, "Rome")
    await first.update(2, state="MA")  # cached types still contain another row 2
    first.cost()

    await first.listed(LARGE)

    assert first.cost() == Cost(3, 0)
