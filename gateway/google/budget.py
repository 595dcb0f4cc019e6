"""Quota of one account: a bucket for reads and one for writes.

Rules: every attempt takes of its bucket at the moment it is sent, and none is sent without. Who
waits, in which order and for how long is the bucket's matter; what may be sent is the rate's.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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
        asked_at = self._clock()
        try:
            await bucket.take(current_call_context())
        finally:
            sent_at = self._clock()
            self._waited(sent_at - asked_at)
        try:
            return await call()
        except QuotaSpent as refusal:
            bucket.refused(sent_at=sent_at, limit=refusal.limit)
            raise
