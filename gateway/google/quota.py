"""Google's quota: calls wait for their turn or fail at once, so that Google refuses none.

Rules of buckets
- Reads and writes of an account have a bucket each: its rates (the account's and its project's),
  and a queue. Every attempt takes from its bucket when it is sent. Cancelled waiters and unsent
  calls use no quota.
- If another key joins a waiting call, the limit of its wait starts again.
- A call fails at once if its wait would be too long, and later as soon as that becomes known (other
  keys came, or Google refused a call).
- One timer is set at a time, for the instant at which the next call may be sent. That instant never
  moves forward.
- If other processes use the same quota, each call also takes from the shared rates (`SharedRates`),
  one at a time, so that waiters keep their order. The local rates repeat the last known state of
  the shared ones.

Rules of rates
- A rate is GCRA that learns from 429s. No minute has more calls than rate and burst together.
  Google counts an unknown minute, so their sum must not exceed its limit.
- A 429 means that another program uses the same quota, or that it is smaller than configured. All
  calls pause for 5 s; each further 429 doubles the pause, up to 60 s. After a minute without a 429
  the next pause is 5 s again.
- If the 429 names a limit below the configured rate, the rate becomes nine tenths of it. Ten
  minutes without a 429, or a restart, restore the configured rate.
- A rate shared with other processes is corrected by the shared state (`mirror`), or is a part of
  the whole while that is unavailable (`take_part`).
- Rates are pure: the caller passes the time, in seconds of one monotonic clock.

Rules of spent quota
- A restart does not spend quota again: the instants at which the whole bursts of reads and of
  writes are available are stored before a call is sent, in seconds since the epoch. Without them, a
  process that crashes every 2 s under load would send a burst of 2 reads and 0.9 more a second, 114
  a minute of the 60 that Google allows.
- A changed wall clock or a damaged number costs a minute once.
- If the file is missing or cannot be written, quota is limited as before, but only in memory.
"""

import asyncio
import math
import os
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from gateway.errors import QuotaSpent
from gateway.gcra import Gcra, RateLimit, rate_limit
from gateway.google.sheets import CallContext
from gateway.settings.model import GoogleSettings
from gateway.settings.private_file import open_private
from gateway.telemetry.events import budget_waited, spent_quota_failed

MAX_WAITING_PER_KEY = 50
MAX_WAITING = 500

_SHORTEST_TIMER_SECONDS = 0.001
"""Minimum delay of the timer, which may fire a little early by another clock."""

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
CALM_SECONDS = 60.0
"""Time after a pause from which a 429 starts with the first pause again."""
RECOVERY_SECONDS = 600.0
"""Time after the last 429 until the configured rate is used again."""


def configured_limit(per_minute: int) -> RateLimit:
    """The rate limit of a configured number of calls; 54 with its burst of 6 make Google's 60."""
    return rate_limit(per_minute, burst=max(1, per_minute // 9))


def learnt_limit(quota: int) -> RateLimit:
    """The limit for a quota of `quota` calls per minute, 1 or more."""
    per_minute = 0.9 * quota
    return rate_limit(per_minute, burst=quota - math.floor(per_minute))


LEAST_PER_MINUTE = 0.1


def part_of(limit: RateLimit, share: float) -> RateLimit:
    """A share of a limit; in any minute all shares together allow no more than the limit."""
    burst = max(1, math.floor(limit.burst * share + 0.001))
    rest = (limit.per_minute + limit.burst) * share - burst
    return rate_limit(max(min(limit.per_minute * share, rest), LEAST_PER_MINUTE), burst=burst)


class Learnt(NamedTuple):
    """Limit and pause that a rate learnt from 429s; times are seconds from now."""

    quota: int
    """The limit that Google named, 0 if it is not below the configured one."""
    quota_seconds: float
    paused_seconds: float
    """Seconds to the end of the last pause; negative if it is over."""
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
        """`full_at` is the instant at which the whole burst is available after earlier use.

        `note` receives the seconds until then whenever they grow.
        """
        self._note = note
        self.configured = self._limit = configured_limit(per_minute)
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
            self._limit, self._quota = self.configured, 0
        return self._limit if self._share == 1.0 else part_of(self._limit, self._share)

    def free_at(self, now: float) -> float:
        """The earliest time at which a call may be sent, perhaps in the past."""
        return max(self._gcra.free_at(self.limit(now)), self._paused_until)

    @property
    def full_at(self) -> float:
        """Instant at which the whole burst is available."""
        return self._gcra.full_at

    def take(self, now: float) -> bool:
        """Charge a call that is sent now; False if it may not be sent."""
        if now < self._paused_until:
            return False
        is_usual = not self._quota and self._share == 1.0
        if self._gcra.take(self._limit if is_usual else self.limit(now), now):
            return False
        self._note(self._gcra.full_at - now)
        return True

    def give_back(self) -> None:
        """Undo the last `take`, whose call is not sent."""
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
        """Learnt limit and pause for other processes; None if both are over."""
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
        """Adopt the shared state: the wait until the next call, learnt limit and pause."""
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
        """Delay the next call; the next `mirror` ends the delay."""
        self._gcra.full_at += seconds

    def take_part(self, share: float, since: float) -> None:
        """Allow only a share, from the instant `since` on, without a burst at first."""
        self._share = share
        self._gcra.full_at = since + self.limit(since).burst_seconds

    def take_whole(self) -> None:
        """End `take_part`; the shared state has the use by then."""
        self._share = 1.0
        self._gcra.full_at = -math.inf

    def _part(self) -> RateLimit:
        return self._limit if self._share == 1.0 else part_of(self._limit, self._share)

    def _pause(self, now: float) -> None:
        goes_on = now < self._paused_until + CALM_SECONDS
        doubled = min(2 * self._pause_seconds, LONGEST_PAUSE_SECONDS)
        self._pause_seconds = doubled if goes_on else FIRST_PAUSE_SECONDS
        self._paused_at, self._paused_until = now, now + self._pause_seconds


def take_of_all(rates: Sequence[Rate], now: float) -> bool:
    """Charge a call that is sent now to all of its rates, or to none and return False."""
    for number, rate in enumerate(rates):
        if not rate.take(now):
            for taken in rates[:number]:
                taken.give_back()
            return False
    return True


class Timer(Protocol):
    def cancel(self) -> None: ...


SetTimer = Callable[[float, Callable[[], None]], Timer]
"""Schedules a callback in some seconds, as `loop.call_later` does."""


def call_later(seconds: float, act: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, act)


class SharedRates(Protocol):
    """Rates shared by all processes; their answers correct the local rates."""

    async def take(self) -> bool:
        """Charge a call that is sent now; False if it must wait, as the local rates then show."""

    def give_back(self) -> None:
        """Undo the charge of a call that is not sent."""

    def learnt(self) -> None:
        """Share the limit and the pause that the local rates learnt from a 429."""


Share = Callable[[Sequence[str], Sequence[Rate], Callable[[], None]], SharedRates]
"""Shares rates with other processes, under common names.

The callback is called when calls may be sent earlier than the rates predicted.
"""


@dataclass(kw_only=True, eq=False)
class Waiter:
    """A waiting call; `turn` is set when it may be sent. It expires at `until_seconds`."""

    call_context: CallContext
    until_seconds: float
    turn: asyncio.Future[None]
    max_waiting_seconds: float = 0.0
    key_count: int = 1
    """Number of keys that waited for the call when `until_seconds` was set."""


class FairQueue:
    """Fair queue of the calls that wait for the quota.

    Rules
    - Verifications of writes go first. Then keys rotate, each with its oldest call: a key with
      fifty waiting calls delays another key by one call, not by fifty.
    - A call that several keys wait for is in the queue of each key, and is sent once, at the
      earliest turn. Keys may join a call at any time, so the queues are computed from the waiters
      at each use. The call keeps its age in the queue of a key that joins, and the limit of its
      wait starts again at the next turn.
    """

    def __init__(self) -> None:
        self.waiters: dict[Waiter, None] = {}
        """Waiters in order of arrival."""
        self._keys: dict[str, None] = {}
        """Keys in the order of their turns."""

    def __len__(self) -> int:
        return len(self.waiters)

    def __iter__(self) -> Iterator[Waiter]:
        """The waiters in the order of their turns."""
        verifying, queues = self._by_key()
        yield from verifying
        seen: set[Waiter] = set()
        rotation = [iter(queue) for queue in queues.values()]
        while rotation:
            left = []
            for queue in rotation:
                waiter = next((each for each in queue if each not in seen), None)
                if waiter is not None:
                    left.append(queue)
                    seen.add(waiter)
                    yield waiter
            rotation = left

    def shortest(self, waiter: Waiter) -> int:
        """Length of the shortest queue that the waiter is in, including itself."""
        verifying, queues = self._by_key()
        if waiter.call_context.is_verification:
            return len(verifying)
        return min(len(queues[key_id]) for key_id in waiter.call_context.key_ids)

    def before(self, waiter: Waiter) -> int:
        """Number of waiters that go before this one."""
        return next(rank for rank, each in enumerate(self) if each is waiter)

    def join(self, waiter: Waiter) -> None:
        self._by_key()  # keys that have left come behind those that wait
        self.waiters[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        """Remove a waiter; does nothing if it is gone."""
        self.waiters.pop(waiter, None)

    def take_next(self) -> Waiter:
        """Remove and return the next waiter. Raises StopIteration if there is none."""
        verifying, queues = self._by_key()
        if verifying:
            waiter = verifying[0]
        else:
            key_id, queue = next(iter(queues.items()))
            waiter = queue[0]
            del self._keys[key_id]
            if len(queue) > 1:
                self._keys[key_id] = None  # to the end of the rotation
        del self.waiters[waiter]
        return waiter

    def _by_key(self) -> tuple[list[Waiter], dict[str, list[Waiter]]]:
        """The verifications, and the queue of each key, in the order of their turns."""
        verifying: list[Waiter] = []
        queues: dict[str, list[Waiter]] = {key_id: [] for key_id in self._keys}
        for waiter in self.waiters:
            if waiter.call_context.is_verification:
                verifying.append(waiter)
                continue
            for key_id in waiter.call_context.key_ids:
                queues.setdefault(key_id, []).append(waiter)
        queues = {key_id: queue for key_id, queue in queues.items() if queue}
        self._keys = dict.fromkeys(queues)
        return verifying, queues


class Bucket:
    """The rates and the queue of one kind of call."""

    def __init__(
        self,
        *rates: Rate,
        is_write: bool,
        max_waiting_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        set_timer: SetTimer = call_later,
        waited: Callable[[float], None] = budget_waited,
        share: Share | None = None,
        names: Sequence[str] = (),
    ) -> None:
        """`waited` receives the seconds that each call waited, even if it was not sent.

        `share` shares the rates with other processes, under `names`.
        """
        self._rates = rates
        self._shared = None if share is None else share(names, rates, self._go_on)
        self._asking: asyncio.Task[None] | None = None
        self._is_write = is_write
        self._max_waiting_seconds = max_waiting_seconds
        self._clock = clock
        self._set_timer = set_timer
        self._waited = waited
        self._queue = FairQueue()
        self._timer: Timer | None = None

    def rate_per_second(self) -> float:
        return self._per_minute(self._clock()) / 60

    def waiting_seconds(self) -> float:
        """Approximate wait of one more call."""
        return self._seconds_behind(len(self._queue), self._clock())

    def check_free(self) -> None:
        """Raise QuotaSpent if a call would have to wait."""
        seconds = self.waiting_seconds()
        if seconds:
            raise self._spent(seconds)

    def owed_seconds(self) -> float:
        """Seconds until the whole burst is available: fewer seconds, more quota left."""
        return max(0.0, max(rate.full_at for rate in self._rates) - self._clock())

    @property
    def max_per_minute(self) -> int:
        """The calls that any minute may have: the narrowest rate, with its burst."""
        limits = [rate.limit(self._clock()) for rate in self._rates]
        return round(min(each.per_minute + each.burst for each in limits))

    @property
    def waiting_count(self) -> int:
        return len(self._queue)

    async def take(
        self, call_context: CallContext, *, max_waiting_seconds: float | None = None
    ) -> None:
        """Wait until a call may be sent; the caller must send it then. Raises QuotaSpent."""
        now = self._clock()
        if self._shared is None and not self._queue.waiters and take_of_all(self._rates, now):
            self._waited(0.0)
            return
        if max_waiting_seconds is None:
            max_waiting_seconds = self._max_waiting_seconds
        waiter = Waiter(
            call_context=call_context,
            until_seconds=now + max_waiting_seconds,
            turn=asyncio.get_running_loop().create_future(),
            max_waiting_seconds=max_waiting_seconds,
            key_count=len(call_context.key_ids),
        )
        queue = self._queue
        queue.join(waiter)
        try:
            seconds = self._seconds_behind(queue.before(waiter), now)
            is_over_full = queue.shortest(waiter) > MAX_WAITING_PER_KEY or len(queue) > MAX_WAITING
            if now + seconds > waiter.until_seconds or is_over_full:
                queue.leave(waiter)
                raise self._spent(seconds)
            self._go_on()
            await waiter.turn
        except asyncio.CancelledError:
            queue.leave(waiter)
            had_turn = waiter.turn.done() and not waiter.turn.cancelled()
            if had_turn and waiter.turn.exception() is None:
                self._untake()
            self._go_on()
            raise
        finally:
            self._waited(self._clock() - now)

    def give_back(self) -> None:
        """Undo the last `take`, whose call is not sent."""
        self._untake()
        self._go_on()

    def refused(self, *, sent_at: float, limit: int | None, is_project: bool = False) -> None:
        """Learn from a call's 429 and the limit per minute that it names; the project's is last."""
        rate = self._rates[-1 if is_project else 0]
        rate.refused(self._clock(), sent_at=sent_at, limit=limit)
        if self._shared is not None:
            self._shared.learnt()
        self._go_on()

    def _per_minute(self, now: float) -> float:
        return min(rate.limit(now).per_minute for rate in self._rates)

    def _free_at(self, now: float) -> float:
        """The earliest time at which a call may be sent, perhaps in the past."""
        return max(rate.free_at(now) for rate in self._rates)

    def _seconds_behind(self, count: int, now: float) -> float:
        """Wait of a call behind `count` others."""
        return max(0.0, self._free_at(now) - now) + count * 60 / self._per_minute(now)

    def _go_on(self, *, may_ask: bool = True) -> None:
        """Wake waiters whose turn it is, end waits that became too long, and set the timer."""
        now, queue = self._clock(), self._queue
        while self._shared is None and queue.waiters and take_of_all(self._rates, now):
            self._wake_next()
        free_at = self._free_at(now)
        for waiter in [*queue.waiters]:
            key_count = len(waiter.call_context.key_ids)
            if key_count > waiter.key_count:
                waiter.key_count = key_count
                waiter.until_seconds = now + waiter.max_waiting_seconds
            if waiter.until_seconds < free_at:
                queue.leave(waiter)
                if not waiter.turn.done():
                    waiter.turn.set_exception(self._spent(free_at - now))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._asking is not None or not queue.waiters:
            return
        if self._shared is not None and free_at <= now and may_ask:
            work = self._ask(self._shared)
            self._asking = asyncio.get_running_loop().create_task(work, context=Context())
        else:
            seconds = max(free_at - now, _SHORTEST_TIMER_SECONDS)
            self._timer = self._set_timer(seconds, self._go_on)

    def _wake_next(self) -> None:
        """Wake the next waiter, for which a call was taken."""
        waiter = self._queue.take_next()
        if waiter.turn.done():  # cancelled, and about to withdraw
            self._untake()
        else:
            waiter.turn.set_result(None)

    async def _ask(self, shared: SharedRates) -> None:
        """Take from the shared rates for the next waiter."""
        is_taken = False
        try:
            is_taken = await shared.take()
        finally:
            self._asking = None
            if is_taken and self._queue.waiters:
                self._wake_next()
            elif is_taken:
                self._untake()
            self._go_on(may_ask=is_taken)

    def _untake(self) -> None:
        if self._shared is not None:
            self._shared.give_back()
            return
        for rate in self._rates:
            rate.give_back()

    def _spent(self, seconds: float) -> QuotaSpent:
        kind = "writes" if self._is_write else "reads"
        return QuotaSpent(
            f"The gateway's share of Google's quota of {kind} is spent for now. Try again later.",
            outcome="not_applied" if self._is_write else None,
            retry_after_seconds=max(1, math.ceil(seconds)),
        )


_PAIR = struct.Struct("<dd")

LONGEST_SECONDS = 70.0
"""Longest pause after a 429, plus the recovery of the burst."""


class SpentQuota:
    """Spent quota as two times: when the full burst of reads, and of writes, is available again.

    `full_at` has the two stored times, in seconds since the epoch, as `now` returns them. `store`
    saves them and must not block.
    """

    def __init__(
        self,
        full_at: Iterable[float],
        now: Callable[[], float],
        store: Callable[[Sequence[float]], object] = lambda _: None,
    ) -> None:
        latest = now() + LONGEST_SECONDS  # the wall clock may have been set back
        self._full_at = [min(latest, each) if each > 0 else 0.0 for each in full_at]  # 0 for NaN
        self._now = now
        self._store = store

    def seconds(self, *, is_write: bool) -> float:
        """Seconds until the whole burst is available again, at most `LONGEST_SECONDS`."""
        return min(max(0.0, self._full_at[is_write] - self._now()), LONGEST_SECONDS)

    def note(self, seconds: float, *, is_write: bool) -> None:
        """Store the seconds until the whole burst is available again, without blocking."""
        self._full_at[is_write] = self._now() + seconds
        self._store(self._full_at)


@asynccontextmanager
async def open_spent_quota(
    path: Path, *, now: Callable[[], float] = time.time
) -> AsyncIterator[SpentQuota]:
    """Open the file of spent quota, created if needed; `now` returns seconds since the epoch.

    If the file fails, spent quota is in memory only.
    """
    stored: tuple[float, ...] = (0.0, 0.0)
    try:
        descriptor = open_private(path)
    except OSError as error:
        spent_quota_failed(error)
        yield SpentQuota(stored, now)
        return
    is_writable = True

    def store(full_at: Sequence[float]) -> None:
        nonlocal is_writable
        if is_writable:
            try:
                os.pwrite(descriptor, _PAIR.pack(*full_at), 0)
            except OSError as error:  # a full disk
                is_writable = False
                spent_quota_failed(error)

    try:
        try:
            content = os.pread(descriptor, _PAIR.size, 0)
            if len(content) == _PAIR.size:
                stored = _PAIR.unpack(content)
        except OSError as error:  # a pipe
            spent_quota_failed(error)
        yield SpentQuota(stored, now, store)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Quota of one account."""

    reads: Bucket
    writes: Bucket


@dataclass(frozen=True, kw_only=True)
class Quota:
    """Limits of an account or of a project, for its calls of each kind."""

    reads: Rate
    writes: Rate


def open_quota(
    reads_per_minute: int,
    writes_per_minute: int,
    *,
    clock: Callable[[], float] = time.monotonic,
    spent: SpentQuota | None = None,
) -> Quota:
    """Open a quota, reduced by the spent quota in `spent`, which also records further use."""

    def rate(per_minute: int, *, is_write: bool) -> Rate:
        if spent is None:
            return Rate(per_minute)
        return Rate(
            per_minute,
            full_at=clock() + spent.seconds(is_write=is_write),
            note=partial(spent.note, is_write=is_write),
        )

    return Quota(
        reads=rate(reads_per_minute, is_write=False), writes=rate(writes_per_minute, is_write=True)
    )


def open_budget(
    settings: GoogleSettings,
    *,
    clock: Callable[[], float] = time.monotonic,
    set_timer: SetTimer = call_later,
    waited: Callable[[float], None] = budget_waited,
    spent: SpentQuota | None = None,
    project: Quota | None = None,
    share: Share | None = None,
    names: Sequence[str] = (),
) -> Budget:
    """Build the budget of an account, including its project's quota if that is shared.

    `share` shares the rates with other processes, under `names` for account and project.
    """
    own = open_quota(
        settings.reads_per_minute, settings.writes_per_minute, clock=clock, spent=spent
    )
    quotas = (own,) if project is None else (own, project)

    def bucket(*, is_write: bool) -> Bucket:
        return Bucket(
            *(quota.writes if is_write else quota.reads for quota in quotas),
            is_write=is_write,
            max_waiting_seconds=settings.max_waiting_seconds,
            clock=clock,
            set_timer=set_timer,
            waited=waited,
            share=share,
            names=[f"{'writes' if is_write else 'reads'}:{each}" for each in names],
        )

    return Budget(reads=bucket(is_write=False), writes=bucket(is_write=True))
