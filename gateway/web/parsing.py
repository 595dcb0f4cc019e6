"""Parse large requests in a thread, in fair turns.

Rules: a thread of its own, so that bodies wait for no query of rows and queries for no body; and
of each key one body in line for it, so that nobody waits for all that another key has sent.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

MOST_BYTES = 32_768
"""Of bodies that are parsed on the event loop; one of many small fields takes about 5 ms."""

T = TypeVar("T")


class Parsing:
    """The thread for the bodies of one gateway."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(1)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, key_id: str, byte_count: int, work: Callable[[], T]) -> T:
        """What the work gives on a body of so many bytes that came with this key."""
        if byte_count <= MOST_BYTES:
            return work()
        return await self.beside(key_id, work)

    async def beside(self, key_id: str, work: Callable[[], T]) -> T:
        """What the work gives, made in the thread when it is this key's turn."""
        turn = self._turns.setdefault(key_id, asyncio.Lock())
        async with turn:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
