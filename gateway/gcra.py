"""GCRA (generic cell rate algorithm): a rate limit with a burst, stored as one instant.

Rules
- Pure: the caller passes the time, in seconds of one monotonic clock. There is no timer, and an
  idle limit costs nothing.
- No minute allows more than rate and burst together. After a burst, requests pass evenly at the
  rate.
- A refused request is not charged. It passes after the wait that `take` returned, unless another
  request is charged meanwhile.
"""

import math
from dataclasses import dataclass

import msgspec

MINUTE_SECONDS = 60.0

_ROUNDING_SECONDS = 1e-6
_ROUNDING = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimit:
    """A sustained rate of requests, and a burst after a rest."""

    per_minute: float
    burst: int
    interval_seconds: float
    burst_seconds: float
    """Time in which a used burst recovers."""


class Standing(msgspec.Struct, frozen=True):
    """Number of requests that may be sent at once; after `seconds` there may be more."""

    remaining: int
    seconds: int


class Gcra:
    """Use of a rate limit, which may be a different one at each call."""

    __slots__ = ("full_at",)

    def __init__(self) -> None:
        self.full_at = -math.inf
        """The instant at which the whole burst is available: the theoretical arrival time."""

    def take(self, limit: RateLimit, now: float, price: int = 1) -> float:
        """Take `price` at once and return 0; or take none and return the seconds to wait."""
        full_at = self.full_at
        full_at = (full_at if full_at > now else now) + price * limit.interval_seconds
        wait_seconds = full_at - now - limit.burst_seconds
        if wait_seconds > _ROUNDING_SECONDS:
            return wait_seconds
        self.full_at = full_at
        return 0.0

    def give_back(self, limit: RateLimit, price: int = 1) -> None:
        """Undo a `take`."""
        self.full_at -= price * limit.interval_seconds

    def free_at(self, limit: RateLimit) -> float:
        """The earliest instant at which one may be taken; it may have passed."""
        return self.full_at - (limit.burst_seconds - limit.interval_seconds)

    def empty_until(self, limit: RateLimit, instant: float) -> None:
        """Refuse everything before an instant, and then allow one request, not a burst."""
        self.full_at = max(self.full_at, instant + (limit.burst_seconds - limit.interval_seconds))

    def standing(self, limit: RateLimit, now: float) -> Standing:
        """The requests available now; the seconds to the full burst, or to the next if none is."""
        owed_seconds = self.full_at - now
        if owed_seconds <= 0:
            return Standing(limit.burst, 0)
        interval_seconds, burst_seconds = limit.interval_seconds, limit.burst_seconds
        remaining = int((burst_seconds - owed_seconds) / interval_seconds + _ROUNDING)
        if remaining <= 0:
            return Standing(0, math.ceil(owed_seconds + interval_seconds - burst_seconds))
        return Standing(remaining, math.ceil(owed_seconds))


def rate_limit(per_minute: float, *, burst: int) -> RateLimit:
    """A limit per minute; 0 means no limit."""
    interval_seconds = MINUTE_SECONDS / per_minute if per_minute else 0.0
    return RateLimit(
        per_minute=per_minute,
        burst=burst,
        interval_seconds=interval_seconds,
        burst_seconds=burst * interval_seconds,
    )
