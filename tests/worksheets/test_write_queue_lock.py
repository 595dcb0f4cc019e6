"""The write queue and the lock that is held for each group."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import pytest

from gateway.errors import QueueFull
from gateway.settings.model import WriteSettings
from gateway.worksheets.write_queue import WriteQueue, WriteQueues
from gateway.worksheets.writes import Write
from tests.worksheets.conftest import TARGET, WORKSHEET, Bench
from tests.worksheets.desk import Desk


class Lock:
    """A lock that waits at `gate`, takes time at its end, and can fail there."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.end: Exception | None = None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        await self.gate.wait()
        try:
            yield
        finally:
            await asyncio.sleep(0.02)
        if self.end is not None:
            raise self.end

    def __call__(self) -> AbstractAsyncContextManager[None]:
        return self.held()


def queue_of(desk: Desk, lock: Lock, *, seconds: float) -> WriteQueue:
    settings = WriteSettings(max_waiting_seconds=seconds)
    return WriteQueue(WORKSHEET, partial(desk.perform, WORKSHEET), WriteQueues(settings), held=lock)


def update(number: int) -> Write:
    return Write.update(row=number, fields={"n": number})


async def test_known_outcomes_outlive_the_end_of_the_lock() -> None:
    """Writes that were carried out are answered so, even if releasing the lock fails."""
    desk, lock = Desk(), Lock()
    lock.gate.set()
    lock.end = RuntimeError("the transport is closed")
    (written,) = await queue_of(desk, lock, seconds=30).write(update(2))

    assert written.row == 2
    assert desk.groups == [[2]]


async def test_writes_that_gave_up_meanwhile_harm_no_later_one() -> None:
    """The lock is acquired when no write waits any more; a later write is carried out."""
    desk, lock = Desk(), Lock()
    queue = queue_of(desk, lock, seconds=0.05)
    with pytest.raises(QueueFull):
        await queue.write(update(2))
    lock.gate.set()
    await asyncio.sleep(0)
    (written,) = await queue.write(update(3))

    assert written.row == 3
    assert desk.groups == [[3]]
    await asyncio.sleep(0.05)
    assert queue.is_idle


async def test_a_process_alone_keeps_no_news(bench: Bench) -> None:
    """A single process stores no news of its writes, because no other process reads it."""
    for number in range(3):
        await bench.service.write(TARGET, Write.create(rows=({"name": f"n{number}"},)))

    assert bench.service._pool.get(WORKSHEET, bench.service._resources).shared is None
