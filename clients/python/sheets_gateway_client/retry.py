"""The step after a try: the result, an error, or another try after a wait. Pure.

Rules
- Every call may be sent again (`calls`), so the question is only whether that can help.
- An answer of the gateway is tried again if it is `retryable`, or if the outcome of a write is
  unknown: the repeated key then finds the outcome of the first request.
- While the first request of a key is under way (4090), asking for its answer is not counted.
- Answers of others are tried again by their status, a broken connection always.
- A wait is at least `Retry-After`. If that is over the limit, the call ends at once: a shorter
  wait would only be refused again.
- After a try that may have been applied, only its own answer settles the outcome: a success, an
  `applied`, or an answer that the gateway repeats for the key.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from sheets_gateway_client.answers import Answer, OtherShape, error_body
from sheets_gateway_client.calls import Call
from sheets_gateway_client.errors import (
    ConnectionFailed,
    CursorLost,
    ErrorBody,
    Outcome,
    SheetsError,
    SheetsFailure,
)

Parsed = TypeVar("Parsed")

FOREIGN_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses of proxies that may be different at the next try."""
IN_PROGRESS = 4090
CURSOR_LOST = 4101

_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, kw_only=True)
class RetryOptions:
    """Limits of repeating."""

    tries: int = 5
    """Maximum number of requests for a call, not counting answers 4090; 1 turns retries off."""
    total_seconds: float = 180.0
    """Maximum time from the start of the first try to the start of the last."""
    max_wait_seconds: float = 60.0
    """A longer `Retry-After` ends the call."""
    backoff_seconds: float = 0.5
    """The first wait without `Retry-After`; each further one is twice as long, with jitter."""


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A try without an answer; `was_sent`: the gateway may have received the request."""

    error: Exception
    was_sent: bool
    url: str
    """URL of the request, without its query."""


@dataclass(frozen=True, kw_only=True)
class Tries:
    """The tries of a call so far; `now` and `started_at` are seconds of a monotonic clock."""

    options: RetryOptions
    started_at: float
    count: int = 0
    is_open: bool = False
    """True if a try may have been applied."""


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Another try after this number of seconds."""

    seconds: float
    tries: Tries


@dataclass(frozen=True, kw_only=True)
class Done(Generic[Parsed]):
    value: Parsed


@dataclass(frozen=True, kw_only=True)
class Instant:
    """The time of a decision, and a random number from 0 to 1."""

    now: float
    date: datetime
    chance: float


def next_step(
    call: Call[Parsed], tries: Tries, result: Answer | Broken, instant: Instant
) -> Done[Parsed] | Wait:
    """The step after this result. Raises SheetsError or ConnectionFailed if no try follows."""
    if isinstance(result, Broken):
        tries = _counted(tries, is_open=call.is_write and result.was_sent)
        failure = _no_answer(call, tries, result)
        return _again_or_raise(failure, tries, instant, can_help=True, retry_after=None)
    if result.is_success:
        with suppress(OtherShape):  # a page in place of the answer
            return Done(value=call.parse(result))
    body = error_body(result, is_write=call.is_write, now=instant.date)
    tries = _counted(tries, is_open=body.outcome == "unknown", is_further=body.code != IN_PROGRESS)
    kind = CursorLost if body.code == CURSOR_LOST else SheetsError
    error = kind(body, outcome=_outcome(tries, body, result), idempotency_key=call.idempotency_key)
    return _again_or_raise(
        error, tries, instant, can_help=_can_help(body), retry_after=body.retry_after_seconds
    )


def _counted(tries: Tries, *, is_open: bool, is_further: bool = True) -> Tries:
    count = max(1, tries.count + is_further)
    return replace(tries, count=count, is_open=tries.is_open or is_open)


def _no_answer(call: Call[Parsed], tries: Tries, broken: Broken) -> ConnectionFailed:
    outcome: Outcome | None = None
    if call.is_write:
        outcome = "unknown" if tries.is_open else "not_applied"
    words = _CAPITAL.sub(" ", type(broken.error).__name__).lower()  # "read timeout"
    reason = str(broken.error) or words
    message = f"No answer to {call.method} {broken.url} at try {tries.count}: {reason}"
    failure = ConnectionFailed(message, outcome=outcome, idempotency_key=call.idempotency_key)
    failure.__cause__ = broken.error
    return failure


def _outcome(tries: Tries, body: ErrorBody, answer: Answer) -> Outcome | None:
    is_settled = body.outcome == "applied" or "idempotent-replayed" in answer.headers
    return "unknown" if tries.is_open and not is_settled else body.outcome


def _can_help(body: ErrorBody) -> bool:
    if body.code == 0:
        return body.status in FOREIGN_RETRIED
    return body.retryable or body.outcome == "unknown"


def _again_or_raise(
    failure: SheetsFailure,
    tries: Tries,
    instant: Instant,
    *,
    can_help: bool,
    retry_after: float | None,
) -> Wait:
    options = tries.options
    longest = options.backoff_seconds * 2 ** (tries.count - 1)
    backoff = min(longest, options.max_wait_seconds) * (0.5 + instant.chance / 2)
    seconds = max(backoff, retry_after or 0.0)
    is_in_time = instant.now + seconds <= tries.started_at + options.total_seconds
    is_short = seconds <= options.max_wait_seconds
    if not (can_help and is_in_time and is_short and tries.count < options.tries):
        raise failure
    return Wait(seconds=seconds, tries=tries)
