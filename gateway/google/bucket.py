"""Rate limiter for reads or writes: calls wait for their turn, or fail at once.

Rules
- No call is sent that Google would refuse: it waits for its turn, or fails at once.
- `gateway.google.fair_queue` decides the turns. If another key joins a waiting call, the call also
  joins the line of that key, and the limit of its wait starts again.
- A call fails at once if its wait would be too long, and later as soon as that becomes known (other
  keys came, or Google refused a call).
- Cancelled waiters and unsent calls use nothing of the rate.
- One timer is set at a time, for the instant at which the next call may be sent. That instant never
  moves forward.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from gateway.errors import QuotaSpent
from gateway.google.call_context import Beneficiaries, CallContext
from gateway.google.fair_queue import FairQueue, Waiter
from gateway.google.rate import Rate
from gateway.google.spent import SpentQuota

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

    @property
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
