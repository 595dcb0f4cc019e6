"""Retries with jitter and a retry budget.

Rules:
- A read is retried after a brief outage, never after a 429, a refusal or a timeout. A write is not:
  its look would be old by then.
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

from gateway.errors import GatewayError
from gateway.google.breaker import is_brief_outage

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    read_attempts: int = 3
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
