"""A rate-limit bucket on a manual clock, and calls that wait for its quota."""

import asyncio
from dataclasses import dataclass, field

from anyio import wait_all_tasks_blocked

from gateway.errors import QuotaSpent
from gateway.google.quota import Bucket, Rate
from gateway.google.sheets import CallContext
from tests.google.timers import ManualTimers

A, B, C = CallContext("a"), CallContext("b"), CallContext("c")
CHECK = CallContext("z", is_verification=True)
INTERVAL = 60 / 54


@dataclass(kw_only=True)
class Subject:
    """A bucket on a manual clock; `sent` has each call and the seconds until it was sent."""

    per_minute: int = 54
    max_waiting_seconds: float = 10.0
    is_write: bool = False
    timers: ManualTimers = field(default_factory=ManualTimers)
    sent: list[tuple[CallContext, float]] = field(default_factory=list)
    longest_wait: float = 0.0

    def __post_init__(self) -> None:
        self.began = self.timers.clock()
        self.bucket = Bucket(
            Rate(self.per_minute),
            is_write=self.is_write,
            max_waiting_seconds=self.max_waiting_seconds,
            clock=self.timers.clock,
            set_timer=self.timers,
        )

    async def call(self, call_context: CallContext) -> None:
        asked_at = self.timers.clock()
        try:
            await self.bucket.take(call_context)
        finally:
            self.longest_wait = max(self.longest_wait, self.timers.clock() - asked_at)
        self.sent.append((call_context, self.timers.clock() - self.began))

    def calls(self, *call_contexts: CallContext) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self.call(call_context)) for call_context in call_contexts]

    def order(self) -> list[str]:
        return [call_context.key_id for call_context, _ in self.sent]

    async def emptied(self) -> "Subject":
        """Use up the burst, so that all further calls wait."""
        for _ in range(max(1, self.per_minute // 9)):
            await self.bucket.take(CallContext())
        return self


async def ends(*tasks: asyncio.Task[None]) -> list[BaseException | None]:
    """Return the results of calls, all of which must have ended."""
    await wait_all_tasks_blocked()
    hanging = [task for task in tasks if not task.done()]
    await cancelled(*hanging)
    assert hanging == []
    return await asyncio.gather(*tasks, return_exceptions=True)


async def refused(*tasks: asyncio.Task[None]) -> list[QuotaSpent]:
    """Return the QuotaSpent errors of calls, all of which must have been refused."""
    errors = [end for end in await ends(*tasks) if isinstance(end, QuotaSpent)]
    assert len(errors) == len(tasks)
    return errors


async def sent(*tasks: asyncio.Task[None]) -> None:
    """Assert that all of these calls were sent."""
    assert await ends(*tasks) == [None] * len(tasks)


async def cancelled(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
