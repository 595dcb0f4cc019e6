"""Rates of callers' keys, counted by each process and exchanged through Redis every 250 ms.

Rules
- A request takes from the rate as this process knows it, and waits for nobody. Only if its process
  used a part of the burst that the others do not know of, it waits for an exchange: 1/N of the
  burst, with N processes. So all together use at most twice the burst after a rest, and in a minute
  at most the rate and two bursts, as long as 1/N of the burst is not less than the dearest request.
- An exchange charges what others used to the rate of this process. It never raises what a client of
  one process may send, nor lowers it: without use by others it changes nothing.
- Running requests of others are as of the last exchange. A request that would be refused for them
  waits for another. The count of a process that was killed ends after three seconds.
- Without Redis each process allows 1/N of rate, burst and running requests, N as last seen. When it
  is back, each tells what is left of its use. Until that is answered, the process knows no more
  than before; at the answer it takes over Redis's instant, as others may tell theirs later.
- What Redis loses, or does twice, makes rates inexact for as long as a burst takes to recover.
"""

import asyncio
import math
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from functools import partial
from typing import NamedTuple

from gateway.access.rates import FRESH_PRICE, Limits
from gateway.cluster.membership import MICROSECONDS, UNKNOWN_SHARE, Membership
from gateway.cluster.scripts import EXCHANGE_USE, MOST_BURSTS
from gateway.cluster.store import Store, StoreUnavailable
from gateway.gcra import Gcra, RateLimit, Standing, rate_limit

EXCHANGE_SECONDS = 0.25
PAUSE_SECONDS = 0.005
"""Shortest time between two exchanges."""
HOLD_SECONDS = 3.0
"""After this time without an exchange running requests of a process are forgotten."""
RECENT_SECONDS = 0.02
"""So long the running requests of others are taken for known."""
MAX_KEYS = 200
"""Keys in one call of the script, which holds up Redis for a few milliseconds."""
MAX_ROUNDS = 20
"""Exchanges that one request waits for at most."""

EXPIRY_SECONDS = 10.0
"""Redis keeps what it knows of a key for longer than that after an exchange."""

FORMAT = 1
"""Of the values in Redis; a version with another one uses other names."""


class Known(NamedTuple):
    """The use of a key as Redis knows it."""

    generation: str
    total: int
    full_seconds: float
    """Until the whole burst is there."""
    elsewhere: int


class SharedGcra:
    """A `UsedRate` that others use, too: theirs is charged by `adopt`."""

    __slots__ = (
        "_adopted_at",
        "_gcra",
        "_generation",
        "_is_rejoining",
        "_noted",
        "_rates",
        "_total",
        "limit",
        "new",
        "sent",
    )

    def __init__(self, rates: "SharedKeyRates", noted: Callable[[], None]) -> None:
        self._rates = rates
        self._noted = noted
        """Called when there is something to exchange."""
        self._gcra = Gcra()
        self._generation, self._total = "", 0
        self._adopted_at = -math.inf
        self._is_rejoining = False
        """True if the use of this process alone was sent, and not answered yet."""
        self.limit = rate_limit(0, burst=0)
        """That of the last `take`."""
        self.new = 0
        """Use since the last exchange began."""
        self.sent = 0
        """Use that the exchange under way tells."""

    def take(self, limit: RateLimit, now: float, price: int = 1) -> float:
        wait_seconds = self._gcra.take(self._rates.part(limit), now, price)
        if not wait_seconds:
            self.limit = limit
            self.new += price
            self._noted()
        return wait_seconds

    def give_back(self, limit: RateLimit, price: int = 1) -> None:
        self._gcra.give_back(self._rates.part(limit), price)
        self.new -= price
        self._noted()

    def standing(self, limit: RateLimit, now: float) -> Standing:
        return self._gcra.standing(self._rates.part(limit), now)

    def is_ahead(self, limit: RateLimit, price: int) -> bool:
        """True if others have to know of the use before more is taken, which there may be."""
        unknown, rates = self.new + self.sent, self._rates
        return (
            unknown > 0
            and unknown + price > rates.allowance(limit)
            and limit.per_minute > 0
            and self.standing(limit, rates.clock()).remaining >= price
        )

    def full_seconds(self, now: float) -> float:
        """Time until the whole burst is there, without what `sent` tells."""
        used_seconds = self.sent * self.limit.interval_seconds
        return max(0.0, self._gcra.full_at - now - used_seconds)

    def adopt(self, known: Known, now: float, fresh: str) -> None:
        """Charge what others used, after an exchange of `sent` that may have begun `fresh`."""
        # Both instants count use when it was told, which is late: neither is too early.
        interval_seconds, full_at = self.limit.interval_seconds, self._gcra.full_at
        by_redis = now + known.full_seconds + max(self.new, 0) * interval_seconds
        is_known = known.generation in (self._generation, fresh)
        was_lost = not is_known and now - self._adopted_at < EXPIRY_SECONDS
        others = known.total - self.sent
        if known.generation == self._generation:
            others -= self._total
        by_total = max(full_at, now) + others * interval_seconds
        if self._is_rejoining:  # others may not have told yet what they used alone
            self._gcra.full_at = max(full_at, by_redis)
        elif others > 0 and is_known:
            self._gcra.full_at = max(full_at, min(by_redis, by_total))
        elif others > 0:
            self._gcra.full_at = max(full_at, by_total if was_lost else by_redis)
        if self.limit.per_minute:  # whatever Redis says, it is used again after a few bursts
            latest = now + MOST_BURSTS * self.limit.burst_seconds
            self._gcra.full_at = min(self._gcra.full_at, latest)
        self._generation, self._total, self._adopted_at = known.generation, known.total, now
        self.sent = 0
        self._is_rejoining = False

    def rejoin(self, now: float) -> None:
        """Count in requests what is left of the use of this process alone, to tell others."""
        interval_seconds = self._rates.part(self.limit).interval_seconds
        self.new = self.sent = 0
        if interval_seconds and self._gcra.full_at > now:
            self.new = round((self._gcra.full_at - now) / interval_seconds)
            self._gcra.full_at = now + self.new * self.limit.interval_seconds
        self._is_rejoining = True

    def part(self, now: float) -> None:
        """Undo `rejoin` if no exchange followed: this process still knows only of its own use."""
        interval_seconds = self.limit.interval_seconds
        if self._is_rejoining and interval_seconds and self._gcra.full_at > now:
            used = (self._gcra.full_at - now) / interval_seconds
            self._gcra.full_at = now + used * self._rates.part(self.limit).interval_seconds
        self._is_rejoining = False


class SharedUsage:
    """A `Usage` of a key that others use, too, and its `SharedUse`."""

    __slots__ = (
        "_max_concurrent", "_rates", "elsewhere", "exchanged_at", "gcra", "id", "in_flight",
        "reported",
    )  # fmt: skip

    def __init__(self, rates: "SharedKeyRates", key_id: str) -> None:
        self._rates = rates
        self.id = key_id
        self.gcra = SharedGcra(rates, partial(rates.note, self))
        self.in_flight = 0
        self.reported = 0
        """Running requests of this process as the others know them."""
        self.elsewhere = 0
        """Running requests of the others, as known since `exchanged_at`."""
        self.exchanged_at = -math.inf
        self._max_concurrent = math.inf

    @property
    def shared(self) -> "SharedUsage":
        return self

    def is_full(self, max_concurrent: int) -> bool:
        if self._rates.is_disconnected:
            return self.in_flight >= max(1, int(max_concurrent * self._rates.share))
        return self.in_flight + self.elsewhere >= max_concurrent

    def leave(self) -> None:
        self.in_flight -= 1
        if self.reported > self.in_flight and (
            self.reported + self.elsewhere >= self._max_concurrent
        ):
            self._rates.exchange_soon(self)

    def must_exchange(self, limits: Limits, price: int) -> bool:
        rates, self._max_concurrent = self._rates, limits.max_concurrent
        if rates.is_disconnected:
            return False
        if self.elsewhere and self.in_flight < self._max_concurrent <= (
            self.in_flight + self.elsewhere
        ):
            return rates.clock() - self.exchanged_at > RECENT_SECONDS
        return self.gcra.is_ahead(limits.rate, price)

    async def exchange(self, limits: Limits, price: int) -> None:
        for _ in range(MAX_ROUNDS):
            await asyncio.shield(self._rates.exchange_soon(self))
            if not self.must_exchange(limits, price):
                return

    def is_told(self) -> bool:
        """True if there is nothing to tell before the key is used again."""
        return not (self.in_flight or self.reported or self.gcra.new)


class SharedKeyRates:
    """Use of the keys, exchanged with other processes; a `Follower`."""

    def __init__(
        self,
        store: Store,
        membership: Membership,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self.is_disconnected = False
        self.share = UNKNOWN_SHARE
        """This process's part of the limits while it is disconnected."""
        self._store = store
        self._membership = membership
        self._noted: dict[str, SharedUsage] = {}
        """Keys to exchange, and all that were used without Redis."""
        self._urgent: dict[str, SharedUsage] = {}
        self._soon: asyncio.Task[None] | None = None
        self._exchanging = asyncio.Lock()
        self._exchanged_at = -math.inf
        membership.follow(self)

    def usage(self, key_id: str) -> SharedUsage:
        """The usage of a key that this process does not know, or forgot."""
        return self._noted.get(key_id) or SharedUsage(self, key_id)

    def part(self, limit: RateLimit) -> RateLimit:
        """The part of a limit that this process may use now."""
        if not self.is_disconnected or not limit.per_minute:
            return limit
        burst = max(FRESH_PRICE, int(limit.burst * self.share))
        return rate_limit(limit.per_minute * self.share, burst=burst)

    def allowance(self, limit: RateLimit) -> int:
        """The use that others need not know of yet."""
        return max(1, limit.burst // max(self._membership.count, 1))

    def note(self, usage: SharedUsage) -> None:
        """Exchange the use of a key with the next ones, or at once if there is much of it."""
        self._noted[usage.id] = usage
        gcra = usage.gcra
        if gcra.new > self.allowance(gcra.limit) / 2 and gcra.limit.per_minute:
            self.exchange_soon(usage)

    def exchange_soon(self, usage: SharedUsage) -> "asyncio.Task[None]":
        """Exchange the use of a key out of turn."""
        self._urgent[usage.id] = self._noted[usage.id] = usage
        if self._soon is None or self._soon.done():
            self._soon = asyncio.get_running_loop().create_task(
                self._exchange_urgent(), context=Context()
            )
        return self._soon

    async def exchange(self) -> None:
        """Exchange all that was used, or that is running."""
        async with self._exchanging:
            self._urgent.clear()
            await self._exchange([*self._noted.values()])

    async def run(self) -> None:
        """Exchange until cancelled."""
        while True:
            await asyncio.sleep(EXCHANGE_SECONDS)
            await self.exchange()

    async def aclose(self) -> None:
        """Tell what was used last."""
        if self._soon is not None:
            await self._soon
        await self.exchange()

    def disconnected(self, _share: float, _since: float) -> None:
        """Keep to 1/N at once: a request is not refused only because Redis is away."""
        self.is_disconnected = True
        if self._membership.count:
            self.share = 1 / self._membership.count
        now = self.clock()
        for usage in self._noted.values():
            usage.gcra.part(now)

    def connected(self) -> None:
        if self.is_disconnected:
            now = self.clock()
            for usage in self._noted.values():
                usage.gcra.rejoin(now)
            self.is_disconnected = False

    async def _exchange_urgent(self) -> None:
        await asyncio.sleep(self._exchanged_at + PAUSE_SECONDS - self.clock())
        async with self._exchanging:
            urgent, self._urgent = self._urgent, {}
            await self._exchange([*urgent.values()])
            self._exchanged_at = self.clock()

    async def _exchange(self, usages: Sequence[SharedUsage]) -> None:
        for start in range(0, len(usages), MAX_KEYS):
            if self.is_disconnected:
                break
            try:
                await self._exchange_some(usages[start : start + MAX_KEYS])
            except StoreUnavailable:
                break
        if self.is_disconnected:
            now = self.clock()
            for usage in usages:
                if not (usage.in_flight or usage.gcra.full_seconds(now)):
                    self._noted.pop(usage.id, None)

    async def _exchange_some(self, usages: Sequence[SharedUsage]) -> None:
        fresh = secrets.token_hex(8)
        arguments: list[str | int | float] = []
        now, running = self.clock(), [usage.in_flight for usage in usages]
        for usage, in_flight in zip(usages, running, strict=True):
            gcra = usage.gcra
            gcra.sent, gcra.new = gcra.new, 0
            limit = gcra.limit
            seconds = (limit.interval_seconds, limit.burst_seconds, gcra.full_seconds(now))
            arguments += [fresh, gcra.sent, in_flight]
            arguments += [round(each * MICROSECONDS) for each in seconds]
        answer: Sequence[str] = await self._store.run(
            EXCHANGE_USE,
            [f"{{gateway}}:key:{FORMAT}:{usage.id}" for usage in usages],
            self._membership.id,
            round(HOLD_SECONDS * MICROSECONDS),
            *arguments,
        )
        now = self.clock()
        for number, (usage, in_flight) in enumerate(zip(usages, running, strict=True)):
            generation, total, full_microseconds, elsewhere = answer[4 * number : 4 * number + 4]
            full_seconds = int(full_microseconds) / MICROSECONDS
            known = Known(generation, int(total), full_seconds, int(elsewhere))
            usage.gcra.adopt(known, now, fresh)
            usage.elsewhere, usage.exchanged_at, usage.reported = known.elsewhere, now, in_flight
            if usage.is_told():
                self._noted.pop(usage.id, None)


@asynccontextmanager
async def open_key_rates(store: Store, membership: Membership) -> AsyncIterator[SharedKeyRates]:
    """Rates of keys that are exchanged until the end."""
    rates = SharedKeyRates(store, membership)
    running = asyncio.create_task(rates.run())
    try:
        yield rates
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await rates.aclose()
