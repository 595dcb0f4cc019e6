"""Outages of Google: their errors, repeated reads and the circuit breaker."""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    InvalidSpreadsheetId,
    LookOutdated,
    QuotaSpent,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.google.translation import UNREADABLE, GoogleRefusal

FAILURES_TO_OPEN = 5
PROBE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    read_attempts: int = 3
    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 2.0
    retries_per_call: float = 0.1
    max_allowance: float = 3.0
    """Retries that may happen at once; also the initial allowance."""


class Retries:
    """Decides whether a failed read is repeated, and waits before it; `jitter` returns 0 to 1.

    Rules:
    - A read is retried after a brief outage, never after a 429, a refusal or a timeout. A write is
      not: its look would be old by then.
    - The pause is random up to a bound that doubles (full jitter), so that calls that failed
      together are not retried together.
    - Retries add at most 10 % to Google calls, plus `max_allowance` after a start.
    - Nothing is retried while the circuit breaker is open; the first error is raised.
    """

    def __init__(
        self,
        policy: RetryPolicy = RetryPolicy(),
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._sleep = sleep
        self._jitter = jitter
        self._allowance = policy.max_allowance
        self.call_count = 0
        """Calls since the allowance was reckoned up: each adds to it."""

    async def may_repeat(self, failures: int, error: GatewayError, breaker: "Breaker") -> bool:
        """Wait before a read that failed so many times is repeated; False if it may not be."""
        policy = self._policy
        if failures >= policy.read_attempts or not is_brief_outage(error):
            return False
        if self._reckoned() < 1 or breaker.is_open:
            return False
        bound = policy.first_pause_seconds * 2 ** (failures - 1)
        await self._sleep(self._jitter() * min(bound, policy.longest_pause_seconds))
        if self._reckoned() < 1 or breaker.is_open:  # other calls failed meanwhile
            return False
        self._allowance -= 1
        return True

    def _reckoned(self) -> float:
        """The allowance with what the calls since then add."""
        added = self.call_count * self._policy.retries_per_call
        self._allowance = min(self._allowance + added, self._policy.max_allowance)
        self.call_count = 0
        return self._allowance


class Entry(NamedTuple):
    """A call that the breaker let in: after how many changes, and whether it is a probe."""

    changes: int
    is_exempt: bool
    """It is sent even if the breaker is open by then."""


class Breaker:
    """Circuit breaker: while Google fails, only probes are sent.

    It calls `changed` with True when it opens and with False when it closes.

    Rules:
    - Five consecutive outages open it. Any other answer, including a refusal or a 429, closes it:
      Google responds again.
    - While it is open, calls fail at once. Every five seconds one call is sent as a probe, even if
      the previous probe still hangs. Verifications of writes are always sent.
    - A failure does not count if the breaker opened or closed since the call began: a call that
      hung during an outage must not open the breaker again afterwards.
    - Calls that were not sent, or were cancelled, do not count.
    - A call that waited for the quota is checked again before it is sent (`check`).
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        changed: Callable[[bool], None] = lambda _is_open: None,
    ) -> None:
        self._clock = clock
        self._changed = changed
        self._is_open = False
        self._changes = 0
        self._failures = 0
        self._next_probe_at = 0.0

    @property
    def is_open(self) -> bool:
        return self._is_open

    def enter(self, *, is_write: bool, is_verification: bool) -> Entry:
        """Let a call in. Raises CircuitOpen."""
        if is_verification:
            return Entry(self._changes, is_exempt=True)
        if not self._is_open:
            return Entry(self._changes, is_exempt=False)
        now = self._clock()
        if now < self._next_probe_at:
            raise self._refusal(is_write=is_write)
        self._next_probe_at = now + PROBE_SECONDS
        return Entry(self._changes, is_exempt=True)

    def check(self, entry: Entry, *, is_write: bool) -> None:
        """Raise CircuitOpen for a call that waited while the breaker opened."""
        if self._is_open and not entry.is_exempt:
            raise self._refusal(is_write=is_write)

    def answered(self) -> None:
        """Count an answer of Google."""
        self._failures = 0
        if self._is_open:
            self._change(is_open=False)

    def failed(self, entry: Entry, error: GatewayError) -> None:
        """Count a call that failed: as an outage, as an answer, or not at all."""
        if not is_outage(error):
            if _was_sent(error):
                self.answered()
            return
        if self._is_open or entry.changes != self._changes:
            return
        self._failures += 1
        if self._failures == FAILURES_TO_OPEN:
            self._failures = 0
            self._next_probe_at = self._clock() + PROBE_SECONDS
            self._change(is_open=True)

    def _refusal(self, *, is_write: bool) -> CircuitOpen:
        seconds = self._next_probe_at - self._clock()
        return CircuitOpen(
            "Google does not answer, and is not asked for a few seconds. Try again later.",
            outcome="not_applied" if is_write else None,
            retry_after_seconds=max(1, math.ceil(seconds)),
        )

    def _change(self, *, is_open: bool) -> None:
        self._is_open = is_open
        self._changes += 1
        self._changed(is_open)


def _was_sent(error: GatewayError) -> bool:
    """True if a call that failed without an outage was sent to Google."""
    if isinstance(error, QuotaSpent):
        return error.is_from_google
    return not isinstance(error, InvalidSpreadsheetId | CircuitOpen | LookOutdated)


def is_outage(error: GatewayError) -> bool:
    """True if Google was unreachable, broke off, timed out or failed (5xx).

    A refusal is not an outage. Neither is an unreadable answer: other worksheets may be readable.
    """
    if isinstance(error, WriteOutcomeUnknown):
        return not _is_4xx(error)
    return isinstance(error, UpstreamTimeout) or is_brief_outage(error)


def is_brief_outage(error: GatewayError) -> bool:
    """True if the call failed quickly, so that a retry may succeed."""
    if not isinstance(error, UpstreamError) or isinstance(error, UpstreamRefusal):
        return False
    return isinstance(error, UpstreamUnreachable) or not _was_answered(error)


def _was_answered(error: UpstreamError) -> bool:
    """True if Google answered, with a refusal or with an unreadable answer."""
    return _is_4xx(error) or isinstance(error.__cause__, UNREADABLE)


def _is_4xx(error: GatewayError) -> bool:
    cause = error.__cause__
    return isinstance(cause, GoogleRefusal) and 400 <= cause.status < 500
