"""Rate of calls to Google: GCRA that learns from 429s.

Rules
- Pure: the caller passes the time, in seconds of one monotonic clock.
- In no minute are there more calls than the rate's and the burst together. Google counts some
  minute or other; if their sum is its limit, nothing is refused in any.
- A 429 means that somebody else spends the same quota, or that it is smaller than was configured.
  All calls pause: 5 s, twice as long each time another follows, 60 s at most. A minute without
  one after a pause, and the next pause is 5 s again.
- Where the 429 names a limit below the configured rate, the rate is nine tenths of it from then
  on. Ten minutes without a 429, or a restart, and the configured rate holds again.
"""

import math

from gateway.gcra import Gcra, RateLimit, rate_limit

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
CALM_SECONDS = 60.0
"""So long after a pause another 429 is a new trouble, not the same one going on."""
RECOVERY_SECONDS = 600.0
"""So long after the last 429 the configured rate is tried again."""


def configured_limit(per_minute: int) -> RateLimit:
    """54 a minute have a burst of 6: 60, Google's limit, in any minute."""
    return rate_limit(per_minute, burst=max(1, per_minute // 9))


def learnt_limit(quota: int) -> RateLimit:
    """The limit that keeps to a quota of so many calls a minute, 1 or more."""
    per_minute = 0.9 * quota
    return rate_limit(per_minute, burst=quota - math.floor(per_minute))


class Rate:
    """The rate of one kind of call: its use, its pauses, and its limit as Google corrected it."""

    def __init__(self, per_minute: int) -> None:
        self._configured = self._limit = configured_limit(per_minute)
        self._gcra = Gcra()
        self._refused_at = -math.inf
        self._pause_seconds = 0.0
        self._paused_at = self._paused_until = -math.inf

    def limit(self, now: float) -> RateLimit:
        """The limit that holds by now, learnt or configured."""
        if now - self._refused_at >= RECOVERY_SECONDS:
            self._limit = self._configured
        return self._limit

    def free_at(self, now: float) -> float:
        """The first instant at which a call may be sent; in the past if one could have been."""
        return max(self._gcra.free_at(self.limit(now)), self._paused_until)

    def take(self, now: float) -> bool:
        """Count a call that is sent now; False if none may be."""
        if now < self._paused_until:
            return False
        return not self._gcra.take(self.limit(now), now)

    def give_back(self) -> None:
        """Take back the last count: its call is not sent."""
        self._gcra.give_back(self._limit)

    def refused(self, now: float, *, sent_at: float, limit: int | None) -> None:
        """Note that Google refused a call with a 429, and the limit a minute that it named."""
        self._refused_at = now
        if limit and 0.9 * limit < self._limit.per_minute:
            self._limit = learnt_limit(limit)
        if sent_at > self._paused_at:  # else it left before the pause that began meanwhile
            self._pause(now)
        self._gcra.empty_until(self._limit, self._paused_until)

    def _pause(self, now: float) -> None:
        goes_on = now < self._paused_until + CALM_SECONDS
        doubled = min(2 * self._pause_seconds, LONGEST_PAUSE_SECONDS)
        self._pause_seconds = doubled if goes_on else FIRST_PAUSE_SECONDS
        self._paused_at, self._paused_until = now, now + self._pause_seconds
