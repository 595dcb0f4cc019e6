"""Tests of the write lock: one process writes at a time, and uses the state of the last writer.

The holder is the process with the lock. A fence is a metadata entry that each batch creates; the
stored fence is open until the outcome of its batch is known.
"""

import asyncio
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from gateway.errors import (
    Forbidden,
    GatewayError,
    QueueFull,
    RecordsUnavailable,
    WriteOutcomeUnknown,
)
from gateway.worksheets.fences import BURNT
from tests.cluster.peers import Office, Peer, until
from tests.cluster.redis_server import RedisServer
from tests.postgres import PostgresServer
from tests.storage.by_hand import execute
from tests.worksheets.scripted_sheets import Cost

LOST = WriteOutcomeUnknown("no answer")
ONE_WRITE = Cost(0, 1)
COUNT = "SELECT count(*) FROM row_removals"


async def test_concurrent_creates_get_different_rows(office: Office) -> None:
    """Creates of all processes get different rows, and no two batches run at the same time."""
    names = [f"{peer}-{number}" for peer in range(3) for number in range(5)]
    rows = await asyncio.gather(*(office.peers[int(name[0])].created(name) for name in names))
    lines = office.cities.lines()

    assert [lines[row - 1][0] for row in rows] == names
    assert len(lines) == 4 + len(names)
    assert office.google.most_writes_at_once["Cities"] == 1


async def test_a_write_waits_for_another_process(office: Office) -> None:
    """The second process reads the worksheet only after the first process's batch is answered."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.after("apply", gate)
    writing = [asyncio.create_task(first.created("Reno"))]
    await first.sheets.begun("apply")
    writing.append(asyncio.create_task(second.created("Bern")))
    await until(office.is_waiting)
    cost_of_waiting = second.cost()
    gate.set()

    assert await asyncio.gather(*writing) == [5, 6]
    assert cost_of_waiting == Cost(0, 0)


async def test_the_wait_for_the_lock_is_limited(
    server: RedisServer, postgres: PostgresServer
) -> None:
    """A write that waits too long for the lock gets an error and changes nothing."""
    async with Office(postgres, server, max_waiting_seconds=0.3).opened(2) as office:
        first, second = office.peers
        gate = office.gate()
        first.sheets.before("apply", gate)
        writing = asyncio.create_task(first.created("Reno"))
        await first.sheets.begun("apply")
        with pytest.raises(QueueFull) as refused:
            await second.created("Bern")
        gate.set()
        row = await writing

    assert refused.value.outcome == "not_applied"
    assert second.cost() == Cost(0, 0)
    assert row == 5
    assert office.held_names() == ["Boston", "Denver", "Austin", "Reno"]


async def test_the_lock_of_a_holder_that_hangs_is_freed(
    server: RedisServer, postgres: PostgresServer
) -> None:
    """PostgreSQL ends the session of a holder that hangs after the maximum time of a call."""
    async with Office(postgres, server, longest_seconds=1.0).opened(2) as office:
        first, second = office.peers
        gate = office.gate()
        first.sheets.before("apply", gate)
        hanging = asyncio.create_task(first.create("late"))
        await first.sheets.begun("apply")
        row = await second.created("Bern")
        gate.set()
        await refused(hanging)

    assert row == 5
    assert office.held_names() == ["Boston", "Denver", "Austin", "Bern"]


async def test_a_next_writer_needs_no_read(office: Office) -> None:
    """The next holder gets last row, header and sheet ID from the last writer, without a read."""
    first, second, _ = office.peers
    for peer in (first, second):  # both cache the rows
        await peer.created("Oslo")
        peer.cost()
    rows, costs = [], []
    for number in range(6):
        peer = (first, second)[number % 2]
        rows.append(await peer.created(f"n{number}"))
        costs.append(peer.cost())

    assert rows == [*range(7, 13)]
    assert costs == [ONE_WRITE] * 6
    assert office.held_names()[5:] == [f"n{number}" for number in range(6)]


async def test_a_next_writer_reads_an_unknown_header(office: Office) -> None:
    """If the last writer saw an unknown header, the next holder reads the worksheet."""
    first, second, _ = office.peers
    for peer in (first, second):
        await peer.created("Oslo")
    office.cities.type(1, "city", "name")
    await first.update(2, name="Texas")
    second.cost()
    row = await second.created("here")

    assert second.cost() == Cost(1, 1)
    assert office.cities.lines()[row - 1][:2] == ["", "here"]


async def test_a_successor_of_a_delete_appends_at_the_end(office: Office) -> None:
    """After a delete, the next holder appends at the new end of the rows."""
    first, second, _ = office.peers
    for peer in (first, second):
        await peer.created("Oslo")
    await first.delete(2)
    row = await second.created("Bern")

    assert row == 6
    assert office.held_names() == ["Denver", "Austin", "Oslo", "Oslo", "Bern"]


async def test_a_lost_session_without_a_next_writer(office: Office) -> None:
    """A holder whose PostgreSQL session was cut keeps the lock if no other process took it."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.after("read_sheet", gate)
    writing = asyncio.create_task(first.created("Reno"))
    await first.sheets.begun("read_sheet")
    await office.cut_holder()
    gate.set()

    assert await writing == 5
    assert await second.created("Bern") == 6


async def test_a_replaced_holder_sends_no_batch(office: Office) -> None:
    """A holder that was replaced stores no fence and sends no batch; its write gets an error."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.after("read_sheet", gate)
    late = asyncio.create_task(first.create("late"))
    await first.sheets.begun("read_sheet")
    await office.cut_holder()
    await second.created("Bern")
    row = await office.row()
    gate.set()
    await refused(late)

    assert first.sheets.count("apply") == 0
    assert await office.row() == row
    assert await first.created("Reno") == 6
    assert office.held_names()[3:] == ["Bern", "Reno"]


async def test_an_applied_batch_of_a_dead_holder_is_found(office: Office) -> None:
    """The next holder finds the fence of a dead holder's batch, and appends below its rows."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.after("apply", gate)
    writing = asyncio.create_task(first.created("Reno"))
    await first.sheets.begun("apply")
    await office.cut_holder()
    row = await second.created("Bern")
    put, searched = second.sheets.count("put_fence"), second.sheets.count("fence_tokens")
    gate.set()

    assert (row, put, searched) == (6, 0, 1)
    assert await writing == 5  # the batch was applied
    assert office.held_names()[3:] == ["Reno", "Bern"]
    assert await first.created("Oslo") == 7


async def test_an_unapplied_batch_is_invalidated(office: Office) -> None:
    """A late batch of a dead holder is rejected by Google, and its write ends as not applied."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.before("apply", gate)
    late = asyncio.create_task(first.create("late"))
    await first.sheets.begun("apply")
    await office.cut_holder()
    token = (await office.row())["token"]
    row = await second.created("Bern")
    (batch,) = first.sheets.batches
    burnt = [each.token for each in office.fake.fences if each.id == batch.fence.id]
    gate.set()
    await refused(late)

    assert token == batch.fence.token
    assert [each.endswith(BURNT) for each in burnt] == [True]
    assert row == 5
    assert office.held_names()[3:] == ["Bern"]
    assert (await office.row())["token"] is None


@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "not applied"])
async def test_an_open_outcome_is_resolved_once(office: Office, is_applied: bool) -> None:
    """A fence stays open until one process finds its outcome; later processes check nothing."""
    first, second, third = office.peers
    leaves_open(first, is_applied=is_applied)
    with pytest.raises(WriteOutcomeUnknown):
        await first.create("Reno")
    row = await office.row()
    created = await second.created("Bern")
    await third.created("Oslo")

    assert row["token"] == first.sheets.batches[0].fence.token
    assert created == (6 if is_applied else 5)
    assert office.held_names()[3:] == [*(["Reno"] if is_applied else []), "Bern", "Oslo"]
    assert third.sheets.count("fence_tokens") == 0


async def test_a_writer_that_cannot_resolve_a_fence_sends_nothing(office: Office) -> None:
    """A process that cannot check an open fence gets an error; the next process finds the fence."""
    first, second, third = office.peers
    leaves_open(first, is_applied=True)
    with pytest.raises(WriteOutcomeUnknown):
        await first.create("Reno")
    before = await office.row()
    second.sheets.before("fence_tokens", Forbidden("no access"))
    await refused(asyncio.create_task(second.create("Bern")))
    after = await office.row()
    row = await third.created("Oslo")

    assert second.sheets.count("apply") == 0
    assert after["token"] == before["token"]
    assert row == 6


async def test_a_process_resolves_its_own_open_fence(office: Office) -> None:
    """The next write of a process checks the fence (mark of an open batch) of its earlier write."""
    first, second, _ = office.peers
    leaves_open(first, is_applied=False)
    with pytest.raises(WriteOutcomeUnknown):
        await first.update(2, name="Basel")
    await first.update(2, name="Bern")

    assert office.held_names()[0] == "Bern"
    assert (await office.row())["token"] is None
    assert (await second.names())[0] == "Bern"


async def test_a_rejected_write_leaves_no_open_fence(office: Office) -> None:
    """If Google rejects a batch by request number, nothing was applied and no fence stays open."""
    first, second, _ = office.peers
    first.sheets.poison["Reno"] = "Invalid requests[{index}].appendCells: protected"
    with pytest.raises(GatewayError):
        await first.create("Reno")
    row = await second.created("Bern")

    assert row == 5
    assert (await office.row())["token"] is None
    assert second.sheets.count("fence_tokens") == 0


def leaves_open(peer: Peer, *, is_applied: bool) -> None:
    """Make the next batch end without an answer, and the next search for fences fail."""
    play: Callable[..., None] = peer.sheets.after if is_applied else peer.sheets.before
    play("apply", LOST)
    peer.sheets.before("fence_tokens", Forbidden("no access"))


async def refused(write: "asyncio.Task[object]") -> None:
    """Check that the write ended as not applied."""
    with pytest.raises(QueueFull) as caught:
        await write

    assert caught.value.outcome == "not_applied"


async def test_the_last_row_is_that_of_the_latest_read(office: Office) -> None:
    """The last row comes from the latest read, because people can delete rows."""
    first, second, _ = office.peers
    await first.created("Reno")
    await second.created("Bern")
    await second.created("Oslo")
    office.cities.delete_rows(4, 3)
    await first.listed(no_cache=True)
    first.cost()
    row = await first.created("Lima")

    assert row == 5
    assert first.cost() == Cost(0, 1)
    assert office.held_names() == ["Boston", "Denver", "Oslo", "Lima"]


@pytest.mark.parametrize(
    "damage",
    [
        "token = 'x', fence_key = 'gw', sent_at = 1, fence_id = NULL",
        "token = 'x', fence_key = NULL, sent_at = 1, fence_id = 5",
        "token = 'x', fence_key = 'gw', sent_at = NULL, fence_id = 5",
        "token = 'x', fence_key = 'gw', sent_at = 'NaN', fence_id = 5",
        "token = '', fence_key = 'gw', sent_at = 1, fence_id = 5",
        "token = 'x', fence_key = 'gw', sent_at = 1, fence_id = -5",
    ],
)
async def test_a_damaged_fence_blocks_writes(office: Office, damage: str) -> None:
    """With a damaged fence in the database, writes get 503 until an operator repairs the fence."""
    first, second, _ = office.peers
    await first.created("Reno")
    first.cost()
    table = f"{office._schema}.worksheets"
    await office.asked(f"UPDATE {table} SET {damage}")  # noqa: S608
    with capture_logs() as logged, pytest.raises(RecordsUnavailable) as refused:
        await first.created("Bern")
    names = await second.names()
    await office.asked(f"DELETE FROM {table}")  # noqa: S608
    row = await first.created("Oslo")

    assert refused.value.outcome == "not_applied"
    assert first.cost().writes == 1
    assert [(event["event"], event["table"]) for event in logged] == [("damaged-row", "worksheets")]
    assert names == ["Boston", "Denver", "Austin", "Reno"]
    assert row == 6


async def test_a_damaged_last_row_is_read_again(office: Office) -> None:
    """With a damaged last row in the lock's database row, the next holder reads the worksheet."""
    first, second, _ = office.peers
    for peer in (first, second):
        await peer.created("Oslo")
    await office.asked(f"UPDATE {office._schema}.worksheets SET last_row = -7, sheet_id = -1")  # noqa: S608
    row = await first.created("Bern")

    assert row == 7
    assert office.held_names()[3:] == ["Oslo", "Oslo", "Bern"]


async def test_only_removals_are_stored_in_row_removals(office: Office) -> None:
    """A delete stores its removed rows in the lock's database row; an update stores none."""
    first, *_ = office.peers
    counts: list[int] = []

    def count() -> None:
        counts.extend(row[0] for row in execute(office.database, COUNT))

    first.sheets.before("apply", count)
    await first.update(2, name="Texas")
    first.sheets.before("apply", count)
    await first.delete(3)

    assert counts == [0, 1]
