"""Rate limits of keys: requests per minute, and concurrent requests.

Rules:
- The rate is limited by GCRA (`gateway.gcra`). The burst is a tenth of the requests per minute, and
  at least 10.
- A request is charged unless it exceeds the rate of its key or its address. The price of a request
  is the number of requests that it counts as, usually 1.
- A request counts as concurrent from `enter` until `leave`, which can be called twice.
- Only valid keys have a rate, and the number of stored keys has a maximum. A key with running
  requests is not dropped.
- If several processes share the limits of a key (`SharedUse`), some requests exchange counts with
  the other processes before they are charged. The charge itself does not wait.
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
from gateway.settings.model import PlanSettings

SMALLEST_BURST = 10
MAX_EXPORTS = 4
"""Maximum number of concurrent exports in this process, of all keys together."""
MAX_EXPORTS_OF_KEY = 2
"""Maximum number of concurrent exports of one key in this process."""
FRESH_PRICE = 5
"""Number of requests for which a request with `no-cache` counts, as it can call Google."""
MAX_KEPT = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of a plan's keys. `per_minute` 0 means no rate limit."""

    per_minute: int
    max_concurrent: int
    rate: RateLimit


class SharedUse(Protocol):
    """Counts of a key's requests, shared by all processes."""

    def is_full(self, max_concurrent: int) -> bool:
        """True if the key has `max_concurrent` or more running requests in all processes."""

    def leave(self) -> None:
        """Count one of the key's running requests as ended."""

    def must_exchange(self, limits: Limits, price: int) -> bool:
        """True if a request must call `exchange` before it is charged `price`."""

    async def exchange(self, limits: Limits, price: int) -> None:
        """Exchange counts with other processes, before a charge of `price` requests.

        Raises no error, and takes a few seconds at most.
        """


class KeyUsage(Gcra):
    """Use of a key's rate limit, and number of the key's running requests in this process."""

    __slots__ = ("in_flight",)

    shared: "ClassVar[SharedUse | None]" = None
    """Counts shared with other processes, or None if this process shares none."""

    def __init__(self, _key_id: str = "") -> None:
        super().__init__()
        self.in_flight = 0


class RateLease(msgspec.Struct):
    """Charge of one request to its key's limits, from admission until the answer is sent."""

    limits: Limits
    usage: KeyUsage
    _timer: Callable[[], float]
    _exports: list[KeyUsage]
    """Running exports of this process, each as the usage of its key."""
    _is_in: bool = False
    _is_export: bool = False

    async def exchange(self, price: int = 1) -> None:
        """Exchange counts with other processes if a charge of `price` needs their counts."""
        shared = self.usage.shared
        if shared is not None and shared.must_exchange(self.limits, price):
            await shared.exchange(self.limits, price)

    def enter(self) -> None:
        """Charge the request and count it as running. Raises `RateLimited` or `TooManyInFlight`."""
        limits, usage, most = self.limits, self.usage, self.limits.max_concurrent
        wait_seconds = usage.take(limits.rate, self._timer())
        if wait_seconds:
            raise self._rate_limited(wait_seconds)
        shared = usage.shared
        if usage.in_flight >= most if shared is None else shared.is_full(most):
            raise TooManyInFlight(
                f"This key can have at most {most} concurrent requests. Wait for the answer to one "
                "of these requests.",
                retry_after_seconds=1,
            )
        usage.in_flight += 1
        self._is_in = True

    def begin_export(self) -> None:
        """Count the request as a running export, once. Raises `TooManyInFlight`."""
        if self._is_export:
            return
        running = self._exports
        if len(running) >= MAX_EXPORTS or running.count(self.usage) >= MAX_EXPORTS_OF_KEY:
            raise TooManyInFlight(
                f"This gateway runs at most {MAX_EXPORTS} exports at once, "
                f"{MAX_EXPORTS_OF_KEY} of them for one key. Wait until an export has ended.",
                retry_after_seconds=1,
            )
        running.append(self.usage)
        self._is_export = True

    def charge(self, price: int = 1) -> None:
        """Charge `price` requests. Raises `RateLimited`, and then charges nothing."""
        wait_seconds = self.usage.take(self.limits.rate, self._timer(), price)
        if wait_seconds:
            raise self._rate_limited(wait_seconds)

    def refund(self) -> None:
        """Undo the charge of the request, because it exceeds another limit."""
        self.usage.give_back(self.limits.rate)

    async def raise_to(self, price: int) -> None:
        """Increase the price of a running request from 1 to `price`.

        Raises `RateLimited` with the wait for the whole price. Then the request is charged nothing.
        """
        await self.exchange(price - 1)
        self.usage.give_back(self.limits.rate)
        self.charge(price)

    def owe(self, price: int) -> None:
        """Charge `price` requests after the work is done, even above the burst.

        Later requests wait for the rate to recover. An error here would let clients repeat the work
        for free.
        """
        rate, usage, now = self.limits.rate, self.usage, self._timer()
        left = min(price, usage.standing(rate, now).remaining)
        usage.take(rate, now, left)
        usage.give_back(rate, left - price)

    def standing(self) -> Standing:
        """Return the result of `Gcra.standing` for the key, which must have a rate limit."""
        return self.usage.standing(self.limits.rate, self._timer())

    def leave(self) -> None:
        """Count the request as ended, also as a running export."""
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
            f"This key can send at most {self.limits.per_minute} requests a minute, and "
            f"{self.limits.rate.burst} at once. Wait as many seconds as Retry-After says.",
            retry_after_seconds=math.ceil(wait_seconds),
        )


class KeyRates:
    """Usage of each key, and limits of the plans. Creates the leases of requests."""

    def __init__(
        self,
        plans: Mapping[str, PlanSettings],
        timer: Callable[[], float] = time.monotonic,
        max_kept: int = MAX_KEPT,
        new_usage: Callable[[str], KeyUsage] = KeyUsage,
    ) -> None:
        """Create without usage: `new_usage` creates the usage of a key from the key's ID."""
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
        """Create the lease of a request, which is not charged yet."""
        key_id, usages = caller.key.id, self._usages
        usage = usages.get(key_id)
        if usage is not None:
            usages.move_to_end(key_id)
        else:
            if len(usages) >= self._max_kept:
                idle = (known for known, each in usages.items() if not each.in_flight)
                usages.pop(next(idle, ""), None)
            usage = usages[key_id] = self._new_usage(key_id)
        return RateLease(self._limits[caller.key.plan], usage, self._timer, self._exports)


def key_rate_limit(per_minute: int) -> RateLimit:
    return rate_limit(per_minute, burst=max(SMALLEST_BURST, per_minute // 10))
