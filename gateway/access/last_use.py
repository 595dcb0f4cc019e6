"""Time of each key's last use, stored in the background."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from cachetools import LRUCache

from gateway.telemetry.events import last_use_failed

COARSENESS = timedelta(hours=1)
MAX_KEPT = 100_000
"""Maximum number of remembered keys; beyond it some are stored more often."""

Touch = Callable[[str, datetime], Awaitable[object]]
"""Stores the time at which the key with this ID was used."""


class LastUse:
    """Stores the use of each key at most once an hour, one key at a time, without retries."""

    def __init__(self, touch: Touch, clock: Callable[[], datetime]) -> None:
        self._touch = touch
        self._clock = clock
        self._noted: LRUCache[str, datetime] = LRUCache(MAX_KEPT)
        self._waiting: dict[str, datetime] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, key_id: str) -> None:
        """Note a use; does not wait."""
        now, noted = self._clock(), self._noted.get(key_id)
        if noted is not None and now - noted < COARSENESS:
            return
        self._noted[key_id] = self._waiting[key_id] = now
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._keep_all())

    async def aclose(self) -> None:
        """Wait until all noted uses are stored."""
        if self._task is not None:
            await self._task

    async def _keep_all(self) -> None:
        while self._waiting:
            key_id, used_at = self._waiting.popitem()
            try:
                await self._touch(key_id, used_at)
            except Exception as error:  # the edge of a background task
                last_use_failed(key_id, error)
