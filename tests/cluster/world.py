"""Simulated processes that share a quota: real scripts in a real Redis, with simulated time.

The scripts get the time as two more arguments instead of Redis's TIME. Each process has its own
clock, which differs from the other clocks.
"""

import math
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from redis import exceptions
from redis.asyncio import Redis

from gateway.cluster.membership import Membership
from gateway.cluster.quota import SharedQuota
from gateway.cluster.store import Store
from gateway.google.quota import Rate, SharedRates

BEAT_SECONDS = 0.5

Run = Callable[[Sequence[str], Sequence[Any]], Awaitable[Any]]


REAL_TIMEOUT_SECONDS = 30.0
"""Time limit of calls to the real Redis, which a busy machine must not exceed in simulated time."""


class Link:
    """Connection of a process to Redis, which can be cut, slowed or made to lose answers."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.is_cut = False
        self.loses_answers = False
        self.lost_script = ""
        """The script whose answers are lost."""
        self.slow_seconds = 0.0
        """Seconds until Redis answers."""

    def register_script(self, text: str) -> Run:
        script = self._world.redis.register_script(
            text.replace("redis.call('TIME')", "{ARGV[#ARGV - 1], ARGV[#ARGV]}")
        )

        async def run(keys: Sequence[str], arguments: Sequence[Any]) -> Any:
            async def arrive() -> Any:
                now = round(self._world.redis_time() * 1_000_000)
                return await script(keys, [*arguments, now // 1_000_000, now % 1_000_000])

            if self.is_cut:
                raise exceptions.ConnectionError("cut")
            if self._world.hung is not None:
                self._world.hung.append(arrive)
                raise exceptions.TimeoutError("hangs")
            answer = await arrive()
            self._world.now += self.slow_seconds
            is_lost = self.lost_script and text.endswith(self.lost_script)
            if self.loses_answers or is_lost:
                raise exceptions.TimeoutError("answer lost")
            return _undecoded(answer)

        return run


def _undecoded(answer: Any) -> Any:
    """Return the answer with bytes instead of texts, as a client without decoding gets it."""
    if isinstance(answer, list):
        return [*map(_undecoded, answer)]
    return answer.encode() if isinstance(answer, str) else answer


@dataclass(eq=False)
class Process:
    """A simulated process; while `is_greedy`, it sends all calls that the quota allows."""

    world: "World"
    number: int
    accounts: Sequence[str]
    is_greedy: bool = True
    is_alive: bool = True
    is_suspended: bool = False

    def __post_init__(self) -> None:
        self.link = Link(self.world)
        self.store = Store(
            cast("Redis", self.link),
            timeout_seconds=REAL_TIMEOUT_SECONDS,
            changed=lambda _error: None,
        )
        self.membership = Membership(self.store, clock=self.clock, host=f"host-{self.number}")
        self.quota = SharedQuota(self.store, self.membership, clock=self.clock)
        self.project = Rate(self.world.project_per_minute)
        self.rates = {name: Rate(54) for name in self.accounts}
        self.calls: dict[str, SharedRates] = {
            name: self.quota.share([name, "project"], [rate, self.project], lambda: None)
            for name, rate in self.rates.items()
        }

    def clock(self) -> float:
        return self.world.now + 1000.0 * self.number

    @property
    def usable_share(self) -> float:
        """Share of all rates that the process uses; 1 while Redis is available."""
        return 1.0 if self.quota.part is None else self.quota.part[0]

    def free_at(self, account: str) -> float:
        now = self.clock()
        return max(self.rates[account].free_at(now), self.project.free_at(now))

    async def live(self, tick: int) -> None:
        """Send a heartbeat if due, and the calls that the quota allows."""
        if not self.is_alive or self.is_suspended:
            return
        if (tick + 3 * self.number) % round(BEAT_SECONDS / self.world.tick_seconds) == 0:
            await self.membership.beat()
        for name, calls in self.calls.items() if self.is_greedy else ():
            while self.free_at(name) <= self.clock() and await calls.take():
                self.world.sent.append((self.world.now, name, self.number))

    @property
    def is_ill(self) -> bool:
        return self.link.is_cut or self.link.loses_answers or self.is_suspended

    def isolated_seconds(self) -> float:
        """Seconds since its last heartbeat in Redis."""
        return self.world.redis_time() - self.membership.last / 1_000_000

    def heal(self) -> None:
        self.link.is_cut = self.link.loses_answers = self.is_suspended = False

    def refused(self, account: str, *, limit: int | None = None) -> None:
        """Handle a status 429 of Google."""
        now = self.clock()
        self.rates[account].refused(now, sent_at=now, limit=limit)
        self.calls[account].learnt()


@dataclass
class World:
    redis: Redis
    accounts: Sequence[str] = ("a",)
    project_per_minute: int = 270
    now: float = 0.0
    skipped: float = 1_800_000_000.0
    processes: list[Process] = field(default_factory=list)
    sent: list[tuple[float, str, int]] = field(default_factory=list)
    hung: list[Callable[[], Awaitable[Any]]] | None = None
    saved: list[tuple[Any, Any]] = field(default_factory=list)
    tick_seconds: float = 0.05
    tick: int = 0

    def living(self) -> list[Process]:
        return [each for each in self.processes if each.is_alive]

    def redis_time(self) -> float:
        return self.skipped + self.now

    async def start(self, count: int, *, is_cut: bool = False) -> list[Process]:
        """Add processes that send a first heartbeat; with `is_cut` it does not reach Redis."""
        first = len(self.processes)
        begun = [Process(self, number, self.accounts) for number in range(first, first + count)]
        self.processes += begun
        for each in begun:
            each.link.is_cut = is_cut
            await each.membership.beat()
        return begun

    async def run(self, seconds: float) -> None:
        for _ in range(math.ceil(seconds / self.tick_seconds)):
            self.now += self.tick_seconds
            self.tick += 1
            for each in self.processes:
                await each.live(self.tick)
            for each in self.processes:
                await each.store.finish()

    def hang(self) -> None:
        """Let Redis accept commands without answering."""
        self.hung = []

    async def resume(self) -> None:
        """Let Redis execute the commands that it received meanwhile."""
        arrived, self.hung = self.hung or [], None
        for each in arrived:
            await each()

    async def save(self) -> None:
        raw = cast("Any", self.redis)
        self.saved = [
            (key, await raw.execute_command("DUMP", key, NEVER_DECODE=True))
            for key in await self.redis.keys()
        ]

    async def restore(self) -> None:
        """Restore exactly the data of the last `save`."""
        await self.redis.flushall()
        for key, content in self.saved:
            await self.redis.restore(key, 0, content)

    def most(self, account: str | None = None, seconds: float = 60.0) -> int:
        """Return the maximum number of calls within `seconds`, of one account or of all."""
        instants = [at for at, name, _ in self.sent if account in (None, name)]
        return max(
            (n + 1 - bisect_left(instants, at - seconds + 1e-6) for n, at in enumerate(instants)),
            default=0,
        )

    def sent_since(self, seconds: float) -> list[int]:
        """Return the process number of each call in the last seconds."""
        return [number for at, _, number in self.sent if at > self.now - seconds]
