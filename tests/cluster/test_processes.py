"""Tests of the shared quota with a real Redis and a real clock, at a faster rate."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from redis.asyncio import Redis

from gateway.cluster.membership import Membership, Tempo
from gateway.cluster.quota import SharedQuota
from gateway.cluster.store import open_store
from gateway.errors import QuotaSpent
from gateway.google.quota import Bucket, Rate, configured_limit
from gateway.google.sheets import CallContext
from tests.cluster.redis_server import RedisServer

PER_MINUTE = 540
TEMPO = Tempo(
    beat_seconds=0.05, late_seconds=0.1, silent_seconds=0.4, settle_seconds=0.6, rest_seconds=0.5
)


@dataclass
class Office:
    """Simulated processes, each with its own Redis client, and the times of their calls."""

    url: str
    sent: list[tuple[float, int]] = field(default_factory=list)
    buckets: list[Bucket] = field(default_factory=list)
    memberships: list[Membership] = field(default_factory=list)

    @asynccontextmanager
    async def opened(self, count: int) -> AsyncIterator["Office"]:
        async with AsyncExitStack() as stack:
            for number in range(count):
                store = await stack.enter_async_context(open_store(self.url, timeout_seconds=0.1))
                membership = Membership(store, tempo=TEMPO, host=f"host-{number}")
                quota = SharedQuota(store, membership)
                bucket = Bucket(
                    Rate(PER_MINUTE),
                    Rate(10 * PER_MINUTE),
                    is_write=False,
                    max_waiting_seconds=30.0,
                    share=quota.share,
                    names=("account", "project"),
                )
                self.buckets.append(bucket)
                self.memberships.append(membership)
            tasks = [asyncio.create_task(self.beat(each)) for each in self.memberships]
            for number in range(count):
                tasks += [asyncio.create_task(self.call(number, key)) for key in "abcd"]
            try:
                yield self
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def beat(self, membership: Membership) -> None:
        while True:
            await membership.beat()
            await asyncio.sleep(TEMPO.beat_seconds)

    async def call(self, number: int, key: str) -> None:
        """Call Google as often as the quota allows."""
        while True:
            try:
                await self.buckets[number].take(CallContext(key))
            except QuotaSpent:
                await asyncio.sleep(0.01)
            else:
                self.sent.append((time.monotonic(), number))

    def excess(self) -> float:
        """Return the largest number of calls beyond rate and burst in any time span."""
        limit = configured_limit(PER_MINUTE)
        worst, owed, before = 0.0, 0.0, 0.0
        for at, _ in self.sent:
            owed = max(0.0, owed - (at - before) / limit.interval_seconds) + 1
            worst, before = max(worst, owed), at
        return worst - limit.burst


async def nothing(_: RedisServer) -> None:
    await asyncio.sleep(1.0)


async def flush(server: RedisServer) -> None:
    async with Redis.from_url(server.url) as client:
        await client.flushall()


async def restart(server: RedisServer) -> None:
    """Replace Redis by an empty server after a second."""
    server.kill()
    await asyncio.sleep(1.0)
    server.start()


async def hang(server: RedisServer) -> None:
    server.suspend()
    await asyncio.sleep(2.0)
    server.resume()


async def fill(server: RedisServer) -> None:
    """Fill the memory of Redis for a second."""
    async with Redis.from_url(server.url) as client:
        await client.config_set("maxmemory", "1")
        await asyncio.sleep(1.0)
        await client.config_set("maxmemory", "0")


async def cut(server: RedisServer) -> None:
    """Close all connections of Redis several times."""
    async with Redis.from_url(server.url) as client:
        for _ in range(5):
            await client.client_kill_filter(skipme=True, _type="normal")
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("fault", [nothing, flush, restart, hang, fill, cut])
async def test_processes_under_load_keep_to_the_rate(
    server: RedisServer, fault: Callable[[RedisServer], Awaitable[None]]
) -> None:
    """All processes together keep to the rate of one process, whatever happens to Redis."""
    async with Office(server.url).opened(3) as office:
        await asyncio.sleep(2.0)
        await fault(server)
        await asyncio.sleep(3.0)
        count = len(office.sent)
        await asyncio.sleep(2.0)

    assert office.excess() <= 1.0  # the two ends measure times that differ by the network delay
    assert len(office.sent) - count >= 0.8 * 2.0 * PER_MINUTE / 60


async def test_waiting_processes_get_equal_quota(server: RedisServer) -> None:
    """Three processes that always wait get about a third of the quota each."""
    async with Office(server.url).opened(3) as office:
        await asyncio.sleep(5.0)
    counts: Sequence[int] = [*Counter(number for _, number in office.sent).values()]

    assert len(counts) == 3
    assert min(counts) >= sum(counts) / 6


async def test_a_cancelled_call_returns_its_quota(server: RedisServer) -> None:
    """Calls cancelled while they wait for Redis take no quota from other calls."""
    office = Office(server.url)
    async with office.opened(1):
        await asyncio.sleep(1.0)
        (bucket,) = office.buckets
        for _ in range(50):
            gone = asyncio.create_task(bucket.take(CallContext("x")))
            await asyncio.sleep(0.01)
            gone.cancel()
        await asyncio.sleep(2.0)
        late = [at for at, _ in office.sent if at > time.monotonic() - 2.0]

    assert len(late) >= 0.8 * 2.0 * PER_MINUTE / 60
    assert office.excess() <= 1.0
