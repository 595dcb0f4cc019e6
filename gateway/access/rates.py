"""Rate limits of keys: requests per minute, and concurrent requests.

Rules:
- The rate is GCRA (`gateway.gcra`). A burst is a tenth of a minute's requests, at least 10.
- Requests refused by a rate, the key's or an address's, are not charged; all others are. A request
  holds its place among the concurrent ones until `leave`, which may be called twice.
- Only valid keys come here, and the number of stored keys is bounded. A key with running requests
  is never forgotten.
- If several processes share the limits of a key (`SharedUse`), a request may have to wait for an
  exchange with them before it is charged. Charging itself never waits.
"""

import math
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import msgspec

from gateway.access.caller import Caller
from gateway.errors import RateLimited, TooManyInFlight
from gateway.gcra import Gcra, RateLimit, Standing, rate_limit
from gateway.settings.plans import PlanSettings

SMALLEST_BURST = 10
MAX_EXPORTS = 4
"""Maximum number of concurrent exports of all keys."""
MAX_EXPORTS_OF_KEY = 2
"""Maximum number of concurrent exports of one key, which may read slowly."""
FRESH_PRICE = 5
"""Price of a request for fresh data, each of which may cost a call to Google."""
MAX_KEPT = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of a plan; `per_minute` 0 means no limit."""

    per_minute: int
    max_concurrent: int
    rate: RateLimit


class SharedUse(Protocol):
    """Use of a key by all processes that serve it."""

    def is_full(self, max_concurrent: int) -> bool:
        """True if no other request may run now."""

    def leave(self) -> None:
        """Note that a request has ended."""

    def must_exchange(self, limits: Limits, price: int) -> bool:
        """True if a request has to `exchange` before it is charged."""

    async def exchange(self, limits: Limits, price: int) -> None:
        """Fetch the use by other processes. Raises nothing, and takes a few seconds at most."""


class KeyUsage(Gcra):
    """Used rate of a key, and number of its running requests in this process."""

    __slots__ = ("in_flight",)

    shared: "ClassVar[SharedUse | None]" = None
    """The use by all processes; None in a process that knows no others."""

    def __init__(self, _key_id: str = "") -> None:
        super().__init__()
        self.in_flight = 0


class RateLease(msgspec.Struct):
    """A request of a key, from its admission until its answer is sent."""

    limits: Limits
    usage: KeyUsage
    _timer: Callable[[], float]
    _exports: list[KeyUsage]
    """Usage of the key of each export that runs in this process."""
    _is_in: bool = False
    _is_export: bool = False

    async def exchange(self, price: int = 1) -> None:
        """Fetch the use by other processes, if it must be known before charging `price`."""
        shared = self.usage.shared
        if shared is not None and shared.must_exchange(self.limits, price):
            await shared.exchange(self.limits, price)

    def enter(self) -> None:
        """Charge the request and take a place. Raises `RateLimited` or `TooManyInFlight`."""
        limits, usage, most = self.limits, self.usage, self.limits.max_concurrent
        wait_seconds = usage.take(limits.rate, self._timer())
        if wait_seconds:
            raise self._rate_limited(wait_seconds)
        shared = usage.shared
        if usage.in_flight >= most if shared is None else shared.is_full(most):
            raise TooManyInFlight(
                f"This key may have {most} concurrent requests. Wait for the answer to one of "
                "them.",
                retry_after_seconds=1,
            )
        usage.in_flight += 1
        self._is_in = True

    def begin_export(self) -> None:
        """Take a place for an export, if not taken yet. Raises `TooManyInFlight`."""
        if self._is_export:
            return
        running = self._exports
        if len(running) >= MAX_EXPORTS or running.count(self.usage) >= MAX_EXPORTS_OF_KEY:
            raise TooManyInFlight(
                f"This gateway runs at most {MAX_EXPORTS} exports at once, "
                f"{MAX_EXPORTS_OF_KEY} of them for one key. Wait for the end of one of them.",
                retry_after_seconds=1,
            )
        running.append(self.usage)
        self._is_export = True

    def charge(self, price: int = 1) -> None:
        """Charge `price`, or nothing and raise `RateLimited`."""
        wait_seconds = self.usage.take(self.limits.rate, self._timer(), price)
        if wait_seconds:
            raise self._rate_limited(wait_seconds)

    def refund(self) -> None:
        """Undo the charge of the request, which another limit refuses."""
        self.usage.give_back(self.limits.rate)

    async def raise_to(self, price: int) -> None:
        """Raise the price of a running request, or charge nothing and raise `RateLimited`.

        The error has the waiting time for the whole price.
        """
        await self.exchange(price - 1)
        self.usage.give_back(self.limits.rate)
        self.charge(price)

    def owe(self, price: int) -> None:
        """Charge more for a running request whose work is done; later requests wait for the rest.

        A refusal here would let clients repeat the work for free, and a price above the burst could
        never be charged.
        """
        rate, usage, now = self.limits.rate, self.usage, self._timer()
        left = min(price, usage.standing(rate, now).remaining)
        usage.take(rate, now, left)
        usage.give_back(rate, left - price)

    def standing(self) -> Standing:
        """Number of requests that the key may send now; None without a rate limit."""
        return self.usage.standing(self.limits.rate, self._timer())

    def leave(self) -> None:
        """Release the request's places, if taken."""
        if self._is_in:
            self._is_in = False
            if self.usage.shared is None:
                self.usage.in_flight -= 1
            else:
                self.usage.shared.leave()
            if self._is_export:
                self._exports.remove(self.usage)

    def _rate_limited(self, wait_seconds: float) -> RateLimited:
        return RateLimited(
            f"This key may send {self.limits.per_minute} requests a minute, and "
            f"{self.limits.rate.burst} at once. Wait as many seconds as Retry-After says.",
            retry_after_seconds=math.ceil(wait_seconds),
        )


class KeyRates:
    """Usage of each key, under its plan's limits."""

    def __init__(
        self,
        plans: Mapping[str, PlanSettings],
        timer: Callable[[], float] = time.monotonic,
        max_kept: int = MAX_KEPT,
        new_usage: Callable[[str], KeyUsage] = KeyUsage,
    ) -> None:
        """`new_usage` begins the usage of the key with this ID."""
        self._limits = {
            name: Limits(
                per_minute=plan.requests_per_minute,
                max_concurrent=plan.max_concurrent or sys.maxsize,
                rate=key_rate_limit(plan.requests_per_minute),
            )
            for name, plan in plans.items()
        }
        self._timer = timer
        self._max_kept = max_kept
        self._new_usage = new_usage
        self._exports: list[KeyUsage] = []
        self._usages: OrderedDict[str, KeyUsage] = OrderedDict()

    def lease(self, caller: Caller) -> RateLease:
        """A lease for a request that has not entered yet."""
        key_id, usages = caller.key_id, self._usages
        usage = usages.get(key_id)
        if usage is not None:
            usages.move_to_end(key_id)
        else:
            if len(usages) >= self._max_kept:
                idle = (known for known, each in usages.items() if not each.in_flight)
                usages.pop(next(idle, ""), None)
            usage = usages[key_id] = self._new_usage(key_id)
        return RateLease(self._limits[caller.plan_name], usage, self._timer, self._exports)


def key_rate_limit(per_minute: int) -> RateLimit:
    return rate_limit(per_minute, burst=max(SMALLEST_BURST, per_minute // 10))
