"""Simulated processes that count requests of API keys, in the simulated time of `World`."""

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import cast

from redis.asyncio import Redis

from gateway.access.rates import KeyRates, RateLease
from gateway.cluster.key_rates import EXCHANGE_SECONDS, SharedKeyRates
from gateway.cluster.membership import Membership
from gateway.cluster.store import Store
from gateway.errors import RateLimited, TooManyInFlight
from gateway.settings.model import PlanSettings
from gateway.storage.key_store import Grants
from tests.callers import make_caller
from tests.cluster.world import REAL_TIMEOUT_SECONDS, Link, World

TICK_SECONDS = 0.01
EXCHANGE_TICKS = round(EXCHANGE_SECONDS / TICK_SECONDS)
BEAT_SECONDS = 0.5


class Gateway:
    """A process with its own clock, which differs from the clocks of other processes."""

    def __init__(self, cluster: "Cluster", number: int) -> None:
        self.cluster, self.number = cluster, number
        world = cluster.world
        self.link = Link(world)
        store = Store(
            cast("Redis", self.link),
            timeout_seconds=REAL_TIMEOUT_SECONDS,
            changed=lambda _error: None,
        )
        self.membership = Membership(store, clock=self.clock, host=f"host-{number}")
        self.shared = SharedKeyRates(store, self.membership, clock=self.clock)
        plans = {"paid": cluster.plan}
        self.rates = KeyRates(plans, self.clock, new_usage=self.shared.usage)
        self.is_alive = True

    def clock(self) -> float:
        return self.cluster.world.now + 1000.0 * self.number

    async def entered(self, price: int = 1) -> RateLease | None:
        """Start a request. Returns None if the gateway rejects the request."""
        lease = self.rates.lease(make_caller(Grants(spreadsheets=None), self.cluster.plan))
        await lease.exchange()
        try:
            lease.enter()
        except (RateLimited, TooManyInFlight):
            return None
        if price > 1:
            try:
                await lease.raise_to(price)
            except RateLimited:
                lease.leave()
                return None
        self.cluster.admitted += [(self.cluster.world.now, self.number)] * price
        return lease

    async def send(self, price: int = 1) -> bool:
        """Send a request that ends at once. Returns False if the gateway rejects the request."""
        lease = await self.entered(price)
        if lease is not None:
            lease.leave()
        return lease is not None

    async def send_all(self, price: int = 1) -> int:
        """Send requests until the gateway rejects one. Returns the number of admitted requests."""
        count = 0
        while await self.send(price):
            count += 1
            await asyncio.sleep(0)
        return count


@dataclass
class Cluster:
    """Simulated processes; `admitted` has the time and process of each admitted request."""

    redis: Redis
    plan: PlanSettings = field(default_factory=PlanSettings)
    gateways: list[Gateway] = field(default_factory=list)
    admitted: list[tuple[float, int]] = field(default_factory=list)
    exchanges: bool = True
    """True if processes exchange their counts regularly, not only when requests need them."""
    tick: int = 0

    def __post_init__(self) -> None:
        self.world = World(self.redis)

    async def start(self, count: int) -> list[Gateway]:
        """Add processes, which all know each other."""
        first = len(self.gateways)
        self.gateways += [Gateway(self, number) for number in range(first, first + count)]
        for _ in range(8):
            self.world.now += BEAT_SECONDS
            await self.beat()
        return self.gateways[first:]

    async def beat(self) -> None:
        for each in self.gateways:
            if each.is_alive:
                await each.membership.beat()

    async def exchange(self) -> None:
        for each in self.gateways:
            await each.shared.exchange()

    async def run(self, seconds: float, *, greedy: int = 0, price: int = 1) -> None:
        """Let time pass, while `greedy` processes send as many requests as they admit."""
        for _ in range(round(seconds / TICK_SECONDS)):
            self.world.now += TICK_SECONDS
            self.tick += 1
            if self.tick % round(BEAT_SECONDS / TICK_SECONDS) == 0:
                await self.beat()
            for each in self.gateways:
                is_due = (self.tick + 7 * each.number) % EXCHANGE_TICKS == 0
                if is_due and self.exchanges and each.is_alive:
                    await each.shared.exchange()
            await asyncio.gather(*(each.send_all(price) for each in self.gateways[:greedy]))

    def most(self, seconds: float = 60.0) -> int:
        """Return the maximum number of requests admitted within `seconds`."""
        instants = sorted(at for at, _ in self.admitted)
        return max(
            (n + 1 - bisect_left(instants, at - seconds + 1e-6) for n, at in enumerate(instants)),
            default=0,
        )
