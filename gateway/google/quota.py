"""Google's quota: a call waits for its turn or fails at once, so that Google answers no 429.

Rules of buckets
- An account has one bucket for reads and one for writes. A bucket has a queue and one or two rates:
  the account's, and its project's if several accounts share the project. Every attempt takes from
  its bucket when it is sent. Cancelled waiters and unsent calls use no quota.
- If another API key joins a waiting call, the maximum wait of the call starts again.
- A call fails as soon as the bucket knows that the wait would be too long: at once, or later, after
  other calls came or Google refused a call.
- A bucket has at most one timer, set for the time at which the next call can be sent.
- If other processes use the same quota, each call also takes from the shared rates (`SharedRates`).
  A process takes one call at a time from the shared rates, so that waiting calls keep their order.
  The local rates copy the last known state of the shared rates.

Rules of rates
- A rate is a GCRA rate limit that learns from 429s. No minute has more calls than the rate per
  minute and the burst together. The start of Google's minute is unknown, so this sum must not
  exceed Google's limit.
- A 429 means that another program uses the same quota, or that the quota is smaller than
  configured. All calls pause for 5 s. Each further 429 doubles the pause, up to 60 s. After a
  minute without a 429 the next pause is 5 s again.
- If the 429 names a limit below the configured rate, the rate becomes 0.9 times this limit. After
  ten minutes without a 429, or after a restart, the configured rate is used again.
- A rate that is shared with other processes copies the shared state (`mirror`). While the shared
  state is unavailable, the rate is a part of the whole (`take_part`).
- Rates read no clock: the caller passes the time, in seconds of one monotonic clock.

Rules of spent quota
- A restart must not spend the burst again. Before each call this module stores the times at which
  the whole bursts of reads and of writes will be available, in seconds since the epoch. Without
  them, a process that crashes every 2 s under load would send 114 reads a minute, while Google
  allows 60.
- After a change of the wall clock, or with a damaged file, calls can be delayed by about a minute.
- If the file is missing or cannot be written, the spent quota is in memory only.
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
"""Minimum delay of the timer, because the event loop's clock can fire it a little early."""

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
CALM_SECONDS = 60.0
"""Seconds without a 429 after a pause, until the next pause is `FIRST_PAUSE_SECONDS` again."""
RECOVERY_SECONDS = 600.0
"""Seconds after the last 429 until the configured rate is used again."""


def configured_limit(per_minute: int) -> RateLimit:
    """Return the rate limit of a configured number of calls a minute. The burst is a ninth of it.

    The default of 54 calls and the burst of 6 calls add up to Google's limit of 60.
    """
    return rate_limit(per_minute, burst=max(1, per_minute // 9))


def learnt_limit(quota: int) -> RateLimit:
    """Return a rate limit whose calls and burst add up to `quota` calls a minute (1 or more)."""
    per_minute = 0.9 * quota
    return rate_limit(per_minute, burst=quota - math.floor(per_minute))


LEAST_PER_MINUTE = 0.1


def part_of(limit: RateLimit, share: float) -> RateLimit:
    """Return the part of a limit for one of several processes. `share` is a fraction up to 1.

    In any minute all parts together allow no more calls than the limit.
    """
    burst = max(1, math.floor(limit.burst * share + 0.001))
    rest = (limit.per_minute + limit.burst) * share - burst
    return rate_limit(max(min(limit.per_minute * share, rest), LEAST_PER_MINUTE), burst=burst)


class Learnt(NamedTuple):
    """Limit and pause that a rate learnt from 429s, for other processes."""

    quota: int
    """Calls a minute that Google allows, or 0 if no 429 named a limit below the configured one."""
    quota_seconds: float
    """Seconds until the configured limit is used again."""
    paused_seconds: float
    """Seconds to the end of the last pause, or a negative number after its end."""
    pause_seconds: float
    """Length of the last pause in seconds, or 0 without a pause."""


class Rate:
    """Rate limit of reads or of writes, which learns its limit and its pauses from 429s."""

    def __init__(
        self,
        per_minute: int,
        *,
        full_at: float = -math.inf,
        note: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        """Make a rate of `per_minute` calls a minute.

        `full_at` is the time at which the whole burst is available. Each call and each 429 delays
        this time, and `note` then receives the seconds until this time.
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
        """Return the current limit: the limit learnt from a 429, or the configured limit."""
        if now - self._refused_at >= RECOVERY_SECONDS:
            self._limit, self._quota = self.configured, 0
        return self._limit if self._share == 1.0 else part_of(self._limit, self._share)

    def free_at(self, now: float) -> float:
        """Return the earliest time at which a call can be sent, which can be in the past."""
        return max(self._gcra.free_at(self.limit(now)), self._paused_until)

    @property
    def full_at(self) -> float:
        """Time at which the whole burst is available."""
        return self._gcra.full_at

    def take(self, now: float) -> bool:
        """Count a call that is sent now. Returns False if the rate does not allow the call."""
        if now < self._paused_until:
            return False
        is_usual = not self._quota and self._share == 1.0
        if self._gcra.take(self._limit if is_usual else self.limit(now), now):
            return False
        self._note(self._gcra.full_at - now)
        return True

    def give_back(self) -> None:
        """Undo the last `take` if its call was not sent."""
        self._gcra.give_back(self._part())

    def refused(self, now: float, *, sent_at: float, limit: int | None) -> None:
        """Record a 429: pause, and use its limit per minute if it is below the current limit.

        `sent_at` is the time at which the refused call was sent. `limit` is None if the 429 names
        no limit.
        """
        self._refused_at = now
        if limit and 0.9 * limit < self._limit.per_minute:
            self._limit, self._quota = learnt_limit(limit), limit
        if sent_at > self._paused_at:  # otherwise it was sent before the current pause
            self._pause(now)
        self._gcra.empty_until(self._part(), self._paused_until)
        self._note(self._gcra.full_at - now)

    def learnt(self, now: float) -> Learnt | None:
        """Return the learnt limit and pause for other processes, or None if neither applies now."""
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
        """Copy the shared state: seconds until the next call, and the learnt limit and pause."""
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
        """Delay the next call by some seconds. The next `mirror` replaces the delay."""
        self._gcra.full_at += seconds

    def take_part(self, share: float, since: float) -> None:
        """Use only the fraction `share` of the limit, from the time `since` on.

        At `since` nothing of the burst is available.
        """
        self._share = share
        self._gcra.full_at = since + self.limit(since).burst_seconds

    def take_whole(self) -> None:
        """Use the whole limit again after `take_part`. The next `mirror` sets the used quota."""
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
    """Count a call in all rates. Returns False, and counts nothing, if one rate is exceeded."""
    for number, rate in enumerate(rates):
        if not rate.take(now):
            for taken in rates[:number]:
                taken.give_back()
            return False
    return True


class Timer(Protocol):
    def cancel(self) -> None: ...


SetTimer = Callable[[float, Callable[[], None]], Timer]
"""Function that calls another function after some seconds, like `loop.call_later`."""


def call_later(seconds: float, act: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, act)


class SharedRates(Protocol):
    """Rates that all processes share. Each `take` also updates the local copies of the rates."""

    async def take(self) -> bool:
        """Count a call that is sent now. Returns False if the call must wait.

        After False the local rates know the length of the wait.
        """

    def give_back(self) -> None:
        """Undo the last `take` if its call was not sent."""

    def learnt(self) -> None:
        """Send the limit and the pause that the local rates learnt from a 429."""


Share = Callable[[Sequence[str], Sequence[Rate], Callable[[], None]], SharedRates]
"""Function that shares local rates with other processes.

Its arguments are the names of the rates, the rates, and a callback. The callback is called when
calls can be sent earlier than the local rates predicted.
"""


@dataclass(kw_only=True, eq=False)
class Waiter:
    """Call that waits for the quota."""

    call_context: CallContext
    until_seconds: float
    """Time at which the wait fails, in seconds of the bucket's clock."""
    turn: asyncio.Future[None]
    """Future that is done when the call can be sent, or has an exception if the wait failed."""
    max_waiting_seconds: float = 0.0
    key_count: int = 1
    """Number of API keys that waited for the call when `until_seconds` was set."""


class FairQueue:
    """Fair queue of the calls that wait for the quota.

    Rules
    - Verifications of writes go first. Then the API keys take turns, each with its oldest call. So
      a key with fifty waiting calls delays another key by one call, not by fifty.
    - A call that several keys wait for is in the queue of each key. The call is sent once, at the
      first turn of these keys. Keys can join a call at any time, so the queues are computed from
      the waiters at each use. When a key joins, the call keeps its age, and its maximum wait starts
      again.
    """

    def __init__(self) -> None:
        self.waiters: dict[Waiter, None] = {}
        """Waiters in order of arrival."""
        self._keys: dict[str, None] = {}
        """API key IDs in the order of their turns."""

    def __len__(self) -> int:
        return len(self.waiters)

    def __iter__(self) -> Iterator[Waiter]:
        """Yield the waiters in the order of their turns."""
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
        """Return the length of the shortest queue that contains the waiter, with the waiter."""
        verifying, queues = self._by_key()
        if waiter.call_context.is_verification:
            return len(verifying)
        return min(len(queues[key_id]) for key_id in waiter.call_context.key_ids)

    def before(self, waiter: Waiter) -> int:
        """Return the number of waiters whose turn comes before this waiter's turn."""
        return next(rank for rank, each in enumerate(self) if each is waiter)

    def join(self, waiter: Waiter) -> None:
        self._by_key()  # keys that have left come behind those that wait
        self.waiters[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        """Remove a waiter, if it is in the queue."""
        self.waiters.pop(waiter, None)

    def take_next(self) -> Waiter:
        """Remove and return the next waiter. Raises StopIteration if the queue is empty."""
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
        """Return waiting verifications, and the queue of each key by key ID, in order of turns."""
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
    """Rates and waiting calls of an account, either for reads or for writes."""

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
        """Make a bucket of reads, or of writes if `is_write`. Each call counts in all `rates`.

        The second rate, if any, is the project's. `waited` receives the seconds that each call
        waited, even if the call failed. `share` shares the rates with other processes, under
        `names`, one name for each rate.
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
        """Return the approximate wait of one more call, in seconds."""
        return self._seconds_behind(len(self._queue), self._clock())

    def check_free(self) -> None:
        """Raise `QuotaSpent` if a call would have to wait."""
        seconds = self.waiting_seconds()
        if seconds:
            raise self._spent(seconds)

    def owed_seconds(self) -> float:
        """Return seconds until the whole burst is available. Fewer seconds mean more quota left."""
        return max(0.0, max(rate.full_at for rate in self._rates) - self._clock())

    @property
    def max_per_minute(self) -> int:
        """Maximum number of calls in any minute: the lowest limit, with its burst."""
        limits = [rate.limit(self._clock()) for rate in self._rates]
        return round(min(each.per_minute + each.burst for each in limits))

    @property
    def waiting_count(self) -> int:
        return len(self._queue)

    async def take(
        self, call_context: CallContext, *, max_waiting_seconds: float | None = None
    ) -> None:
        """Wait until a call can be sent, and count the call. The caller must send it at once.

        Raises `QuotaSpent` if the wait would exceed the maximum, or if too many calls wait.
        `max_waiting_seconds` replaces the maximum wait of the bucket.
        """
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
        """Undo the last `take` if its call was not sent."""
        self._untake()
        self._go_on()

    def refused(self, *, sent_at: float, limit: int | None, is_project: bool = False) -> None:
        """Record a 429 in the account's rate, or in the project's rate if `is_project`.

        `sent_at` is the time at which the refused call was sent. `limit` is the limit per minute
        that the 429 names, or None.
        """
        rate = self._rates[-1 if is_project else 0]
        rate.refused(self._clock(), sent_at=sent_at, limit=limit)
        if self._shared is not None:
            self._shared.learnt()
        self._go_on()

    def _per_minute(self, now: float) -> float:
        return min(rate.limit(now).per_minute for rate in self._rates)

    def _free_at(self, now: float) -> float:
        return max(rate.free_at(now) for rate in self._rates)

    def _seconds_behind(self, count: int, now: float) -> float:
        return max(0.0, self._free_at(now) - now) + count * 60 / self._per_minute(now)

    def _go_on(self, *, may_ask: bool = True) -> None:
        """Wake waiters whose calls can be sent, fail waits that are too long, and set the timer.

        `may_ask` is False after a refusal of the shared rates, which are asked again by the timer.
        """
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
        """Wake the next waiter, whose call is already counted."""
        waiter = self._queue.take_next()
        if waiter.turn.done():  # cancelled, and about to withdraw
            self._untake()
        else:
            waiter.turn.set_result(None)

    async def _ask(self, shared: SharedRates) -> None:
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
            f"The gateway has used up its quota of Google {kind} for now. "
            "Try again after the time in Retry-After.",
            outcome="not_applied" if self._is_write else None,
            retry_after_seconds=max(1, math.ceil(seconds)),
        )


_PAIR = struct.Struct("<dd")

LONGEST_SECONDS = 70.0
"""Maximum seconds to store: the longest pause after a 429, and the time to refill the burst."""


class SpentQuota:
    """Used quota, as the times at which the whole bursts of reads and of writes are available.

    `full_at` has these two times in seconds since the epoch, like `now`. `store` saves them and
    must not block.
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
        """Return the seconds until the whole burst is available, at most `LONGEST_SECONDS`."""
        return min(max(0.0, self._full_at[is_write] - self._now()), LONGEST_SECONDS)

    def note(self, seconds: float, *, is_write: bool) -> None:
        """Store that the whole burst is available in `seconds` from now. Does not block."""
        self._full_at[is_write] = self._now() + seconds
        self._store(self._full_at)


@asynccontextmanager
async def open_spent_quota(
    path: Path, *, now: Callable[[], float] = time.time
) -> AsyncIterator[SpentQuota]:
    """Open or create the file of the used quota. `now` returns seconds since the epoch.

    If the file cannot be opened, read or written, the used quota is in memory only.
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
    """Buckets of one account: waiting calls and quota, for reads and for writes."""

    reads: Bucket
    writes: Bucket


@dataclass(frozen=True, kw_only=True)
class Quota:
    """Rates of an account or of a project, for reads and for writes."""

    reads: Rate
    writes: Rate


def open_quota(
    reads_per_minute: int,
    writes_per_minute: int,
    *,
    clock: Callable[[], float] = time.monotonic,
    spent: SpentQuota | None = None,
) -> Quota:
    """Make the rates of an account or project. `spent` has the quota used before the start.

    `spent` also stores further use.
    """

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
    """Make the buckets of one account.

    `project` is the quota of the Google project if several accounts share it. `share` shares the
    rates with other processes, under `names`: one for the account and one for the project.
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
