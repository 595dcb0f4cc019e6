"""Disturbances of a fleet: kill -9, SIGSTOP, and failures of PostgreSQL and Redis.

Rules
- Every disturbance is recorded with its time span, until the disturbed server is available again.
- Kills, suspensions, and disturbances of PostgreSQL or Redis run at the same time, but only one of
  the last kind at once. Every kind happens before any kind happens again.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.fleet.engines import Engines
from tests.simulation.fleet.members import Member
from tests.simulation.fleet.verdict import KILL, OUTAGE, SUSPENSION, Span


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Average seconds between disturbances of each kind, and their durations; 0 means never."""

    kill_seconds: float = 2.0
    suspend_every_seconds: float = 90.0
    suspend_seconds: float = 40.0
    engine_seconds: float = 3.0
    hang_seconds: float = 3.0
    outage_seconds: float = 5.0


@dataclass(kw_only=True)
class Trouble:
    """Disturbs a fleet, and records each disturbance."""

    members: Sequence[Member]
    engines: Engines
    chance: random.Random
    pace: Pace
    spans: list[Span] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    rounds: int = 0
    """Number of times that all disturbances of PostgreSQL and Redis have happened."""

    @property
    def counts(self) -> Counter[str]:
        return Counter(span.kind for span in self.spans)

    async def kill_now_and_then(self) -> None:
        while await self._goes_on(self.pace.kill_seconds):
            member = self._any()
            if member is not None:
                with self._noted(KILL, member):
                    await member.replace()

    async def suspend_now_and_then(self) -> None:
        """Suspend random processes; the first soon, so that a short campaign has one."""
        pause_seconds = min(self.pace.suspend_every_seconds, 2 * self.pace.kill_seconds)
        while await self._goes_on(pause_seconds):
            member = self._any()
            if member is not None:
                with self._noted(SUSPENSION, member):
                    member.suspend()
                    await self._for(self.pace.suspend_seconds)
                    member.resume()
            pause_seconds = self.pace.suspend_every_seconds

    async def disturb_engines(self) -> None:
        kinds: Mapping[str, Callable[[], Awaitable[object]]] = {
            "flush": self._in_thread(self.engines.flush),
            "empty Redis": self._in_thread(self.engines.restart_redis),
            "old Redis": self._old_redis,
            "hanging Redis": self._hang_redis,
            "PostgreSQL restart": self._in_thread(self.engines.restart_postgres),
            "cut connections": self._cut,
            "refused connections": self._refuse,
            "hanging connections": self._hang,
            OUTAGE: self._outage,
        }
        await asyncio.to_thread(self.engines.save)
        while True:
            for kind in self.chance.sample([*kinds], len(kinds)):
                if not await self._goes_on(self.pace.engine_seconds):
                    return
                with self._noted(kind):
                    await kinds[kind]()
            self.rounds += 1

    def _any(self) -> Member | None:
        able = [member for member in self.members if member.is_up]
        return self.chance.choice(able) if able else None

    def _in_thread(self, work: Callable[[], None]) -> Callable[[], Awaitable[None]]:
        return lambda: asyncio.to_thread(work)

    async def _old_redis(self) -> None:
        """Restart Redis with an old copy of its data, and then save a new copy."""
        await asyncio.to_thread(self.engines.restart_redis, with_copy=True)
        await self._for(self.pace.engine_seconds)
        await asyncio.to_thread(self.engines.save)

    async def _hang_redis(self) -> None:
        self.engines.redis.suspend()
        await self._for(self.pace.hang_seconds)
        self.engines.redis.resume()

    async def _cut(self) -> None:
        for member in self.members:
            for proxy in member.proxies:
                if self.chance.random() < 0.5:
                    proxy.cut()

    async def _refuse(self) -> None:
        """Refuse the connections of one process to PostgreSQL or Redis for a while."""
        proxy = self.chance.choice(self.chance.choice(self.members).proxies)
        proxy.refuses = True
        proxy.cut()
        await self._for(self.pace.hang_seconds)
        proxy.heal()

    async def _hang(self) -> None:
        """Pass no data between one process and PostgreSQL or Redis for a while."""
        proxy = self.chance.choice(self.chance.choice(self.members).proxies)
        proxy.hang()
        await self._for(self.pace.hang_seconds)
        proxy.heal()

    async def _outage(self) -> None:
        await asyncio.to_thread(self.engines.postgres.stop)
        await asyncio.to_thread(self.engines.redis.kill)
        await self._for(self.pace.outage_seconds)
        await asyncio.to_thread(self.engines.redis.start)
        await asyncio.to_thread(self.engines.postgres.start)

    @contextmanager
    def _noted(self, kind: str, member: Member | None = None) -> Iterator[None]:
        since = time.monotonic()
        try:
            yield
        finally:
            number = None if member is None else member.number
            span = Span(kind=kind, since=since, until=time.monotonic(), process=number)
            self.spans.append(span)

    async def _goes_on(self, seconds: float) -> bool:
        """Wait for about this time. Returns False if the campaign has ended."""
        await self._for(seconds * self.chance.uniform(0.5, 1.5))
        return not self.ended.is_set()

    async def _for(self, seconds: float) -> None:
        """Wait for this time, or until the campaign ends."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), seconds)


@asynccontextmanager
async def disturbed(trouble: Trouble) -> AsyncIterator[None]:
    """Disturb the fleet during the block, and then let each disturbance finish.

    Raises the exception of a failed disturbance.
    """
    pace = trouble.pace
    sorts: Sequence[tuple[float, Callable[[], Coroutine[Any, Any, None]]]] = (
        (pace.kill_seconds, trouble.kill_now_and_then),
        (pace.suspend_every_seconds, trouble.suspend_now_and_then),
        (pace.engine_seconds, trouble.disturb_engines),
    )
    tasks = [asyncio.create_task(disturb()) for seconds, disturb in sorts if seconds]
    try:
        yield
    finally:
        trouble.ended.set()
        await asyncio.gather(*tasks)
