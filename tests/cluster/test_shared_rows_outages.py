"""Tests of shared rows while Redis loses data, restarts or is unavailable.

An epoch names a version of the rows in Redis; cached rows are fresh only while their epoch is
current. A marked answer has `detail=alone`: it can lack writes of other processes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gateway.cluster.row_scripts import LOOK, PUBLISH
from gateway.errors import RowNotFound
from tests.cluster.peers import Office
from tests.worksheets.scripted_sheets import Cost

NONE = Cost(0, 0)
ONE_READ = Cost(1, 0)
Fault = Callable[[Office], Awaitable[None]]


async def kill(office: Office) -> None:
    office.server.kill()


async def start(office: Office) -> None:
    office.server.start()
    await office.reconnect()


async def fill(office: Office) -> None:
    """Set the memory limit of Redis so low that it stores nothing more."""
    async with office.redis() as client:
        await client.config_set("maxmemory", "1")


async def make_room(office: Office) -> None:
    async with office.redis() as client:
        await client.config_set("maxmemory", "0")
    await office.reconnect()


async def flush(office: Office) -> None:
    async with office.redis() as client:
        await client.flushall()


async def restart_empty(office: Office) -> None:
    office.server.restart()
    await office.reconnect()


async def restart_with_all(office: Office) -> None:
    """Restart Redis with all values and another `run_id`."""
    async with office.redis() as client:
        await client.save()
    office.server.restore()
    await office.reconnect()


AWAY = pytest.mark.parametrize(
    ("leave", "come_back"), [(kill, start), (fill, make_room)], ids=["killed", "full"]
)
LOSING = pytest.mark.parametrize("lose", [flush, restart_empty, restart_with_all])


@LOSING
async def test_rows_are_read_again_after_a_loss(office: Office, lose: Fault) -> None:
    """After Redis lost its data, no cached row counts as fresh, and one process reads for all."""
    first, second, third = office.peers
    await office.settle_in()
    await lose(office)
    office.cities.type(2, "Basel")
    shown = [await peer.listed() for peer in office.peers]

    assert [each.names for each in shown] == [["Basel", "Denver", "Austin"]] * 3
    assert [peer.cost() for peer in (first, second, third)] == [ONE_READ, NONE, NONE]
    assert not any(each.freshness.is_alone for each in shown)


@LOSING
async def test_a_write_before_a_loss_is_seen_by_all(office: Office, lose: Fault) -> None:
    """Other processes see a write before the loss, although they never read its new epoch."""
    writer, *others = office.peers
    await office.settle_in()
    await writer.created("Reno")
    await lose(office)
    shown = [await peer.listed() for peer in others]

    assert [each.names for each in shown] == [office.held_names()] * 2
    assert not any(each.freshness.is_alone for each in shown)


@LOSING
async def test_a_write_after_a_loss_is_seen_by_all(office: Office, lose: Fault) -> None:
    """A write after the loss starts a new epoch, so that all processes see the write."""
    writer, *others = office.peers
    await office.settle_in()
    await lose(office)
    settled = await writer.create("Reno")
    shown = [await peer.listed() for peer in others]

    assert [each.names for each in shown] == [office.held_names()] * 2
    assert not settled.is_alone
    assert not any(each.freshness.is_alone for each in shown)


async def test_a_flush_while_a_batch_is_at_google(office: Office) -> None:
    """If Redis is flushed during a batch, the answer still has a new epoch."""
    writer, other, _ = office.peers
    await office.settle_in()
    gate = office.gate()
    writer.sheets.after("apply", gate)
    writing = asyncio.create_task(writer.create("Reno"))
    await writer.sheets.begun("apply")
    await flush(office)
    before = await other.names()
    gate.set()
    settled = await writing
    listed = await other.listed()

    assert before in (["Boston", "Denver", "Austin"], office.held_names())
    assert listed.names == office.held_names()
    assert not listed.freshness.is_alone
    assert not settled.is_alone


@AWAY
async def test_each_process_reads_for_itself_without_redis(
    office: Office, leave: Fault, come_back: Fault
) -> None:
    """Without Redis, answers are marked, because they can lack writes of other processes."""
    first, second, _ = office.peers
    await leave(office)
    alone = [await peer.listed() for peer in (first, second)]
    costs = [first.cost(), second.cost()]
    await come_back(office)
    together = [await peer.listed() for peer in (first, second)]

    assert [each.names for each in alone] == [office.held_names()] * 2
    assert [each.freshness.is_alone for each in alone] == [True, True]
    assert costs == [ONE_READ] * 2
    assert [each.names for each in together] == [office.held_names()] * 2
    assert [each.freshness.is_alone for each in together] == [False, False]


async def test_cached_rows_are_served_without_redis(office: Office) -> None:
    """Without Redis, cached rows are returned marked and without a call until they expire."""
    first, second, _ = office.peers
    await office.settle_in()
    await kill(office)
    shown = [await peer.listed() for peer in (first, second)]
    await start(office)

    assert [each.names for each in shown] == [office.held_names()] * 2
    assert [each.freshness.is_alone for each in shown] == [True, True]
    assert [first.cost(), second.cost()] == [NONE, NONE]


async def test_a_write_without_redis_is_marked(office: Office) -> None:
    """Without Redis the writer sees its write, and others see the write after the outage."""
    writer, other, _ = office.peers
    await office.settle_in()
    await kill(office)
    settled = await writer.create("Reno")
    own, others = await writer.listed(), await other.listed()
    with pytest.raises(RowNotFound) as missed:
        await writer.update(50, name="Bern")
    await start(office)
    names = [await peer.names() for peer in office.peers[:2]]
    later = await writer.create("Oslo")

    assert settled.is_alone
    assert missed.value.is_alone
    assert own.names == ["Boston", "Denver", "Austin", "Reno"]
    assert others.freshness.is_alone
    assert names == [own.names] * 2
    assert not later.is_alone


async def test_a_write_to_a_full_redis_is_marked(office: Office) -> None:
    """If Redis is full, the answer of a write is marked; all see the write when Redis has space."""
    writer, other, _ = office.peers
    await office.settle_in()
    await fill(office)
    settled = await writer.create("Reno")
    await make_room(office)
    names = [await peer.names() for peer in (writer, other)]

    assert settled.is_alone
    assert names == [office.held_names()] * 2


async def test_redis_gone_before_a_write_is_answered(office: Office) -> None:
    """If Redis fails before a write is answered, the answer says so with `detail=alone`."""
    writer, other, _ = office.peers
    await office.settle_in()
    writer.sheets.after("apply", office.server.kill)
    settled = await writer.create("Reno")
    await start(office)
    names = await other.names()
    next_settled = await other.create("Oslo")

    assert settled.is_alone
    assert names == ["Boston", "Denver", "Austin", "Reno"]
    assert not next_settled.is_alone
    assert next_settled.results[0].row == 6


async def test_redis_gone_while_a_read_is_waited_for(office: Office) -> None:
    """If Redis fails while a process waits for another's read, the process reads itself."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.after("read_columns", gate)
    reading = asyncio.create_task(first.names())
    await first.sheets.begun("read_columns")
    waiting = asyncio.create_task(second.names())
    office.server.kill()
    names = await waiting
    gate.set()
    others = await reading
    await start(office)

    assert names == others == office.held_names()
    assert second.cost() == ONE_READ


async def test_a_write_of_a_process_cut_off_alone(office: Office) -> None:
    """A process that alone lost Redis stores its write when it reconnects; all see the write."""
    writer, other, _ = office.peers
    await office.settle_in()
    writer.store._lose(ConnectionError("cut"))
    settled = await writer.create("Reno")
    writer.store.returned()
    own = await writer.listed()
    others = await other.listed()

    assert settled.is_alone
    assert own.names == office.held_names()
    assert others.names == office.held_names()


async def test_an_epoch_that_expired_is_unknown(office: Office) -> None:
    """An expired epoch is replaced by a new one, and the rows are read again."""
    first, second, _ = office.peers
    await office.settle_in()
    async with office.redis() as client:
        (key,) = await client.keys("{gateway}:epoch:*")
        await client.delete(key)
    names = [await first.names(), await second.names()]

    assert names == [office.held_names()] * 2
    assert [first.cost(), second.cost()] == [ONE_READ, NONE]


async def test_rows_of_the_future_are_read_again(office: Office) -> None:
    """If Redis's clock moved back, rows of a future time are read again."""
    first, second, _ = office.peers
    await first.names()
    async with office.redis() as client:
        (name,) = [each async for each in client.scan_iter("{gateway}:rows:*")]
        await client.hincrby(name, "read_at", 3600 * 1_000_000)
    office.cities.type(2, "Basel")
    shown = [await peer.listed(no_cache=True) for peer in (second, first)]

    assert [each.names[0] for each in shown] == ["Basel", "Basel"]
    assert all(0 <= each.freshness.age_seconds < 60 for each in shown)


@pytest.mark.parametrize("script", [LOOK, PUBLISH], ids=["look", "publish"])
async def test_a_late_message_does_not_make_rows_younger(office: Office, script: str) -> None:
    """Rows keep their real age if a process is suspended before it stores or reads them."""
    reader, other, _ = office.peers
    slow = reader if script is PUBLISH else other
    run = slow.store.run

    async def late(name: str, *arguments: Any, **options: Any) -> Any:
        if name is script is PUBLISH:
            await asyncio.sleep(1.0)
        answer = await run(name, *arguments, **options)
        if name is script is LOOK:
            await asyncio.sleep(1.0)
        return answer

    slow.store.run = late  # type: ignore[method-assign, assignment]
    await reader.listed()
    shown = await other.listed()

    assert shown.freshness.age_seconds >= 1.0
    assert other.cost() == NONE
