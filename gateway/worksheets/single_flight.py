"""Single-flight: one read in progress that concurrent requests share.

Rules: a read goes on when waiters leave, since Google has counted it. Each waiter gets its outcome.
Until it is sent, it waits for the quota on behalf of all waiters.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Generic, TypeVar

from gateway.google.call_context import (
    Beneficiaries,
    SentAt,
    current_call_context,
    in_call_context,
)

K = TypeVar("K")
T = TypeVar("T")


class SingleFlight(Generic[K, T]):
    """A running read, in the context of the request that started it.

    It is in `flights` by its `key` until it is over, unless it was taken out or replaced before.
    """

    def __init__(
        self,
        flights: "dict[K, SingleFlight[K, T]]",
        key: K,
        work: Coroutine[Any, Any, T],
        began_seconds: float,
    ) -> None:
        self.began_seconds = began_seconds
        self._flights, self._key = flights, key
        self._beneficiaries = Beneficiaries()
        self._join()
        call_context = current_call_context()
        self.max_age_seconds = call_context.max_age_seconds
        self._sent_at = SentAt(outer=call_context.sent_at)
        own = replace(call_context, beneficiaries=self._beneficiaries, sent_at=self._sent_at)
        with in_call_context(own):
            self._task = asyncio.get_running_loop().create_task(work)
        flights[key] = self
        self._task.add_done_callback(self._end)

    @property
    def is_over(self) -> bool:
        return self._task.done()

    @property
    def sent_seconds(self) -> float | None:
        """Time at which its last call was sent; None while it waits for the quota."""
        return self._sent_at.at_seconds

    async def outcome(self) -> T:
        """Wait for the result; raises the error of the read."""
        self._join()
        return await asyncio.shield(self._task)

    async def done_within(self, seconds: float) -> bool:
        """Wait for the end for a limited time; False if it did not come."""
        self._join()
        if seconds > 0:
            await asyncio.wait([self._task], timeout=seconds)
        return self._task.done()

    def _join(self) -> None:
        """Add the waiter's key to the beneficiaries of the calls."""
        self._beneficiaries.join_as(current_call_context())

    def _end(self, task: asyncio.Task[T]) -> None:
        """Mark an error as retrieved; the next read meets it again."""
        if self._flights.get(self._key) is self:
            del self._flights[self._key]
        if not task.cancelled():
            task.exception()
