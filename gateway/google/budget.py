"""Quota of one account: a bucket for reads and one for writes.

Rules: every attempt takes of its bucket at the moment it is sent, and none is sent without. Who
waits, in which order and for how long is the bucket's matter; what may be sent is the rate's. A
write that must follow a look takes its turn before the look, so that nothing waits between them.
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
from gateway.settings.model import GoogleSettings

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What may be asked of Google as one account."""

    reads: Bucket
    writes: Bucket

    def bucket(self, *, is_write: bool) -> Bucket:
        return self.writes if is_write else self.reads


def open_budget(
    settings: GoogleSettings,
    *,
    clock: Callable[[], float] = time.monotonic,
    set_timer: SetTimer = call_later,
) -> Budget:
    """The budget that is configured, unspent."""

    def bucket(per_minute: int, *, is_write: bool) -> Bucket:
        return Bucket(
            per_minute,
            is_write=is_write,
            max_waiting_seconds=settings.max_waiting_seconds,
            clock=clock,
            set_timer=set_timer,
        )

    return Budget(
        reads=bucket(settings.reads_per_minute, is_write=False),
        writes=bucket(settings.writes_per_minute, is_write=True),
    )


class WriteTurn:
    """A turn at the bucket of writes: the first write of its block takes it, none gives it back."""

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
        """Whether it was still there to be taken."""
        was_left, self._is_left = self._is_left, False
        return was_left


_turn: ContextVar[WriteTurn | None] = ContextVar("write_turn", default=None)


class Budgeted:
    """Sends a call when it is its turn; learns from what Google refuses all the same.

    `waited` is told how long each call waited, in seconds, sent or not.
    """

    def __init__(
        self,
        budget: Budget,
        *,
        clock: Callable[[], float] = time.monotonic,
        waited: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
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
        """Wait for the turn of a write, and hold it. Raises `QuotaSpent`."""
        bucket = self._budget.writes
        await self._take(bucket)
        return WriteTurn(bucket)

    async def _take(self, bucket: Bucket) -> None:
        asked_at = self._clock()
        try:
            await bucket.take(current_call_context())
        finally:
            self._waited(self._clock() - asked_at)
