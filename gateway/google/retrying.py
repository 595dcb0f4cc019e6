"""Retry calls that failed for the moment, within an allowance.

Rules
- A read is made again after a brief outage, never after a 429, a refusal or a timeout; a write
  only if it surely was not sent.
- The pause before it is random, up to a bound that doubles (full jitter), so that those who failed
  together do not come back together.
- However many fail, retries add a tenth to the calls of Google at most, and a few after a start.
- While the circuit breaker is open nothing is made again: the first error stays.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from gateway.errors import GatewayError, UpstreamUnreachable
from gateway.google.outage import is_brief_outage
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
    """Retries that may come at once, from the start."""


class Retrying:
    """A guard; `may_retry` is asked before each retry, `jitter` gives a part of 1."""

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
        """Wait before the next attempt; False if there may be none."""
        if not self._is_affordable():
            return False
        bound = self._policy.first_pause_seconds * 2 ** (failures - 1)
        await self._sleep(self._jitter() * min(bound, self._policy.longest_pause_seconds))
        if not self._is_affordable():  # others failed meanwhile
            return False
        self._allowance -= 1
        return True

    def _is_affordable(self) -> bool:
        return self._allowance >= 1 and self._may_retry()


def _is_repeatable(error: GatewayError, *, is_write: bool) -> bool:
    return isinstance(error, UpstreamUnreachable) if is_write else is_brief_outage(error)


def longest_write_seconds(settings: GoogleSettings, policy: RetryPolicy = RetryPolicy()) -> float:
    """So long after a write was asked for may it leave for Google, all attempts and waits told.

    Each attempt waits for its turn, then for a token and a connection, until its deadline.
    """
    attempt_seconds = settings.max_waiting_seconds + settings.write_timeout_seconds
    pauses = (policy.write_attempts - 1) * policy.longest_pause_seconds
    return policy.write_attempts * attempt_seconds + pauses
