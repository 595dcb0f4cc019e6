"""Quota of one account: a bucket for reads and one for writes.

Rules:
- Every attempt takes from its bucket at the moment it is sent.
- The bucket decides who waits, in which order and for how long; the rate decides what may be sent.
- A write that must follow a read reserves its quota before the read, so that nothing waits between
  the two.
"""

import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from gateway.errors import QuotaSpent
from gateway.google.bucket import Bucket, SetTimer, call_later
from gateway.google.call_context import current_call_context
from gateway.google.spent import SpentQuota
from gateway.settings.model import GoogleSettings

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Budget:
    reads: Bucket
    writes: Bucket

    def bucket(self, *, is_write: bool) -> Bucket:
        return self.writes if is_write else self.reads


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
        bucket = self._budget.bucket(is_write=is_write)
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
