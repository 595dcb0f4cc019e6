"""Tests of rows that processes share: one process reads, and others apply the changes of writes.

A rendering is all cells of a worksheet, displayed or typed. An epoch names a version of the rows in
Redis; cached rows are fresh only while their epoch is current.
"""

import asyncio
import zlib
from typing import Any

import msgspec
import pytest

from gateway.cluster.row_scripts import MAX_NEWS
from gateway.cluster.shared_rows import WAIT_SECONDS
from gateway.cluster.stored_values import MAX_SHARED_BYTES
from gateway.errors import RowNotFound
from gateway.google.sheets import CallContext, in_call_context
from gateway.query.query import Query, parse_where
from gateway.worksheets.snapshot import DISPLAYED
from gateway.worksheets.writes import Write
from tests.cluster.peers import KEPT_SECONDS, Office, Peer, until
from tests.worksheets.conftest import CITIES, TARGET, WORKSHEET
from tests.worksheets.scripted_sheets import Cost

NONE = Cost(0, 0)
ONE_READ = Cost(1, 0)


async def test_rows_read_by_one_serve_the_others(office: Office) -> None:
    """Rows that one process read are returned by a second process without a call."""
    first, second, _ = office.peers
    names = [await first.names(), await second.names()]

    assert names == [office.held_names()] * 2
    assert first.cost() == ONE_READ
    assert second.cost() == NONE


async def test_both_renderings_are_shared(office: Office) -> None:
    """A search in a second process uses displayed rows and types of Redis without a call."""
    first, second, _ = office.peers
    search = Query(where=parse_where({"population": {"$gt": 700_000}}))
    found = [(await peer.listed(search)).names for peer in (first, second)]

    assert found == [["Denver", "Austin"]] * 2
    assert first.cost() == Cost(2, 0)
    assert second.cost() == NONE


async def test_a_create_needs_no_read_by_others(office: Office) -> None:
    """Other processes add created rows to their cached rows without a read."""
    writer = office.peers[0]
    await office.settle_in()
    await writer.created("Reno")
    writer.cost()
    shown = [await peer.listed() for peer in office.peers]

    assert [each.names for each in shown] == [["Boston", "Denver", "Austin", "Reno"]] * 3
    assert [peer.cost() for peer in office.peers] == [NONE] * 3
    assert not any(each.freshness.is_alone for each in shown)


async def test_an_update_needs_no_read_by_others(office: Office) -> None:
    """Other processes apply an update to their cached rows without a read."""
    writer, other, _ = office.peers
    await office.settle_in()
    await writer.update(3, name="Bern")
    names = await other.names()

    assert names == ["Boston", "Bern", "Austin"]
    assert other.cost() == NONE


async def test_writes_of_several_processes_are_applied_in_order(office: Office) -> None:
    """A process applies the writes of two other processes in their order."""
    first, second, third = office.peers
    await office.settle_in()
    await first.created("Reno")
    await second.update(5, name="Bern")
    await first.created("Oslo")
    third_names, cost = await third.names(), third.cost()

    assert third_names == ["Boston", "Denver", "Austin", "Bern", "Oslo"] == office.held_names()
    assert cost == NONE


@pytest.mark.parametrize("is_edited", [False, True], ids=["as kept", "edited by a person"])
async def test_an_update_that_changes_nothing(office: Office, is_edited: bool) -> None:
    """After an update without changes, other processes read again only if their rows differ."""
    writer, other, _ = office.peers
    await office.settle_in()
    if is_edited:
        office.cities.type(3, None, "XX")
    await writer.update(3, name="Denver")
    listed = await other.listed()
    cost = other.cost()

    assert listed.names == office.held_names()
    assert listed.records[1]["state"] == ("XX" if is_edited else "CO")
    assert cost == (ONE_READ if is_edited else NONE)


@pytest.mark.parametrize("is_removed", [False, True], ids=["as kept", "removed by a person"])
async def test_an_update_of_a_missing_row(office: Office, is_removed: bool) -> None:
    """After one process answered that a row is missing, no process returns the row."""
    writer, other, _ = office.peers
    await office.settle_in()
    if is_removed:
        office.cities.delete_rows(4)
    with pytest.raises(RowNotFound):
        await writer.update(4 if is_removed else 50, name="Bern")
    names = await other.names()

    assert names == office.held_names()
    assert other.cost() == (ONE_READ if is_removed else NONE)


async def test_a_delete_causes_one_read(office: Office) -> None:
    """After a delete, one read gives all processes the rows with new numbers."""
    writer, second, third = office.peers
    await office.settle_in()
    await writer.delete(2)
    names = [await peer.names() for peer in (second, third)]

    assert names == [["Denver", "Austin"]] * 2
    assert second.cost() == ONE_READ
    assert third.cost() == NONE


@pytest.mark.parametrize(("count", "cost"), [(MAX_NEWS, NONE), (MAX_NEWS + 1, ONE_READ)])
async def test_a_long_chain_is_read_instead(office: Office, count: int, cost: Cost) -> None:
    """A process that missed more changes than Redis keeps reads the worksheet."""
    writer, other, _ = office.peers
    await office.settle_in()
    for number in range(count):
        await writer.update(3, name=f"Denver {number}")
    names = await other.names()

    assert names == ["Boston", f"Denver {count - 1}", "Austin"]
    assert other.cost() == cost


async def test_processes_that_read_together_share_a_read(office: Office) -> None:
    """A read waits for a running read of the same worksheet, also in another process."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.after("read_columns", gate)
    reads = [asyncio.create_task(first.names())]
    await first.sheets.begun("read_columns")
    reads.append(asyncio.create_task(second.names()))
    await has_asked(office, second)
    gate.set()
    names = await asyncio.gather(*reads)

    assert names == [office.held_names()] * 2
    assert [first.cost(), second.cost()] == [ONE_READ, NONE]


async def test_a_failed_read_is_repeated_by_another_process(office: Office) -> None:
    """If the read of one process fails, a waiting process reads for itself."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.before("read_columns", gate, RuntimeError("a fault of the gateway"))
    reads = [asyncio.create_task(first.names())]
    await first.sheets.begun("read_columns")
    reads.append(asyncio.create_task(second.names()))
    await has_asked(office, second)
    gate.set()
    error, names = await asyncio.gather(*reads, return_exceptions=True)

    assert isinstance(error, RuntimeError)
    assert names == office.held_names()
    assert second.cost() == ONE_READ


async def test_a_write_waits_for_no_reader_of_another_process(office: Office) -> None:
    """A write reads its rows itself and waits for no reader of another process."""
    reader, writer, _ = office.peers
    gate = office.gate()
    reader.sheets.before("read_columns", gate)
    reading = asyncio.create_task(reader.names())
    await reader.sheets.begun("read_columns")
    where = parse_where({"name": "Denver"})
    async with asyncio.timeout(WAIT_SECONDS / 2):
        write = Write.update_where(where=where, fields={"name": "Bern"}, max_rows=9)
        await writer.service.write(TARGET, write)
    gate.set()

    assert await reading == ["Boston", "Bern", "Austin"]


async def test_a_write_by_filter_reads_its_own_tab(office: Office) -> None:
    """A write by filter changes the worksheet that has the title now, not the renamed one."""
    writer, other, _ = office.peers
    await writer.update(2, name="Bern")
    office.cities.title = "Archive"
    new = office.fake.add("Cities", [CITIES[0], *CITIES[2:]], rows=100)
    await other.listed(no_cache=True)
    write = Write.update_where(
        where=parse_where({"name": "Austin"}), fields={"name": "Waco"}, max_rows=9
    )
    await writer.service.write(TARGET, write)

    assert office.held_names() == ["Bern", "Denver", "Austin"]
    assert [line[0] for line in new.lines()[1:]] == ["Denver", "Waco"]
    assert [await peer.names() for peer in office.peers] == [["Denver", "Waco"]] * 3


async def test_rows_by_sheet_id_are_not_taken_from_redis(office: Office) -> None:
    """A read by sheet ID does not use rows that another process read by title."""
    reader, other, _ = office.peers
    await reader.update(2, name="Bern")
    office.cities.title = "Archive"
    new = office.fake.add("Cities", CITIES[:2], rows=100)
    await other.listed(no_cache=True)
    with in_call_context(CallContext(max_age_seconds=KEPT_SECONDS)):
        worksheet = reader.service._pool.get(WORKSHEET, reader.service._resources)
        sheet_id, rows = await worksheet.read_in_turn(DISPLAYED)

    assert sheet_id == new.sheet_id
    assert rows.table.last_row == 2


async def test_a_shared_read_ends_with_both_renderings(office: Office) -> None:
    """After both renderings are stored, no process waits for the read."""
    first, _, _ = office.peers
    await office.settle_in(first)
    gate = office.gate()
    for nth in (1, 2):
        first.sheets.after("read_columns", gate, nth=nth)
    search = Query(where=parse_where({"population": {"$gt": 0}}))
    searching = asyncio.create_task(first.listed(search, no_cache=True))
    await first.sheets.begun("read_columns", times=first.sheets.count("read_columns") + 2)
    gate.set()
    await searching
    async with office.redis() as client:

        async def has_landed() -> bool:
            return not [key async for key in client.scan_iter("{gateway}:flight:*")]

        await until(has_landed)


async def test_too_large_rows_are_not_shared(office: Office) -> None:
    """Renderings and changes above the size limit are not shared, and all rows are correct."""
    first, second, _ = office.peers
    long, count = "x" * 50_000, MAX_SHARED_BYTES // 50_000 + 1
    for row in range(5, 5 + count):
        office.cities.type(row, long)
    office.cities.rows += 10
    everything = Query(limit=1000)
    lengths = [len((await peer.listed(everything)).records) for peer in (first, second)]
    costs = [first.cost(), second.cost()]
    await first.update(2, name="Bern")
    names = (await second.listed(everything)).names

    assert lengths == [3 + count] * 2
    assert costs == [ONE_READ] * 2
    assert names == office.held_names()


async def test_no_cache_uses_no_shared_rows(office: Office) -> None:
    """A read with `no-cache` does not use rows that another process read earlier."""
    first, second, _ = office.peers
    await first.names()
    office.cities.type(2, "Basel")
    listed = await second.listed(no_cache=True)
    names = await first.names()

    assert listed.names == ["Basel", "Denver", "Austin"]
    assert second.cost() == ONE_READ
    assert names == listed.names


async def test_a_read_that_differs_begins_an_epoch(office: Office) -> None:
    """After one process returned a person's edit, all processes return this edit."""
    first, second, third = office.peers
    await office.settle_in()
    office.cities.type(2, "Basel")
    await second.listed(no_cache=True)
    names = [await peer.names() for peer in (first, third)]

    assert names == [["Basel", "Denver", "Austin"]] * 2


@pytest.mark.parametrize("what", ["rows", "news"])
@pytest.mark.parametrize("kind", ["another format", "no message"])
async def test_an_unknown_format_is_a_miss(office: Office, what: str, kind: str) -> None:
    """A process reads Google if another version stored rows in an unknown format."""
    writer, other, third = office.peers
    if what == "rows":
        await writer.names()
        await spoil_rows(office, kind)
    else:
        await office.settle_in()
        await writer.created("Reno")
        await spoil_news(office, kind)
    names = [await other.names(), await third.names()]

    assert names == [office.held_names()] * 2
    assert other.cost() == ONE_READ
    assert third.cost() == NONE


async def has_asked(office: Office, peer: Peer) -> None:
    """Wait until a process waits for the read of another process."""
    async with office.redis() as client:
        before = await calls(client)

        async def has_looked() -> bool:
            return bool(peer.sheets.count("read_columns")) or await calls(client) >= before + 3

        await until(has_looked)


async def calls(client: Any) -> int:
    """Return the number of scripts that Redis has executed."""
    statistics = await client.info("commandstats")
    return int(statistics["cmdstat_evalsha"]["calls"])


async def spoil_rows(office: Office, kind: str) -> None:
    """Replace the stored rendering by one of another version."""
    body = b"no message"
    if kind == "another format":
        body = zlib.compress(msgspec.msgpack.encode((99, "'Cities'!A1:B2", [["name"]], 10)))
    async with office.redis() as client:
        (key,) = await client.keys("{gateway}:rows:*")
        await client.hset(key, "body", body)


async def spoil_news(office: Office, kind: str) -> None:
    """Replace the stored changes of the last write by those of another version."""
    news = b"no message" if kind == "no message" else msgspec.msgpack.encode((99, []))
    async with office.redis() as client:
        (key,) = await client.keys("{gateway}:news:*")
        before, after, _ = (await client.lindex(key, 0)).split(b"\n", 2)
        await client.lset(key, 0, b"\n".join([before, after, news]))
