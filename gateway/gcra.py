"""GCRA (generic cell rate algorithm): a rate limit with a burst, stored as a single time.

Rules
- The caller passes the time, in seconds of one monotonic clock. There is no timer.
- A minute allows at most the rate plus the burst. After a burst, requests are allowed evenly at the
  rate.
- A refused request does not count. The request is allowed after the seconds that `take` returned,
  unless another request counts in this time.
"""

import math
from dataclasses import dataclass

import msgspec

MINUTE_SECONDS = 60.0

_ROUNDING_SECONDS = 1e-6
_ROUNDING = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimit:
    """Maximum number of requests per minute, and of requests at once (burst) after a pause."""

    per_minute: float
    burst: int
    interval_seconds: float
    burst_seconds: float
    """Seconds in which a used burst becomes available again."""


class Standing(msgspec.Struct, frozen=True):
    """Number of requests that are allowed now, and seconds as `Gcra.standing` returns them."""

    remaining: int
    seconds: int


class Gcra:
    """Current use of a rate limit. Each call of a method can pass another limit."""

    __slots__ = ("full_at",)

    def __init__(self) -> None:
        self.full_at = -math.inf
        """Time at which the whole burst is available (theoretical arrival time)."""

    def take(self, limit: RateLimit, now: float, price: int = 1) -> float:
        """Count `price` requests and return 0, or count nothing and return the seconds to wait."""
        full_at = self.full_at
        full_at = (full_at if full_at > now else now) + price * limit.interval_seconds
        wait_seconds = full_at - now - limit.burst_seconds
        if wait_seconds > _ROUNDING_SECONDS:
            return wait_seconds
        self.full_at = full_at
        return 0.0

    def give_back(self, limit: RateLimit, price: int = 1) -> None:
        """Undo a `take` of `price` requests."""
        self.full_at -= price * limit.interval_seconds

    def free_at(self, limit: RateLimit) -> float:
        """Return the earliest time at which a request is allowed, which can be in the past."""
        return self.full_at - (limit.burst_seconds - limit.interval_seconds)

    def empty_until(self, limit: RateLimit, instant: float) -> None:
        """Allow no request before the time `instant`, and then one request without a burst."""
        self.full_at = max(self.full_at, instant + (limit.burst_seconds - limit.interval_seconds))

    def standing(self, limit: RateLimit, now: float) -> Standing:
        """Return the number of requests that are allowed now, and seconds.

        If the number is 0, the seconds are until the next allowed request. Otherwise the seconds
        are until the whole burst is available.
        """
        owed_seconds = self.full_at - now
        if owed_seconds <= 0:
            return Standing(limit.burst, 0)
        interval_seconds, burst_seconds = limit.interval_seconds, limit.burst_seconds
        remaining = int((burst_seconds - owed_seconds) / interval_seconds + _ROUNDING)
        if remaining <= 0:
            return Standing(0, math.ceil(owed_seconds + interval_seconds - burst_seconds))
        return Standing(remaining, math.ceil(owed_seconds))


def rate_limit(per_minute: float, *, burst: int) -> RateLimit:
    """Return a rate limit. 0 per minute means no limit."""
    interval_seconds = MINUTE_SECONDS / per_minute if per_minute else 0.0
    return RateLimit(
        per_minute=per_minute,
        burst=burst,
        interval_seconds=interval_seconds,
        burst_seconds=burst * interval_seconds,
    )
