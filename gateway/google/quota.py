"""Google's quota: calls wait for their turn, or fail at once, so that Google refuses none.

Rules
- Reads and writes have a bucket each: a rate, and a queue. Every attempt takes from its bucket at
  the moment it is sent. Cancelled waiters and unsent calls use nothing of the rate.
- Rate: GCRA that learns from 429s. No minute has more calls than rate and burst together. Google
  counts an unknown minute, so their sum must not exceed its limit.
- A 429 means that somebody else uses the same quota, or that it is smaller than configured. All
  calls pause for 5 s, twice as long each time another follows, 60 s at most. After a minute without
  one the next pause is 5 s again.
- If the 429 names a limit below the configured rate, the rate becomes nine tenths of it. Ten
  minutes without a 429, or a restart, restore the configured rate.
- Queue: verifications of writes go first. Then keys rotate, each with its oldest call: a key with
  fifty waiting calls delays another key by one call, not by fifty.
- A call that several keys wait for is in the line of each key, and goes once, at the earliest turn.
  If another key joins a waiting call, the limit of its wait starts again.
- A call fails at once if its wait would be too long, and later as soon as that becomes known (other
  keys came, or Google refused a call).
- One timer is set at a time, for the instant at which the next call may be sent. That instant never
  moves forward.
- A write that must follow a read reserves its quota before the read, so that nothing waits between
  the two.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeVar

from gateway.errors import QuotaSpent
from gateway.gcra import Gcra, RateLimit, rate_limit
from gateway.google.call_context import Beneficiaries, CallContext, current_call_context
from gateway.google.spent import SpentQuota
from gateway.settings.model import GoogleSettings

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
CALM_SECONDS = 60.0
"""Time after a pause until another 429 counts as a new problem."""
RECOVERY_SECONDS = 600.0
"""Time after the last 429 until the configured rate is used again."""

MAX_WAITING_PER_KEY = 50
MAX_WAITING = 500

_SHORTEST_TIMER_SECONDS = 0.001
"""Minimum delay of the timer: timers may fire a little early by another clock."""


def configured_limit(per_minute: int) -> RateLimit:
    """54 per minute have a burst of 6: at most 60, Google's limit, in any minute."""
    return rate_limit(per_minute, burst=max(1, per_minute // 9))


def learnt_limit(quota: int) -> RateLimit:
    """The limit for a quota of `quota` calls per minute, 1 or more."""
    per_minute = 0.9 * quota
    return rate_limit(per_minute, burst=quota - math.floor(per_minute))


class Rate:
    """Rate of one kind of call: its use, its pauses, and its limit as corrected by Google.

    Pure: the caller passes the time, in seconds of one monotonic clock.
    """

    def __init__(self, per_minute: int, *, full_at: float = -math.inf) -> None:
        """`full_at`: when the whole burst is there, by what an earlier process spent."""
        self._configured = self._limit = configured_limit(per_minute)
        self._gcra = Gcra()
        self._gcra.full_at = full_at
        self._refused_at = -math.inf
        self._pause_seconds = 0.0
        self._paused_at = self._paused_until = -math.inf

    def limit(self, now: float) -> RateLimit:
        """The current limit, learnt or configured."""
        if now - self._refused_at >= RECOVERY_SECONDS:
            self._limit = self._configured
        return self._limit

    def free_at(self, now: float) -> float:
        """The earliest time at which a call may be sent, perhaps in the past."""
        return max(self._gcra.free_at(self.limit(now)), self._paused_until)

    @property
    def full_at(self) -> float:
        """The instant at which the whole burst is there."""
        return self._gcra.full_at

    def take(self, now: float) -> bool:
        """Count a call that is sent now; False if none may be."""
        if now < self._paused_until:
            return False
        return not self._gcra.take(self.limit(now), now)

    def give_back(self) -> None:
        """Undo the last `take`: its call is not sent."""
        self._gcra.give_back(self._limit)

    def refused(self, now: float, *, sent_at: float, limit: int | None) -> None:
        """Learn from a call's 429 and the limit per minute that it names."""
        self._refused_at = now
        if limit and 0.9 * limit < self._limit.per_minute:
            self._limit = learnt_limit(limit)
        if sent_at > self._paused_at:  # otherwise it was sent before the current pause
            self._pause(now)
        self._gcra.empty_until(self._limit, self._paused_until)

    def _pause(self, now: float) -> None:
        goes_on = now < self._paused_until + CALM_SECONDS
        doubled = min(2 * self._pause_seconds, LONGEST_PAUSE_SECONDS)
        self._pause_seconds = doubled if goes_on else FIRST_PAUSE_SECONDS
        self._paused_at, self._paused_until = now, now + self._pause_seconds


@dataclass(kw_only=True, eq=False)
class Waiter:
    """A waiting call; `turn` is set when it may be sent. Useless after `until_seconds`."""

    call_context: CallContext
    until_seconds: float
    turn: asyncio.Future[None]


_Line = dict[Waiter, None]


class FairQueue:
    def __init__(self) -> None:
        self._verifying: _Line = {}
        self._by_key: dict[str, _Line] = {}
        """In the order of their turns; a key without waiters is not there."""
        self._keys: dict[Waiter, list[str]] = {}
        """Everybody who waits, and the keys in whose lines they stand."""

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Waiter]:
        yield from self._verifying
        seen: set[Waiter] = set()
        lines = [iter(line) for line in self._by_key.values()]
        while lines:
            left = []
            for line in lines:
                waiter = next((each for each in line if each not in seen), None)
                if waiter is not None:
                    left.append(line)
                    seen.add(waiter)
                    yield waiter
            lines = left

    def beside(self, call_context: CallContext) -> int:
        """Length of the line that a call would join."""
        line = (
            self._verifying
            if call_context.is_verification
            else self._by_key.get(call_context.key_id, {})
        )
        return len(line)

    def shortest(self, waiter: Waiter) -> int:
        """Length of the waiter's shortest line, including itself."""
        if waiter in self._verifying:
            return len(self._verifying)
        return min(len(self._by_key[key_id]) for key_id in self._keys[waiter])

    def before(self, waiter: Waiter) -> int:
        """Number of waiters that go before this one."""
        return next(rank for rank, each in enumerate(self) if each is waiter)

    def join(self, waiter: Waiter) -> None:
        self._keys[waiter] = []
        if waiter.call_context.is_verification:
            self._verifying[waiter] = None
        else:
            self.join_as(waiter.call_context.key_id, waiter)

    def join_as(self, key_id: str, waiter: Waiter) -> bool:
        """Add a waiter to a key's line; False if it is there already or no longer waits."""
        keys = self._keys.get(waiter)
        if keys is None or key_id in keys or waiter in self._verifying:
            return False
        keys.append(key_id)
        self._by_key.setdefault(key_id, {})[waiter] = None
        return True

    def leave(self, waiter: Waiter) -> None:
        """Remove a waiter from all its lines; does nothing if it is in none."""
        self._verifying.pop(waiter, None)
        for key_id in self._keys.pop(waiter, ()):
            line = self._by_key[key_id]
            del line[waiter]
            if not line:
                del self._by_key[key_id]

    def take_next(self) -> Waiter:
        """Remove and return the next waiter. Raises StopIteration if there is none."""
        if self._verifying:
            waiter = next(iter(self._verifying))
        else:
            key_id = next(iter(self._by_key))
            line = self._by_key.pop(key_id)
            self._by_key[key_id] = line  # to the end of the rotation
            waiter = next(iter(line))
        self.leave(waiter)
        return waiter


class Timer(Protocol):
    def cancel(self) -> None: ...


SetTimer = Callable[[float, Callable[[], None]], Timer]
"""Schedules a callback in some seconds, as `loop.call_later` does."""


def call_later(seconds: float, act: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, act)


class Bucket:
    """The rate and the queue of one kind of call."""

    def __init__(
        self,
        per_minute: int,
        *,
        is_write: bool,
        max_waiting_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        set_timer: SetTimer = call_later,
        spent: SpentQuota | None = None,
    ) -> None:
        self._spent_quota = spent or SpentQuota()
        self._rate = Rate(
            per_minute, full_at=clock() + self._spent_quota.seconds(is_write=is_write)
        )
        self._is_write = is_write
        self._max_waiting_seconds = max_waiting_seconds
        self._clock = clock
        self._set_timer = set_timer
        self._turns = FairQueue()
        self._timer: Timer | None = None

    def rate_per_second(self) -> float:
        return self._rate.limit(self._clock()).per_minute / 60

    @property
    def waiting_count(self) -> int:
        return len(self._turns)

    async def take(
        self, call_context: CallContext, *, max_waiting_seconds: float | None = None
    ) -> None:
        """Wait until a call may be sent; the caller must send it then. Raises QuotaSpent."""
        now = self._clock()
        if max_waiting_seconds is None:
            max_waiting_seconds = self._max_waiting_seconds
        if not self._turns and self._has_taken(now):
            return
        with self._joined(call_context, now, max_waiting_seconds) as waiter:
            self._check_wait(waiter, now)
            self._go_on()
            try:
                await waiter.turn
            except asyncio.CancelledError:
                self._withdraw(waiter)
                raise

    def give_back(self) -> None:
        """Undo the last `take`: its call is not sent."""
        self._rate.give_back()
        self._go_on()

    def refused(self, *, sent_at: float, limit: int | None) -> None:
        """Learn from a call's 429 and the limit per minute that it names."""
        now = self._clock()
        self._rate.refused(now, sent_at=sent_at, limit=limit)
        self._note(now)
        self._go_on()

    @contextmanager
    def _joined(
        self, call_context: CallContext, now: float, max_waiting_seconds: float
    ) -> Iterator[Waiter]:
        """Join the lines of all keys that the call is for, now or later."""
        waiter = Waiter(
            call_context=call_context,
            until_seconds=now + max_waiting_seconds,
            turn=asyncio.get_running_loop().create_future(),
        )

        def join_as(key_id: str) -> None:
            has_room = self._turns.beside(CallContext(key_id)) < MAX_WAITING_PER_KEY
            if has_room and self._turns.join_as(key_id, waiter):
                waiter.until_seconds = self._clock() + max_waiting_seconds

        self._turns.join(waiter)
        beneficiaries = call_context.beneficiaries or Beneficiaries()
        beneficiaries.follow(join_as)
        try:
            yield waiter
        finally:
            beneficiaries.leave(join_as)

    def _check_wait(self, waiter: Waiter, now: float) -> None:
        """Raise QuotaSpent if the expected wait is too long."""
        before_seconds = self._turns.before(waiter) * self._rate.limit(now).interval_seconds
        seconds = max(0.0, self._rate.free_at(now) - now) + before_seconds
        is_over_full = (
            self._turns.shortest(waiter) > MAX_WAITING_PER_KEY or len(self._turns) > MAX_WAITING
        )
        if now + seconds > waiter.until_seconds or is_over_full:
            self._turns.leave(waiter)
            raise self._spent(seconds)

    def _withdraw(self, waiter: Waiter) -> None:
        """Remove a cancelled waiter, perhaps after its turn."""
        self._turns.leave(waiter)
        had_turn = waiter.turn.done() and not waiter.turn.cancelled()
        if had_turn and waiter.turn.exception() is None:
            self._rate.give_back()
        self._go_on()

    def _go_on(self) -> None:
        """Wake waiters whose turn it is, end waits that became too long, and set the timer."""
        now = self._clock()
        while self._turns and self._has_taken(now):
            waiter = self._turns.take_next()
            if waiter.turn.done():  # cancelled, and about to withdraw
                self._rate.give_back()
            else:
                waiter.turn.set_result(None)
        free_at = self._rate.free_at(now)
        self._refuse_late(free_at, now)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._turns:
            seconds = max(free_at - now, _SHORTEST_TIMER_SECONDS)
            self._timer = self._set_timer(seconds, self._go_on)

    def _has_taken(self, now: float) -> bool:
        """Count a call that is sent now; False if none may be."""
        if not self._rate.take(now):
            return False
        self._note(now)
        return True

    def _note(self, now: float) -> None:
        self._spent_quota.note(self._rate.full_at - now, is_write=self._is_write)

    def _refuse_late(self, free_at: float, now: float) -> None:
        for waiter in [each for each in self._turns if each.until_seconds < free_at]:
            self._turns.leave(waiter)
            if not waiter.turn.done():
                waiter.turn.set_exception(self._spent(free_at - now))

    def _spent(self, seconds: float) -> QuotaSpent:
        kind = "writes" if self._is_write else "reads"
        return QuotaSpent(
            f"The gateway's share of Google's quota of {kind} is spent for now. Try again later.",
            outcome="not_applied" if self._is_write else None,
            retry_after_seconds=max(1, math.ceil(seconds)),
        )


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Quota of one account."""

    reads: Bucket
    writes: Bucket


def open_budget(
    settings: GoogleSettings,
    *,
    clock: Callable[[], float] = time.monotonic,
    set_timer: SetTimer = call_later,
    spent: SpentQuota | None = None,
) -> Budget:
    def bucket(per_minute: int, *, is_write: bool) -> Bucket:
        return Bucket(
            per_minute,
            is_write=is_write,
            max_waiting_seconds=settings.max_waiting_seconds,
            clock=clock,
            set_timer=set_timer,
            spent=spent,
        )

    return Budget(
        reads=bucket(settings.reads_per_minute, is_write=False),
        writes=bucket(settings.writes_per_minute, is_write=True),
    )


class WriteTurn:
    """Reserved quota of one write; returned if no write in the block uses it."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._is_left = True
        self._token: Token[WriteTurn | None] | None = None

    def __enter__(self) -> None:
        self._token = _turn.set(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _turn.reset(self._token)
        if self.take():
            self._bucket.give_back()

    def take(self) -> bool:
        """Use the reservation; False if it is already used."""
        was_left, self._is_left = self._is_left, False
        return was_left


_turn: ContextVar[WriteTurn | None] = ContextVar("write_turn", default=None)


class Budgeted:
    """Guard that waits for the quota and learns from Google's 429.

    `waited` receives the waiting time of each call in seconds, whether it was sent or not.
    `turn_seconds` is the longest wait for a write's turn: longer than that of other calls, or a key
    that writes to ten worksheets would have its tenth one always refused.
    """

    def __init__(
        self,
        budget: Budget,
        *,
        clock: Callable[[], float] = time.monotonic,
        waited: Callable[[float], None] = lambda _seconds: None,
        turn_seconds: float | None = None,
    ) -> None:
        self._turn_seconds = turn_seconds
        self._budget = budget
        self._clock = clock
        self._waited = waited

    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        bucket = self._budget.writes if is_write else self._budget.reads
        turn = _turn.get() if is_write else None
        if turn is None or not turn.take():
            await self._take(bucket)
        sent_at = self._clock()
        try:
            return await call()
        except QuotaSpent as refusal:
            bucket.refused(sent_at=sent_at, limit=refusal.limit)
            raise

    async def write_turn(self) -> WriteTurn:
        """Wait for the quota of one write and reserve it. Raises `QuotaSpent`."""
        bucket = self._budget.writes
        await self._take(bucket, self._turn_seconds)
        return WriteTurn(bucket)

    async def _take(self, bucket: Bucket, max_waiting_seconds: float | None = None) -> None:
        asked_at = self._clock()
        try:
            await bucket.take(current_call_context(), max_waiting_seconds=max_waiting_seconds)
        finally:
            self._waited(self._clock() - asked_at)
