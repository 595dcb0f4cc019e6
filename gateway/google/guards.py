"""Guards: behaviour added to every call of a `Sheets` (retry, circuit breaker, metrics).

A guard sees one Google call at a time and whether it writes, but not which operation it is. The
guard for the quota is in `gateway.google.quota`.
"""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

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
from gateway.google.call_context import current_call_context, record_sent_at
from gateway.google.forwarding import Call, ForwardingSheets
from gateway.google.sheets import Sheets
from gateway.google.translation import UNREADABLE, GoogleRefusal
from gateway.telemetry.events import upstream_called

T = TypeVar("T")

_is_exempt: ContextVar[bool] = ContextVar("is_exempt", default=False)
"""True if the current call may be sent while the breaker is open."""

FAILURES_TO_OPEN = 5
PROBE_SECONDS = 5.0


class Guard(Protocol):
    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        """Make the call once, several times or not at all, and return its result."""
        ...


class GuardedSheets(ForwardingSheets):
    """A `Sheets` whose calls pass through `guards`, the outermost first."""

    def __init__(self, inner: Sheets, *guards: Guard) -> None:
        self._inner = inner
        self._guards = guards

    async def forward(self, spreadsheet: str, call: Call[T], *, is_write: bool) -> T:
        made: Callable[[], Awaitable[T]] = partial(call, self._inner)
        if isinstance(self._inner, ForwardingSheets):
            made = partial(self._inner.forward, spreadsheet, call, is_write=is_write)
        for guard in reversed(self._guards):
            made = partial(guard, made, is_write=is_write)
        return await made()


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    read_attempts: int = 3
    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 2.0
    retries_per_call: float = 0.1
    max_allowance: float = 3.0
    """Retries that may happen at once; also the initial budget."""


class Retrying:
    """Guard that retries; `may_retry` is checked before each retry, `jitter` returns 0 to 1.

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
        may_retry: Callable[[], bool] = lambda: True,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._may_retry = may_retry
        self._sleep = sleep
        self._jitter = jitter
        self._allowance = policy.max_allowance

    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        policy = self._policy
        self._allowance = min(self._allowance + policy.retries_per_call, policy.max_allowance)
        for failures in range(1, 1 if is_write else policy.read_attempts):
            try:
                return await call()
            except GatewayError as error:
                if not is_brief_outage(error) or not await self._paused(failures):
                    raise
        return await call()

    async def _paused(self, failures: int) -> bool:
        """Wait before the next attempt; False if it is not allowed."""
        if not self._is_affordable():
            return False
        bound = self._policy.first_pause_seconds * 2 ** (failures - 1)
        await self._sleep(self._jitter() * min(bound, self._policy.longest_pause_seconds))
        if not self._is_affordable():  # other calls failed meanwhile
            return False
        self._allowance -= 1
        return True

    def _is_affordable(self) -> bool:
        return self._allowance >= 1 and self._may_retry()


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
    - A call that waited for the quota is checked again before it is sent (`LastCheck`).
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

    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        token = _is_exempt.set(self._let_pass(is_write=is_write))
        changes = self._changes
        try:
            answer = await call()
        except GatewayError as error:
            if is_outage(error):
                self._failed(changes)
            elif _was_sent(error):
                self._answered()
            raise
        finally:
            _is_exempt.reset(token)
        self._answered()
        return answer

    def refusal(self, *, is_write: bool) -> CircuitOpen:
        """The error of a call that is not sent."""
        return _circuit_open(self._next_probe_at - self._clock(), is_write=is_write)

    def _let_pass(self, *, is_write: bool) -> bool:
        """True if the call may be sent while the breaker is open. Raises CircuitOpen."""
        if current_call_context().is_verification:
            return True
        if not self._is_open:
            return False
        now = self._clock()
        if now < self._next_probe_at:
            raise self.refusal(is_write=is_write)
        self._next_probe_at = now + PROBE_SECONDS
        return True

    def _answered(self) -> None:
        self._failures = 0
        if self._is_open:
            self._change(is_open=False)

    def _failed(self, changes: int) -> None:
        if self._is_open or changes != self._changes:
            return
        self._failures += 1
        if self._failures == FAILURES_TO_OPEN:
            self._failures = 0
            self._next_probe_at = self._clock() + PROBE_SECONDS
            self._change(is_open=True)

    def _change(self, *, is_open: bool) -> None:
        self._is_open = is_open
        self._changes += 1
        self._changed(is_open)


class LastCheck:
    """Innermost guard: stops calls that waited while the breaker opened."""

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker

    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        if self._breaker.is_open and not _is_exempt.get():
            raise self._breaker.refusal(is_write=is_write)
        return await call()


def _was_sent(error: GatewayError) -> bool:
    """True if a call that failed without an outage was sent to Google."""
    if isinstance(error, QuotaSpent):
        return error.is_from_google
    return not isinstance(error, InvalidSpreadsheetId | CircuitOpen | LookOutdated)


def _circuit_open(seconds: float, *, is_write: bool) -> CircuitOpen:
    return CircuitOpen(
        "Google does not answer, and is not asked for a few seconds. Try again later.",
        outcome="not_applied" if is_write else None,
        retry_after_seconds=max(1, math.ceil(seconds)),
    )


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


class Counted:
    """Guard that counts and times each call of an account, and records when it is sent."""

    def __init__(self, account: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._account = account
        self._clock = clock

    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        started = self._clock()
        record_sent_at(started)
        error: BaseException | None = None
        try:
            return await call()
        except BaseException as raised:
            error = raised
            raise
        finally:
            seconds = self._clock() - started
            upstream_called(self._account, is_write=is_write, seconds=seconds, error=error)
