"""Tests of the write lock while PostgreSQL is unavailable.

The holder is the process with the lock. A fence is a metadata entry that each batch creates, and
that PostgreSQL stores before the batch is sent.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from gateway.errors import GatewayError, RecordsUnavailable
from tests.cluster.peers import Office, identity_of
from tests.cluster.redis_server import RedisServer
from tests.postgres import PostgresServer, running_server
from tests.worksheets.scripted_sheets import Cost


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server that tests can stop."""
    with running_server() as started:
        yield started


@pytest.fixture
async def office(server: RedisServer, own_postgres: PostgresServer) -> AsyncIterator[Office]:
    async with Office(own_postgres, server).opened() as opened:
        yield opened


async def test_nothing_is_written_without_postgresql(office: Office) -> None:
    """Without PostgreSQL, creates, updates and deletes get an error before any call."""
    first, second, _ = office.peers
    await office.settle_in()
    office.postgres.stop()
    ends = await asyncio.gather(
        first.create("Reno"),
        second.update(2, name="Bern"),
        second.delete(2),
        first.create("Reno", identity_of("Reno")),
        return_exceptions=True,
    )
    costs = [first.cost(), second.cost()]
    names = office.held_names()
    office.postgres.start()
    rows = [await first.created("Reno"), await second.created("Bern")]

    assert [type(each) for each in ends] == [RecordsUnavailable] * 4
    outcomes = [each.outcome for each in ends if isinstance(each, GatewayError)]
    assert outcomes == ["not_applied"] * 3 + [
        "unknown"
    ]  # the stored answer of the keyed write cannot be read
    assert costs == [Cost(0, 0)] * 2
    assert names == ["Boston", "Denver", "Austin"]
    assert rows == [5, 6]


async def test_rows_are_read_without_postgresql(office: Office) -> None:
    """Reads work without PostgreSQL, because they need only Google and Redis."""
    first, second, _ = office.peers
    office.postgres.stop()
    listed = [await first.listed(), await second.listed(no_cache=True)]
    office.postgres.start()

    assert [each.names for each in listed] == [["Boston", "Denver", "Austin"]] * 2
    assert not any(each.freshness.is_alone for each in listed)


async def test_postgresql_gone_before_the_fence_is_stored(office: Office) -> None:
    """If PostgreSQL fails before the fence is stored, no batch is sent; the write gets an error."""
    first, second, _ = office.peers
    first.sheets.after("read_sheet", office.postgres.stop)
    with pytest.raises(RecordsUnavailable) as refused:
        await first.create("Reno")
    office.postgres.start()
    row = await second.created("Bern")

    assert refused.value.outcome == "not_applied"
    assert first.sheets.count("apply") == 0
    assert row == 5
    assert await first.created("Oslo") == 6


async def test_postgresql_gone_at_the_end_of_a_write(office: Office) -> None:
    """If PostgreSQL fails after a batch, the write succeeds; the next holder finds the fence."""
    first, second, third = office.peers
    await office.settle_in()
    first.sheets.after("apply", office.postgres.stop)
    settled = await first.create("Reno")
    shown = [await peer.listed() for peer in office.peers]
    office.postgres.start()
    row = await office.row()
    created = [await second.created("Bern"), await first.created("Oslo")]

    assert settled.results[0].row == 5
    assert not settled.is_alone
    assert [each.names for each in shown] == [["Boston", "Denver", "Austin", "Reno"]] * 3
    assert row["token"] == first.sheets.batches[0].fence.token
    assert second.sheets.count("fence_tokens") == 1
    assert second.sheets.count("put_fence") == 0
    assert created == [6, 7]
    assert await third.names() == office.held_names()


async def test_postgresql_and_redis_gone_at_the_end_of_a_write(office: Office) -> None:
    """If PostgreSQL and Redis fail after a batch, the answer says `detail=alone`.

    All processes see the write afterwards.
    """
    first, second, _ = office.peers
    await office.settle_in()
    first.sheets.after("apply", office.postgres.stop, office.server.kill)
    settled = await first.create("Reno")
    own, others = await first.listed(), await second.listed()
    office.postgres.start()
    office.server.start()
    await office.reconnect()
    names = [await peer.names() for peer in office.peers]
    row = await second.created("Bern")

    assert settled.is_alone
    assert own.names == ["Boston", "Denver", "Austin", "Reno"]
    assert others.freshness.is_alone
    assert names == [own.names] * 3
    assert row == 6


async def test_a_keyed_write_whose_answer_was_not_stored(office: Office) -> None:
    """If the answer of a write with a key was not stored, another process repeats the answer."""
    first, second, _ = office.peers
    identity = identity_of("Reno")
    first.sheets.after("apply", office.postgres.stop)
    settled = await first.create("Reno", identity)
    office.postgres.start()
    repeated = await second.create("Reno", identity)

    assert settled.results[0].row == 5
    assert repeated.is_replayed
    assert repeated.results[0].record == settled.results[0].record
    assert office.held_names() == ["Boston", "Denver", "Austin", "Reno"]
