"""Rate limits of keys: requests a minute, and requests in flight.

Rules:
- A rate is kept as one instant (GCRA): no timer runs, and what rests takes no time. A burst is a
  tenth of a minute's requests, at least 10; after it requests are let in as evenly as they may go
  on for ever. In no minute are there more than the rate's and the burst together.
- What the rate refuses is not charged for, nor in part; all else is, whatever it is answered.
  Whoever waits as told gets in, if nobody else uses the key meanwhile. Its place
  among those under way is a request's own until it leaves, which may be said twice.
- Only keys that count come here, so nobody can fill the memory; there is a bound to it all the
  same. A key that has requests under way is never forgotten.
"""

import math
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gateway.access.caller import Caller
from gateway.errors import RateLimited, TooManyInFlight
from gateway.settings.plans import PlanSettings

MINUTE_SECONDS = 60.0
SMALLEST_BURST = 10
FRESH_PRICE = 5
"""What a request that asks for fresh data costs: it may cost a call to Google each time."""
MAX_KEPT = 10_000

_ROUNDING_SECONDS = 1e-6
_ROUNDING = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """One request in each interval for ever, and a burst after a rest; 0 seconds are no limit."""

    interval_seconds: float
    burst: int
    tolerance_seconds: float
    """How long the burst takes to come back."""


class Standing(NamedTuple):
    """What a key may still ask: so many requests at once, and after these seconds more."""

    remaining: int
    seconds: int


class Meter:
    """What was used of a pace: all of it is there again at `rested_at`, on a monotonic clock."""

    __slots__ = ("in_flight", "rested_at")

    def __init__(self) -> None:
        self.rested_at = -math.inf
        self.in_flight = 0

    def take(self, pace: Pace, now: float, price: int = 1) -> float:
        """Take so many at once, and give 0; or take none, and give the seconds to wait."""
        rested_at = self.rested_at
        rested_at = (rested_at if rested_at > now else now) + price * pace.interval_seconds
        wait_seconds = rested_at - now - pace.tolerance_seconds
        if wait_seconds > _ROUNDING_SECONDS:
            return wait_seconds
        self.rested_at = rested_at
        return 0.0

    def give_back(self, pace: Pace, price: int = 1) -> None:
        """Have so many not been taken."""
        self.rested_at -= price * pace.interval_seconds

    def standing(self, pace: Pace, now: float) -> Standing:
        """Where nothing is left the seconds are those to the next one, else to the whole burst."""
        owed = self.rested_at - now
        if owed <= 0:
            return Standing(pace.burst, 0)
        remaining = int((pace.tolerance_seconds - owed) / pace.interval_seconds + _ROUNDING)
        if remaining <= 0:
            return Standing(0, math.ceil(owed + pace.interval_seconds - pace.tolerance_seconds))
        return Standing(remaining, math.ceil(owed))


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The limits of a plan, worked out; `per_minute` is 0 where there is none."""

    per_minute: int
    max_concurrent: int
    pace: Pace


class RateLease:
    """One request of a key, from its admission until its answer is out."""

    __slots__ = ("_is_in", "_limits", "_meter", "_timer")

    def __init__(self, limits: Limits, meter: Meter, timer: Callable[[], float]) -> None:
        self._limits = limits
        self._meter = meter
        self._timer = timer
        self._is_in = False

    @property
    def per_minute(self) -> int:
        """The rate, 0 for none."""
        return self._limits.per_minute

    def enter(self) -> None:
        """Charge for the request and take a place; `RateLimited` or `TooManyInFlight`."""
        self.charge()
        meter = self._meter
        if meter.in_flight >= self._limits.max_concurrent:
            raise TooManyInFlight(
                f"This key may have {self._limits.max_concurrent} requests under way. Wait for "
                "one of them to be answered.",
                retry_after_seconds=1,
            )
        meter.in_flight += 1
        self._is_in = True

    def charge(self, price: int = 1) -> None:
        """Charge for something; `RateLimited`, and nothing is charged, if it is too much now."""
        wait_seconds = self._meter.take(self._limits.pace, self._timer(), price)
        if wait_seconds:
            raise RateLimited(
                f"This key may send {self._limits.per_minute} requests a minute, and "
                f"{self._limits.pace.burst} at once. Wait for the seconds in Retry-After.",
                retry_after_seconds=math.ceil(wait_seconds),
            )

    def raise_to(self, price: int) -> None:
        """Have a request that is in cost so much in all, or nothing if `RateLimited` is raised.

        The wait that it tells is one for the whole price.
        """
        self._meter.give_back(self._limits.pace)
        self.charge(price)

    def standing(self) -> Standing:
        """What the key may ask now; of a key with a rate."""
        return self._meter.standing(self._limits.pace, self._timer())

    def leave(self) -> None:
        """Give the place back, if one was taken."""
        if self._is_in:
            self._is_in = False
            self._meter.in_flight -= 1


class KeyRates:
    """What each key has used of its plan's limits."""

    def __init__(
        self,
        plans: Mapping[str, PlanSettings],
        timer: Callable[[], float] = time.monotonic,
        max_kept: int = MAX_KEPT,
    ) -> None:
        self._limits = {name: limits_of(plan) for name, plan in plans.items()}
        self._timer = timer
        self._max_kept = max_kept
        self._meters: OrderedDict[str, Meter] = OrderedDict()

    def lease(self, caller: Caller) -> RateLease:
        """A request of this caller, who has yet to enter."""
        key_id, meters = caller.key_id, self._meters
        meter = meters.get(key_id)
        if meter is None:
            meter = self._begin(key_id)
        else:
            meters.move_to_end(key_id)
        return RateLease(self._limits[caller.plan_name], meter, self._timer)

    def _begin(self, key_id: str) -> Meter:
        if len(self._meters) >= self._max_kept:
            idle = (known for known, meter in self._meters.items() if not meter.in_flight)
            self._meters.pop(next(idle, ""), None)
        meter = self._meters[key_id] = Meter()
        return meter


def limits_of(plan: PlanSettings) -> Limits:
    return Limits(
        per_minute=plan.requests_per_minute,
        max_concurrent=plan.max_concurrent or sys.maxsize,
        pace=pace_of(plan.requests_per_minute),
    )


def pace_of(per_minute: int) -> Pace:
    """A rate a minute with its burst; 0 is none."""
    if not per_minute:
        return Pace(interval_seconds=0.0, burst=0, tolerance_seconds=0.0)
    interval = MINUTE_SECONDS / per_minute
    burst = max(SMALLEST_BURST, per_minute // 10)
    return Pace(interval_seconds=interval, burst=burst, tolerance_seconds=burst * interval)
