"""Retries with jitter and a retry budget.

Rules:
- A read is retried after a brief outage, never after a 429, a refusal or a timeout. A write is
  retried only if it was certainly not sent.
- The pause is random up to a bound that doubles (full jitter), so that calls that failed together
  are not retried together.
- Retries add at most 10 % to Google calls, plus `max_allowance` after a start.
- Nothing is retried while the circuit breaker is open; the first error is raised.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from gateway.errors import GatewayError, UpstreamUnreachable
from gateway.google.breaker import is_brief_outage
from gateway.settings.model import GoogleSettings

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    read_attempts: int = 3
    write_attempts: int = 2
    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 2.0
    retries_per_call: float = 0.1
    max_allowance: float = 3.0
    """Retries that may happen at once; also the initial budget."""


class Retrying:
    """Guard that retries; `may_retry` is checked before each retry, `jitter` returns 0 to 1."""

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
        for failures in range(1, policy.write_attempts if is_write else policy.read_attempts):
            try:
                return await call()
            except GatewayError as error:
                if not _is_repeatable(error, is_write=is_write) or not await self._paused(failures):
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


def _is_repeatable(error: GatewayError, *, is_write: bool) -> bool:
    return isinstance(error, UpstreamUnreachable) if is_write else is_brief_outage(error)


def longest_write_seconds(settings: GoogleSettings, policy: RetryPolicy = RetryPolicy()) -> float:
    """The longest time from the request for a write until its last attempt is sent.

    Each attempt waits for the quota, then for a token and a connection, until its deadline.
    """
    attempt_seconds = settings.max_waiting_seconds + settings.write_timeout_seconds
    pauses = (policy.write_attempts - 1) * policy.longest_pause_seconds
    return policy.write_attempts * attempt_seconds + pauses
