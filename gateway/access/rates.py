"""Rate limits of keys: requests a minute, and requests in flight.

Rules:
- The rate is GCRA (`gateway.gcra`). A burst is a tenth of a minute's requests, at least 10.
- A request that the rate refuses is not charged; any other is, whatever its answer. A request
  keeps its place among those in flight until it leaves; leaving twice is once.
- Only valid keys come here, so nobody can fill the memory; it has a bound all the same. A key that
  has requests in flight is never forgotten.
"""

import math
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.access.caller import Caller
from gateway.errors import RateLimited, TooManyInFlight
from gateway.gcra import Gcra, RateLimit, Standing, rate_limit
from gateway.settings.plans import PlanSettings

SMALLEST_BURST = 10
FRESH_PRICE = 5
"""The price of a request for fresh data, which may cost a call to Google each time."""
MAX_KEPT = 10_000


class KeyUsage:
    """The use of a key's rate limit, and the number of its requests in flight."""

    __slots__ = ("gcra", "in_flight")

    def __init__(self) -> None:
        self.gcra = Gcra()
        self.in_flight = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The limits of a plan; `per_minute` is 0 if there is none."""

    per_minute: int
    max_concurrent: int
    rate: RateLimit


class RateLease:
    """One request of a key, from its admission until its answer is out."""

    __slots__ = ("_is_in", "_limits", "_timer", "_usage")

    def __init__(self, limits: Limits, usage: KeyUsage, timer: Callable[[], float]) -> None:
        self._limits = limits
        self._usage = usage
        self._timer = timer
        self._is_in = False

    @property
    def per_minute(self) -> int:
        """The rate, 0 for none."""
        return self._limits.per_minute

    def enter(self) -> None:
        """Charge for the request and take a place; `RateLimited` or `TooManyInFlight`."""
        limits, usage = self._limits, self._usage
        wait_seconds = usage.gcra.take(limits.rate, self._timer())
        if wait_seconds:
            raise self._rate_limited(wait_seconds)
        if usage.in_flight >= limits.max_concurrent:
            raise TooManyInFlight(
                f"This key may have {limits.max_concurrent} requests under way. Wait for "
                "one of them to be answered.",
                retry_after_seconds=1,
            )
        usage.in_flight += 1
        self._is_in = True

    def charge(self, price: int = 1) -> None:
        """Charge for something; `RateLimited`, and nothing is charged, if it is too much now."""
        wait_seconds = self._usage.gcra.take(self._limits.rate, self._timer(), price)
        if wait_seconds:
            raise self._rate_limited(wait_seconds)

    def raise_to(self, price: int) -> None:
        """Charge a request that is in so much in all, or nothing if `RateLimited` is raised.

        Its wait is one for the whole price.
        """
        self._usage.gcra.give_back(self._limits.rate)
        self.charge(price)

    def standing(self) -> Standing:
        """The requests that the key may send now, if it has a rate limit."""
        return self._usage.gcra.standing(self._limits.rate, self._timer())

    def leave(self) -> None:
        """Give the place back, if one was taken."""
        if self._is_in:
            self._is_in = False
            self._usage.in_flight -= 1

    def _rate_limited(self, wait_seconds: float) -> RateLimited:
        return RateLimited(
            f"This key may send {self._limits.per_minute} requests a minute, and "
            f"{self._limits.rate.burst} at once. Wait for the seconds in Retry-After.",
            retry_after_seconds=math.ceil(wait_seconds),
        )


class KeyRates:
    """The usage of each key, under its plan's limits."""

    def __init__(
        self,
        plans: Mapping[str, PlanSettings],
        timer: Callable[[], float] = time.monotonic,
        max_kept: int = MAX_KEPT,
    ) -> None:
        self._limits = {name: limits_of(plan) for name, plan in plans.items()}
        self._timer = timer
        self._max_kept = max_kept
        self._usages: OrderedDict[str, KeyUsage] = OrderedDict()

    def lease(self, caller: Caller) -> RateLease:
        """A request of this caller that has not entered yet."""
        key_id, usages = caller.key_id, self._usages
        usage = usages.get(key_id)
        if usage is None:
            usage = self._begin(key_id)
        else:
            usages.move_to_end(key_id)
        return RateLease(self._limits[caller.plan_name], usage, self._timer)

    def _begin(self, key_id: str) -> KeyUsage:
        if len(self._usages) >= self._max_kept:
            idle = (known for known, usage in self._usages.items() if not usage.in_flight)
            self._usages.pop(next(idle, ""), None)
        usage = self._usages[key_id] = KeyUsage()
        return usage


def limits_of(plan: PlanSettings) -> Limits:
    return Limits(
        per_minute=plan.requests_per_minute,
        max_concurrent=plan.max_concurrent or sys.maxsize,
        rate=key_rate_limit(plan.requests_per_minute),
    )


def key_rate_limit(per_minute: int) -> RateLimit:
    return rate_limit(per_minute, burst=max(SMALLEST_BURST, per_minute // 10))
