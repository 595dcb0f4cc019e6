"""Rate limits of API keys. Processes exchange their counts through Redis every 250 ms.

In an exchange, a process adds its requests since the last exchange to the counts in Redis, and gets
the counts of other processes. A request counts as one or more requests (its price). The local rate
limit is GCRA with the state `full_at`, the time at which the whole burst is available.

Rules
- A request counts in the local rate limit without waiting. It waits for an exchange only if its
  process has used 1/N of the burst (N processes) since the last exchange. So all processes together
  allow at most twice the burst after a pause, and in a minute at most the rate and two bursts. This
  holds if 1/N of the burst is enough for the most expensive request.
- A process knows the running requests of other processes from the last exchange. If these would
  make it refuse a request, the request waits for another exchange. The requests of a killed process
  expire after three seconds.
- Without Redis each process allows 1/N of rate, burst and running requests, with the last known N.
  When Redis returns, each process reports the part of its burst that is used at this time. Other
  processes might report theirs later. So the first answer of Redis can only move the local
  `full_at` to a later time.
- If Redis loses data or runs a command twice, rates are inexact until the burst has recovered.
"""

import asyncio
import math
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import Context

from gateway.access.rates import FRESH_PRICE, KeyUsage, Limits
from gateway.cluster.membership import MICROSECONDS, UNKNOWN_SHARE, Membership
from gateway.cluster.scripts import EXCHANGE_USE, MOST_BURSTS
from gateway.cluster.store import Store, StoreUnavailable, repeated
from gateway.gcra import RateLimit, Standing, rate_limit

EXCHANGE_SECONDS = 0.25
PAUSE_SECONDS = 0.005
"""Minimum seconds between two exchanges of the same process."""
HOLD_SECONDS = 3.0
"""Seconds for which a process's running requests count after the last exchange of the process."""
RECENT_SECONDS = 0.02
"""Seconds after an exchange for which the other processes' running requests count as known."""
MAX_KEYS = 200
"""Maximum number of keys per script call, because a call blocks Redis for some milliseconds."""
MAX_ROUNDS = 20
"""Maximum number of exchanges that one request waits for. Then the local rate limit decides."""

EXPIRY_SECONDS = 10.0
"""Minimum seconds for which Redis keeps the state of a key after an exchange."""

FORMAT = 1
"""Version of the stored values, and part of the Redis keys. Other versions use other keys."""


class SharedUsage(KeyUsage):
    """Usage of an API key in this process. `adopt` adds the use of the key in other processes."""

    __slots__ = (
        "_adopted_at", "_generation", "_is_rejoining", "_max_concurrent", "_rates", "_total",
        "elsewhere", "exchanged_at", "id", "limit", "new", "reported", "sent",
    )  # fmt: skip

    def __init__(self, rates: "SharedKeyRates", key_id: str) -> None:
        super().__init__()
        self._rates = rates
        self.id = key_id
        self._generation, self._total = "", 0
        self._adopted_at = -math.inf
        self._is_rejoining = False
        """True from `rejoin` until Redis answers an exchange."""
        self.limit = rate_limit(0, burst=0)
        """Rate limit that the last `take` used."""
        self.new = 0
        """Number of requests since the last exchange began, each counted with its price."""
        self.sent = 0
        """Number of requests that the running exchange reports, each counted with its price."""
        self.reported = 0
        """Number of running requests of this process at the last exchange."""
        self.elsewhere = 0
        """Number of running requests of other processes at `exchanged_at`."""
        self.exchanged_at = -math.inf
        self._max_concurrent = math.inf

    @property
    def shared(self) -> "SharedUsage":  # type: ignore[override]
        return self  # an attribute would be a reference cycle

    def take(self, limit: RateLimit, now: float, price: int = 1) -> float:
        wait_seconds = super().take(self._rates.part(limit), now, price)
        if not wait_seconds:
            self.limit = limit
            self.new += price
            self._rates.note(self)
        return wait_seconds

    def give_back(self, limit: RateLimit, price: int = 1) -> None:
        super().give_back(self._rates.part(limit), price)
        self.new -= price
        self._rates.note(self)

    def standing(self, limit: RateLimit, now: float) -> Standing:
        return super().standing(self._rates.part(limit), now)

    def is_ahead(self, limit: RateLimit, price: int) -> bool:
        """True if the local rate limit allows `price` requests, but an exchange must come first."""
        unknown, rates = self.new + self.sent, self._rates
        return (
            unknown > 0
            and unknown + price > rates.allowance(limit)
            and limit.per_minute > 0
            and self.standing(limit, rates.clock()).remaining >= price
        )

    def full_seconds(self, now: float) -> float:
        """Return the seconds until the whole burst is available, without the requests in `sent`."""
        used_seconds = self.sent * self.limit.interval_seconds
        return max(0.0, self.full_at - now - used_seconds)

    def adopt(self, answer: Sequence[bytes], now: float, fresh: str) -> None:
        """Add the use by other processes, after an exchange that reported `sent`.

        `answer` has the four values for this key from `EXCHANGE_USE`. `fresh` is the generation
        (ID of the state in Redis) that the exchange gave to keys without state.
        """
        generation, total = answer[0].decode(), int(answer[1])
        # Both times count use from its report, which follows the use, so neither time is too early.
        interval_seconds, full_at = self.limit.interval_seconds, self.full_at
        by_redis = now + int(answer[2]) / MICROSECONDS + max(self.new, 0) * interval_seconds
        is_known = generation in (self._generation, fresh)
        was_lost = not is_known and now - self._adopted_at < EXPIRY_SECONDS
        others = total - self.sent
        if generation == self._generation:
            others -= self._total
        by_total = max(full_at, now) + others * interval_seconds
        if self._is_rejoining:  # others might not have reported their use without Redis yet
            self.full_at = max(full_at, by_redis)
        elif others > 0 and is_known:
            self.full_at = max(full_at, min(by_redis, by_total))
        elif others > 0:
            self.full_at = max(full_at, by_total if was_lost else by_redis)
        if self.limit.per_minute:  # whatever Redis answers, the wait is at most a few bursts
            latest = now + MOST_BURSTS * self.limit.burst_seconds
            self.full_at = min(self.full_at, latest)
        self._generation, self._total, self._adopted_at = generation, total, now
        self.elsewhere, self.exchanged_at = int(answer[3]), now
        self.sent = 0
        self._is_rejoining = False

    def rejoin(self, now: float) -> None:
        """Convert the used part of the burst into a number of requests for the next exchange."""
        interval_seconds = self._rates.part(self.limit).interval_seconds
        self.new = self.sent = 0
        if interval_seconds and self.full_at > now:
            self.new = round((self.full_at - now) / interval_seconds)
            self.full_at = now + self.new * self.limit.interval_seconds
        self._is_rejoining = True

    def part(self, now: float) -> None:
        """Undo `rejoin` if Redis has not answered since, because Redis is unavailable again."""
        interval_seconds = self.limit.interval_seconds
        if self._is_rejoining and interval_seconds and self.full_at > now:
            used = (self.full_at - now) / interval_seconds
            self.full_at = now + used * self._rates.part(self.limit).interval_seconds
        self._is_rejoining = False

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
        return self.is_ahead(limits.rate, price)

    async def exchange(self, limits: Limits, price: int) -> None:
        for _ in range(MAX_ROUNDS):
            await asyncio.shield(self._rates.exchange_soon(self))
            if not self.must_exchange(limits, price):
                return


class SharedKeyRates:
    """Exchanges the usage of all API keys with other processes. Implements `Follower`."""

    def __init__(
        self, store: Store, membership: Membership, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self.is_disconnected = False
        self.share = UNKNOWN_SHARE
        """Fraction of all limits that this process allows while Redis is unavailable."""
        self._store = store
        self._membership = membership
        self._noted: dict[str, SharedUsage] = {}
        """Usage to exchange, by key ID. While Redis is unavailable, usage of all keys in use."""
        self._urgent: dict[str, SharedUsage] = {}
        self._soon: asyncio.Task[None] | None = None
        self._exchanging = asyncio.Lock()
        self._exchanged_at = -math.inf
        membership.follow(self)

    def usage(self, key_id: str) -> SharedUsage:
        """Return the usage of this key if it waits for an exchange, else a new usage."""
        return self._noted.get(key_id) or SharedUsage(self, key_id)

    def part(self, limit: RateLimit) -> RateLimit:
        """Return `limit`, or the part that this process allows while Redis is unavailable."""
        if not self.is_disconnected or not limit.per_minute:
            return limit
        burst = max(FRESH_PRICE, int(limit.burst * self.share))
        return rate_limit(limit.per_minute * self.share, burst=burst)

    def allowance(self, limit: RateLimit) -> int:
        """Return how many requests of a key this process allows between two exchanges."""
        return max(1, limit.burst // max(self._membership.count, 1))

    def note(self, usage: SharedUsage) -> None:
        """Schedule a key for the next exchange, or for an early one at half of the allowance."""
        self._noted[usage.id] = usage
        if usage.new > self.allowance(usage.limit) / 2 and usage.limit.per_minute:
            self.exchange_soon(usage)

    def exchange_soon(self, usage: SharedUsage) -> "asyncio.Task[None]":
        """Exchange the counts of a key early. Returns the task of the exchange."""
        self._urgent[usage.id] = self._noted[usage.id] = usage
        if self._soon is None or self._soon.done():
            self._soon = asyncio.get_running_loop().create_task(
                self._exchange_urgent(), context=Context()
            )
        return self._soon

    async def exchange(self) -> None:
        """Exchange the counts of all scheduled keys."""
        async with self._exchanging:
            self._urgent.clear()
            await self._exchange([*self._noted.values()])

    async def aclose(self) -> None:
        """Exchange the counts that are not yet exchanged."""
        if self._soon is not None:
            await self._soon
        await self.exchange()

    def disconnected(self, _share: float, _since: float) -> None:
        """Allow only 1/N of all limits, with the last known number N of processes, from now on."""
        self.is_disconnected = True
        if self._membership.count:
            self.share = 1 / self._membership.count
        now = self.clock()
        for usage in self._noted.values():
            usage.part(now)

    def connected(self) -> None:
        if self.is_disconnected:
            now = self.clock()
            for usage in self._noted.values():
                usage.rejoin(now)
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
                if not (usage.in_flight or usage.full_seconds(now)):
                    self._noted.pop(usage.id, None)

    async def _exchange_some(self, usages: Sequence[SharedUsage]) -> None:
        fresh = secrets.token_hex(8)
        arguments: list[str | int | float] = []
        now, running = self.clock(), [usage.in_flight for usage in usages]
        for usage, in_flight in zip(usages, running, strict=True):
            usage.sent, usage.new, limit = usage.new, 0, usage.limit
            seconds = (limit.interval_seconds, limit.burst_seconds, usage.full_seconds(now))
            arguments += [fresh, usage.sent, in_flight]
            arguments += [round(each * MICROSECONDS) for each in seconds]
        answer: Sequence[bytes] = await self._store.run(
            EXCHANGE_USE,
            [f"{{gateway}}:key:{FORMAT}:{usage.id}" for usage in usages],
            self._membership.id,
            round(HOLD_SECONDS * MICROSECONDS),
            *arguments,
        )
        now = self.clock()
        for number, (usage, in_flight) in enumerate(zip(usages, running, strict=True)):
            usage.adopt(answer[4 * number : 4 * number + 4], now, fresh)
            usage.reported = in_flight
            if not (in_flight or usage.in_flight or usage.new):  # all use is reported
                self._noted.pop(usage.id, None)


@asynccontextmanager
async def open_key_rates(store: Store, membership: Membership) -> AsyncIterator[SharedKeyRates]:
    """Open the rate limits of keys, and exchange counts in a background task."""
    rates = SharedKeyRates(store, membership)
    try:
        async with repeated(rates.exchange, EXCHANGE_SECONDS):
            yield rates
    finally:
        await rates.aclose()
