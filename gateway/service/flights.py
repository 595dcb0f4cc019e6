"""Reads under way that everybody who asks meanwhile joins.

Rules: a read goes on whoever leaves, since Google has counted it; its failure is nobody's
loose end. Each waiter gets the outcome, and may leave before.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from gateway.upstream.departure import noting_departure

T = TypeVar("T")


class Flight(Generic[T]):
    """One read under way; made in the context of the request that needed it first."""

    def __init__(self, work: Coroutine[Any, Any, T], began_seconds: float) -> None:
        self.began_seconds = began_seconds
        with noting_departure() as self._departure:
            self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(_look_at)

    @property
    def is_over(self) -> bool:
        return self._task.done()

    @property
    def sent_seconds(self) -> float | None:
        """When its last call was sent; None while it waits for its turn."""
        return self._departure.at_seconds

    def when_over(self, act: Callable[[], None]) -> None:
        """Have something done at the end, however it ends."""
        self._task.add_done_callback(lambda _: act())

    async def outcome(self) -> T:
        """What was read; its error comes out here."""
        return await asyncio.shield(self._task)

    async def lands_within(self, seconds: float) -> bool:
        """Wait for the end, so long at most; whether it came."""
        if seconds > 0:
            await asyncio.wait([self._task], timeout=seconds)
        return self._task.done()


def _look_at(task: asyncio.Task[Any]) -> None:
    """An error that nobody waited for is no fault: the next read meets it again."""
    if not task.cancelled():
        task.exception()
