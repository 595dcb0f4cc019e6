"""Tests of `Store` with a Redis that hangs, stops, is full, and returns."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from redis.asyncio import Redis

from gateway.cluster.scripts import PROBE
from gateway.cluster.store import Store, StoreFault, StoreUnavailable, open_store
from tests.cluster.redis_server import PASSWORD, RedisServer
from tests.journeys.waiting import PATIENCE_SECONDS


@pytest.fixture
async def store(server: RedisServer) -> AsyncIterator[Store]:
    async with open_store(server.url) as opened:
        opened.returned()
        yield opened


async def kill(server: RedisServer) -> None:
    server.kill()


async def suspend(server: RedisServer) -> None:
    server.suspend()


async def fill(server: RedisServer) -> None:
    """Set the memory limit of Redis so low that it stores nothing more."""
    async with Redis.from_url(server.url) as client:
        await client.config_set("maxmemory", "1")


@pytest.mark.parametrize("fault", [kill, suspend, fill])
async def test_a_fault_costs_a_quarter_of_a_second_once(
    store: Store, server: RedisServer, fault: Callable[[RedisServer], Awaitable[None]]
) -> None:
    """After a fault, the first call waits 250 ms at most, and the next calls do not wait."""
    await store.run(PROBE, ["x"])
    await fault(server)
    instants = [time.monotonic()]
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await store.run(PROBE, ["x"])
        instants.append(time.monotonic())
    server.restart()

    assert instants[1] - instants[0] < 1.0
    assert instants[2] - instants[1] < 0.1
    assert not store.is_available


async def test_a_probe_finds_redis_again(store: Store, server: RedisServer) -> None:
    """A probe loads its scripts again after a restart of Redis."""
    await store.run(PROBE, ["x"])
    server.kill()
    with pytest.raises(StoreUnavailable):
        await store.probe(PROBE, ["x"])
    server.start()
    answer = await store.probe(PROBE, ["x"])
    store.returned()

    assert int(answer) == pytest.approx(time.time() * 1e6, abs=10e6)
    assert await store.run(PROBE, ["x"])


async def test_idle_connections_of_a_restarted_redis_are_replaced(server: RedisServer) -> None:
    """After a restart of Redis, its idle connections are replaced without a second outage."""
    told: list[str | None] = []
    async with open_store(
        server.url, timeout_seconds=PATIENCE_SECONDS, changed=told.append
    ) as store:
        store.returned()
        await asyncio.gather(*(store.run(PROBE, ["x"]) for _ in range(4)))
        await asyncio.to_thread(server.restart)
        await asyncio.gather(*(store.run(PROBE, ["x"]) for _ in range(4)))

    assert told == [None]


async def test_no_cancellation_is_lost(server: RedisServer) -> None:
    """A task that calls Redis in a loop ends when it is cancelled."""

    async def ask(store: Store) -> None:
        while True:
            await store.run(PROBE, ["x"])

    async with open_store(server.url, timeout_seconds=PATIENCE_SECONDS) as store:
        store.returned()
        tasks = [asyncio.create_task(ask(store)) for _ in range(8)]
        for number in range(400):
            await asyncio.sleep(number % 20 / 10_000)
            gone, tasks = tasks[0], [*tasks[1:], asyncio.create_task(ask(store))]
            gone.cancel()
            await asyncio.wait([gone], timeout=PATIENCE_SECONDS)
            assert gone.cancelled()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_a_cancellation_is_not_lost_to_a_fault(store: Store, server: RedisServer) -> None:
    """A task that is cancelled while Redis hangs ends as cancelled, not with `StoreUnavailable`."""
    await store.run(PROBE, ["x"])
    server.suspend()
    tasks = [asyncio.create_task(store.run(PROBE, ["x"])) for _ in range(20)]
    is_asked = []  # False if the task ended early, on a slow machine
    for task in tasks:
        await asyncio.sleep(0.012)
        is_asked.append(task.cancel())
    done = await asyncio.gather(*tasks, return_exceptions=True)
    server.restart()

    assert is_asked[0]
    assert [isinstance(each, asyncio.CancelledError) for each in done] == is_asked


@pytest.mark.parametrize("password", [PASSWORD, "wrong-but-secret"])
async def test_no_error_contains_the_password(server: RedisServer, password: str) -> None:
    """Neither errors nor the logged reason contain the password of Redis."""
    told: list[str | None] = []
    async with open_store(server.url.replace(PASSWORD, password)) as opened:
        store = Store(opened._client, changed=told.append)
        store.returned()
        if password == PASSWORD:
            server.kill()
        with pytest.raises(StoreUnavailable) as caught:
            await store.run(PROBE, ["x"])
    server.restart()

    texts = f"{told} {caught.value!r} {caught.value.__cause__!r} {store!r}"
    assert password not in texts
    assert told == [None, StoreFault.REFUSED if password == PASSWORD else StoreFault.PASSWORD]
