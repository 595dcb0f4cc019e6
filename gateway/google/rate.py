"""Rates of calls to Google, corrected by its refusals.

Rules
- A rate is GCRA that learns from 429s. No minute has more calls than rate and burst together.
  Google counts an unknown minute, so their sum must not exceed its limit.
- A 429 means that somebody else uses the same quota, or that it is smaller than configured. All
  calls pause for 5 s, twice as long each time another follows, 60 s at most. After a minute without
  one the next pause is 5 s again.
- If the 429 names a limit below the configured rate, the rate becomes nine tenths of it. Ten
  minutes without a 429, or a restart, restore the configured rate.
- A rate that other processes share is corrected by what they told last (`mirror`), or is a part of
  the whole while they cannot be asked (`take_part`).
- Pure: the caller passes the time, in seconds of one monotonic clock.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gateway.gcra import Gcra, RateLimit, rate_limit

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
CALM_SECONDS = 60.0
"""Time after a pause until another 429 counts as a new problem."""
RECOVERY_SECONDS = 600.0
"""Time after the last 429 until the configured rate is used again."""


def configured_limit(per_minute: int) -> RateLimit:
    """54 per minute have a burst of 6: at most 60, Google's limit, in any minute."""
    return rate_limit(per_minute, burst=max(1, per_minute // 9))


def learnt_limit(quota: int) -> RateLimit:
    """The limit for a quota of `quota` calls per minute, 1 or more."""
    per_minute = 0.9 * quota
    return rate_limit(per_minute, burst=quota - math.floor(per_minute))


LEAST_PER_MINUTE = 0.1


def part_of(limit: RateLimit, share: float) -> RateLimit:
    """A share of a limit; all shares together allow no more in any minute than the limit does."""
    burst = max(1, math.floor(limit.burst * share + 0.001))
    rest = (limit.per_minute + limit.burst) * share - burst
    return rate_limit(max(min(limit.per_minute * share, rest), LEAST_PER_MINUTE), burst=burst)


class Learnt(NamedTuple):
    """What a rate learnt of 429s, for other processes; times are seconds from now on."""

    quota: int
    """The limit that Google named, 0 if it is not below the configured one."""
    quota_seconds: float
    paused_seconds: float
    """Until the last pause ends; negative if it is over."""
    pause_seconds: float
    """Length of the last pause, 0 if there was none."""


class Rate:
    """Rate of one kind of call: its use, its pauses, and its limit as corrected by Google."""

    def __init__(
        self,
        per_minute: int,
        *,
        full_at: float = -math.inf,
        note: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        """`full_at`: when the whole burst is there, by what an earlier process spent.

        `note` receives the seconds until it is there again, whenever they grow.
        """
        self._note = note
        self._configured = self._limit = configured_limit(per_minute)
        self._gcra = Gcra()
        self._gcra.full_at = full_at
        self._refused_at = -math.inf
        self._pause_seconds = 0.0
        self._paused_at = self._paused_until = -math.inf
        self._quota = 0
        self._share = 1.0

    def limit(self, now: float) -> RateLimit:
        """The current limit, learnt or configured."""
        if now - self._refused_at >= RECOVERY_SECONDS:
            self._limit, self._quota = self._configured, 0
        return self._part()

    @property
    def configured(self) -> RateLimit:
        return self._configured

    def free_at(self, now: float) -> float:
        """The earliest time at which a call may be sent, perhaps in the past."""
        return max(self._gcra.free_at(self.limit(now)), self._paused_until)

    @property
    def full_at(self) -> float:
        """The instant at which the whole burst is there."""
        return self._gcra.full_at

    def take(self, now: float) -> bool:
        """Count a call that is sent now; False if none may be."""
        if now < self._paused_until or self._gcra.take(self.limit(now), now):
            return False
        self._note(self._gcra.full_at - now)
        return True

    def give_back(self) -> None:
        """Undo the last `take`: its call is not sent."""
        self._gcra.give_back(self._part())

    def refused(self, now: float, *, sent_at: float, limit: int | None) -> None:
        """Learn from a call's 429 and the limit per minute that it names."""
        self._refused_at = now
        if limit and 0.9 * limit < self._limit.per_minute:
            self._limit, self._quota = learnt_limit(limit), limit
        if sent_at > self._paused_at:  # otherwise it was sent before the current pause
            self._pause(now)
        self._gcra.empty_until(self._part(), self._paused_until)
        self._note(self._gcra.full_at - now)

    def learnt(self, now: float) -> Learnt | None:
        """What other processes have to know; None if nothing."""
        self.limit(now)
        if not self._quota and now >= self._paused_until + CALM_SECONDS:
            return None
        return Learnt(
            quota=self._quota,
            quota_seconds=self._refused_at + RECOVERY_SECONDS - now if self._quota else 0.0,
            paused_seconds=max(self._paused_until - now, -RECOVERY_SECONDS),
            pause_seconds=self._pause_seconds,
        )

    def mirror(self, now: float, wait_seconds: float, learnt: Learnt) -> None:
        """Take over what all processes know; the next call may be sent after a wait."""
        if learnt.quota and 0.9 * learnt.quota < self._limit.per_minute:
            self._limit, self._quota = learnt_limit(learnt.quota), learnt.quota
            self._refused_at = now + learnt.quota_seconds - RECOVERY_SECONDS
        if learnt.pause_seconds and now + learnt.paused_seconds > self._paused_until:
            self._pause_seconds = learnt.pause_seconds
            self._paused_until = now + learnt.paused_seconds
            self._paused_at = self._paused_until - learnt.pause_seconds
        limit = self.limit(now)
        self._gcra.full_at = now + wait_seconds + limit.burst_seconds - limit.interval_seconds

    def delay(self, seconds: float) -> None:
        """Let the next call be sent later, until the next `mirror`."""
        self._gcra.full_at += seconds

    def take_part(self, share: float, since: float) -> None:
        """Keep to a share from an instant on, at which nothing of its burst is there."""
        self._share = share
        self._gcra.full_at = since + self.limit(since).burst_seconds

    def take_whole(self) -> None:
        """End `take_part`: others know what was used."""
        self._share = 1.0
        self._gcra.full_at = -math.inf

    def _part(self) -> RateLimit:
        return self._limit if self._share == 1.0 else part_of(self._limit, self._share)

    def _pause(self, now: float) -> None:
        goes_on = now < self._paused_until + CALM_SECONDS
        doubled = min(2 * self._pause_seconds, LONGEST_PAUSE_SECONDS)
        self._pause_seconds = doubled if goes_on else FIRST_PAUSE_SECONDS
        self._paused_at, self._paused_until = now, now + self._pause_seconds


class Rates:
    """The rates that one call counts against together: of its account, and of its project."""

    def __init__(self, rates: Sequence[Rate]) -> None:
        self._rates = rates

    def per_minute(self, now: float) -> float:
        return min(rate.limit(now).per_minute for rate in self._rates)

    def free_at(self, now: float) -> float:
        """The earliest time at which a call may be sent, perhaps in the past."""
        return max(rate.free_at(now) for rate in self._rates)

    @property
    def full_at(self) -> float:
        """The instant at which all of every burst is there."""
        return max(rate.full_at for rate in self._rates)

    def take(self, now: float) -> bool:
        """Count a call that is sent now; False if none may be."""
        for number, rate in enumerate(self._rates):
            if not rate.take(now):
                for taken in self._rates[:number]:
                    taken.give_back()
                return False
        return True

    def give_back(self) -> None:
        """Undo the last `take`: its call is not sent."""
        for rate in self._rates:
            rate.give_back()

    def refused(self, now: float, *, sent_at: float, limit: int | None, is_project: bool) -> None:
        """Learn from a call's 429 and the limit per minute that it names; the project's is last."""
        self._rates[-1 if is_project else 0].refused(now, sent_at=sent_at, limit=limit)
