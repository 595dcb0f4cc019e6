"""Google's quota: calls wait for their turn, or fail at once, so that Google refuses none.

Rules
- Reads and writes of an account have a bucket each: its rates (`gateway.google.rate`: the account's
  and its project's), and a queue (`FairQueue`). Every attempt takes from its bucket
  at the moment it is sent. Cancelled waiters and unsent calls use nothing of the rates.
- If another key joins a waiting call, the limit of its wait starts again.
- A call fails at once if its wait would be too long, and later as soon as that becomes known (other
  keys came, or Google refused a call).
- One timer is set at a time, for the instant at which the next call may be sent. That instant never
  moves forward.
- Where other processes use the same quota, each call also takes from the rates that all share
  (`SharedRates`), one at a time, so that waiters keep their order. The rates here repeat what the
  shared ones told last.
- A write that must follow a read reserves its quota before the read, so that nothing waits between
  the two.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from gateway.errors import QuotaSpent
from gateway.google.call_context import Beneficiaries, CallContext
from gateway.google.rate import Rate, Rates
from gateway.google.spent import SpentQuota
from gateway.settings.model import GoogleSettings

MAX_WAITING_PER_KEY = 50
MAX_WAITING = 500

_SHORTEST_TIMER_SECONDS = 0.001
"""Minimum delay of the timer: timers may fire a little early by another clock."""


class Timer(Protocol):
    def cancel(self) -> None: ...


SetTimer = Callable[[float, Callable[[], None]], Timer]
"""Schedules a callback in some seconds, as `loop.call_later` does."""


def call_later(seconds: float, act: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, act)


class SharedRates(Protocol):
    """Rates that all processes take from; they correct the rates here by what they tell."""

    async def take(self) -> bool:
        """Count a call that is sent now; False if none may be: the rates have the time."""
        ...

    def give_back(self) -> None:
        """Undo a `take`: its call is not sent."""
        ...

    def learnt(self) -> None:
        """Pass on what the rates learnt of a 429."""
        ...


Share = Callable[[Sequence[Rate], Callable[[], None]], SharedRates]
"""Shares rates; the callback is called when calls may be sent earlier than they told."""


class ShareByName(Protocol):
    """What shares rates that have the same names in all processes."""

    def __call__(self, *names: str) -> Share: ...


@dataclass(kw_only=True, eq=False)
class Waiter:
    """A waiting call; `turn` is set when it may be sent. Useless after `until_seconds`."""

    call_context: CallContext
    until_seconds: float
    turn: asyncio.Future[None]


_Line = dict[Waiter, None]


class FairQueue:
    """The calls that wait for the quota.

    Rules
    - Verifications of writes go first. Then keys rotate, each with its oldest call: a key with
      fifty waiting calls delays another key by one call, not by fifty.
    - A call that several keys wait for is in the line of each key, and goes once, at the earliest
      turn.
    """

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


class Bucket:
    """The rates and the queue of one kind of call."""

    def __init__(
        self,
        *rates: Rate,
        is_write: bool,
        max_waiting_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        set_timer: SetTimer = call_later,
        share: Share | None = None,
    ) -> None:
        self._rates = Rates(rates)
        self._shared = None if share is None else share(rates, self._go_on)
        self._asking: asyncio.Task[None] | None = None
        self._is_write = is_write
        self._max_waiting_seconds = max_waiting_seconds
        self._clock = clock
        self._set_timer = set_timer
        self._turns = FairQueue()
        self._timer: Timer | None = None

    def rate_per_second(self) -> float:
        return self._rates.per_minute(self._clock()) / 60

    def waiting_seconds(self) -> float:
        """How long one more call would wait, about."""
        return self._seconds_behind(len(self._turns), self._clock())

    def check_free(self) -> None:
        """Raise QuotaSpent if a call would have to wait."""
        seconds = self.waiting_seconds()
        if seconds:
            raise self._spent(seconds)

    def owed_seconds(self) -> float:
        """The time until the whole burst is there; the less, the more quota is left."""
        return max(0.0, self._rates.full_at - self._clock())

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
        if self._shared is None and not self._turns and self._rates.take(now):
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
        self._untake()
        self._go_on()

    def refused(self, *, sent_at: float, limit: int | None, is_project: bool = False) -> None:
        """Learn from a call's 429 and the limit per minute that it names."""
        self._rates.refused(self._clock(), sent_at=sent_at, limit=limit, is_project=is_project)
        if self._shared is not None:
            self._shared.learnt()
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
        seconds = self._seconds_behind(self._turns.before(waiter), now)
        is_over_full = (
            self._turns.shortest(waiter) > MAX_WAITING_PER_KEY or len(self._turns) > MAX_WAITING
        )
        if now + seconds > waiter.until_seconds or is_over_full:
            self._turns.leave(waiter)
            raise self._spent(seconds)

    def _seconds_behind(self, count: int, now: float) -> float:
        """The wait of a call behind so many others."""
        interval_seconds = 60 / self._rates.per_minute(now)
        return max(0.0, self._rates.free_at(now) - now) + count * interval_seconds

    def _withdraw(self, waiter: Waiter) -> None:
        """Remove a cancelled waiter, perhaps after its turn."""
        self._turns.leave(waiter)
        had_turn = waiter.turn.done() and not waiter.turn.cancelled()
        if had_turn and waiter.turn.exception() is None:
            self._untake()
        self._go_on()

    def _go_on(self, *, may_ask: bool = True) -> None:
        """Wake waiters whose turn it is, end waits that became too long, and set the timer."""
        now = self._clock()
        while self._shared is None and self._turns and self._rates.take(now):
            self._wake_next()
        free_at = self._rates.free_at(now)
        self._refuse_late(free_at, now)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._asking is not None or not self._turns:
            return
        if self._shared is not None and free_at <= now and may_ask:
            work = self._ask(self._shared)
            self._asking = asyncio.get_running_loop().create_task(work, context=Context())
        else:
            seconds = max(free_at - now, _SHORTEST_TIMER_SECONDS)
            self._timer = self._set_timer(seconds, self._go_on)

    def _wake_next(self) -> None:
        """Let the next waiter send what was taken for it."""
        waiter = self._turns.take_next()
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
            if is_taken and self._turns:
                self._wake_next()
            elif is_taken:
                self._untake()
            self._go_on(may_ask=is_taken)

    def _untake(self) -> None:
        if self._shared is None:
            self._rates.give_back()
        else:
            self._shared.give_back()

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
    """The quota, less what an earlier process spent; what is spent now goes to `spent`."""

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
    spent: SpentQuota | None = None,
    project: Quota | None = None,
    share: Callable[[bool], Share] | None = None,
) -> Budget:
    """The budget of an account, and of its project, which other accounts share.

    `share` makes what shares the rates of writes, or of reads, with other processes.
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
            share=share and share(is_write),
        )

    return Budget(reads=bucket(is_write=False), writes=bucket(is_write=True))
