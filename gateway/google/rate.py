"""GCRA rate with a burst, which learns from Google's 429.

Rules
- Pure: whoever asks brings the time, in seconds of one monotonic clock.
- GCRA: in no minute are there more calls than the rate's and the burst together. Google counts
  some minute or other; if their sum is its limit, nothing is refused in any.
- A 429 means that somebody else spends the same quota, or that it is smaller than was configured.
  All calls pause: 5 s, twice as long each time another follows, 60 s at most. A minute without
  one after a pause, and the next pause is 5 s again.
- Where the 429 tells a limit below the configured rate, the rate is nine tenths of it from then
  on. Ten minutes without a 429, or a restart, and the configured rate holds again.
"""

import math
from dataclasses import dataclass

MINUTE_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
CALM_SECONDS = 60.0
"""So long after a pause another 429 is a new trouble, not the same one going on."""
RECOVERY_SECONDS = 600.0
"""So long after the last 429 the configured rate is tried again."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Calls a minute that may go on for ever, and how many may come at once after a rest."""

    per_minute: float
    burst: int

    @property
    def interval_seconds(self) -> float:
        return MINUTE_SECONDS / self.per_minute

    @property
    def tolerance_seconds(self) -> float:
        """How far a burst may run ahead of evenly spaced calls."""
        return (self.burst - 1) * self.interval_seconds


def configured_pace(per_minute: int) -> Pace:
    """54 a minute have a burst of 6: 60, Google's limit, in any minute."""
    return Pace(per_minute=per_minute, burst=max(1, per_minute // 9))


def learnt_pace(limit: int) -> Pace:
    """The pace that keeps to a limit of so many calls a minute, 1 or more."""
    per_minute = 0.9 * limit
    return Pace(per_minute=per_minute, burst=limit - math.floor(per_minute))


class Rate:
    """The rate of one kind of call, as far as it is used up and as Google corrected it."""

    def __init__(self, per_minute: int) -> None:
        self._configured = self._pace = configured_pace(per_minute)
        self._rested_at = -math.inf
        """When the whole burst is there again if nothing is taken until then."""
        self._refused_at = -math.inf
        self._pause_seconds = 0.0
        self._paused_at = self._paused_until = -math.inf

    def pace(self, now: float) -> Pace:
        """What holds by now, learnt or configured."""
        if now - self._refused_at >= RECOVERY_SECONDS:
            self._pace = self._configured
        return self._pace

    def free_at(self, now: float) -> float:
        """The first instant at which a call may be sent; in the past if one could have been."""
        return max(self._rested_at - self.pace(now).tolerance_seconds, self._paused_until)

    def take(self, now: float) -> bool:
        """Count a call that is sent now; False if none may be."""
        if now < self.free_at(now):
            return False
        self._rested_at = max(self._rested_at, now) + self._pace.interval_seconds
        return True

    def give_back(self) -> None:
        """Take back the last count: its call is not sent."""
        self._rested_at -= self._pace.interval_seconds

    def refused(self, now: float, *, sent_at: float, limit: int | None) -> None:
        """Note that Google refused a call with a 429, and the limit a minute that it told."""
        self._refused_at = now
        if limit and 0.9 * limit < self._pace.per_minute:
            self._pace = learnt_pace(limit)
        if sent_at > self._paused_at:  # else it left before the pause that began meanwhile
            self._pause(now)
        # After the pause one call, not a burst.
        spent_until = self._paused_until + self._pace.tolerance_seconds
        self._rested_at = max(self._rested_at, spent_until)

    def _pause(self, now: float) -> None:
        goes_on = now < self._paused_until + CALM_SECONDS
        doubled = min(2 * self._pause_seconds, LONGEST_PAUSE_SECONDS)
        self._pause_seconds = doubled if goes_on else FIRST_PAUSE_SECONDS
        self._paused_at, self._paused_until = now, now + self._pause_seconds
