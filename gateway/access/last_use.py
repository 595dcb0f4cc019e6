"""Time of each key's last use, written in the background."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from cachetools import LRUCache

from gateway.telemetry.events import last_use_failed

COARSENESS = timedelta(hours=1)
MAX_KEPT = 100_000
"""More keys in use at once touch the store more often than they need to."""

Touch = Callable[[str, datetime], Awaitable[object]]
"""Keeps the instant at which a key, by its id, was used."""


class LastUse:
    """Touches each key that is used, once an hour at most; what fails is not tried before then.

    One key after another: requests need the store, too.
    """

    def __init__(self, touch: Touch, clock: Callable[[], datetime]) -> None:
        self._touch = touch
        self._clock = clock
        self._noted: LRUCache[str, datetime] = LRUCache(MAX_KEPT)
        self._waiting: dict[str, datetime] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, key_id: str) -> None:
        """The key is used now; returns at once."""
        now, noted = self._clock(), self._noted.get(key_id)
        if noted is not None and now - noted < COARSENESS:
            return
        self._noted[key_id] = self._waiting[key_id] = now
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._keep_all())

    async def aclose(self) -> None:
        """Returns when all that was noted is kept."""
        if self._task is not None:
            await self._task

    async def _keep_all(self) -> None:
        while self._waiting:
            key_id, used_at = self._waiting.popitem()
            try:
                await self._touch(key_id, used_at)
            except Exception as error:  # the edge of a background task: nobody else would hear
                last_use_failed(key_id, error)
