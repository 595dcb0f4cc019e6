"""Circuit breaker: while Google fails, one probe at a time.

Rules
- Five calls in a row that met an outage open it. An answer of any other kind, a refusal or a 429
  too, shows that Google lives, and closes it.
- Open, a call fails at once; one in five seconds is sent all the same, as a probe, even while the
  one before still hangs. Calls that verify a write are always sent.
- A call that began before the breaker last opened or closed fails without a say: what hung in an
  outage must not open the breaker again when it is over.
- A call that ended without being sent, or was given up, says nothing about Google.
- A call that passed, then waited for its turn, is asked for again before it is sent (`LastCheck`).
"""

import math
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeVar

from gateway.errors import CircuitOpen, GatewayError, InvalidSpreadsheetId, QuotaSpent
from gateway.google.call_context import current_call_context
from gateway.google.outage import is_outage

T = TypeVar("T")

_is_exempt: ContextVar[bool] = ContextVar("is_exempt", default=False)
"""Whether the call under way is sent though the breaker is open."""

FAILURES_TO_OPEN = 5
PROBE_SECONDS = 5.0


class Breaker:
    """A guard; `changed` is told when it opens (True) and when it closes (False)."""

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
        """Whether Google is taken to be away."""
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
        """The error for a call that is not sent."""
        return _circuit_open(self._next_probe_at - self._clock(), is_write=is_write)

    def _let_pass(self, *, is_write: bool) -> bool:
        """Whether the call may be sent though it is open; CircuitOpen if it may not be sent."""
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
    """A guard next to Google: what waited while the breaker opened is not sent any more."""

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker

    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        if self._breaker.is_open and not _is_exempt.get():
            raise self._breaker.refusal(is_write=is_write)
        return await call()


def _was_sent(error: GatewayError) -> bool:
    """Whether an error that is no outage came of asking Google."""
    if isinstance(error, QuotaSpent):
        return error.is_from_google
    return not isinstance(error, InvalidSpreadsheetId | CircuitOpen)


def _circuit_open(seconds: float, *, is_write: bool) -> CircuitOpen:
    return CircuitOpen(
        "Google does not answer, and is not asked for a few seconds. Try again later.",
        outcome="not_applied" if is_write else None,
        retry_after_seconds=max(1, math.ceil(seconds)),
    )
