"""Decide after each request of a call: return the result, raise an error, or retry. Pure.

A try is one request of a call.

Rules
- Repeating a request is always safe (see `calls`); retry only if the next try can succeed.
- Retry an error of the gateway if it is `retryable`, or if the outcome of a write is unknown. The
  gateway answers the repeated `Idempotency-Key` with the outcome of the first request.
- Error 4090, "the first request with this key still runs", does not count as a try.
- Retry an answer of another server by its status, and a broken connection always.
- Wait at least `Retry-After`. If `Retry-After` exceeds `max_wait_seconds`, the call ends at once.
- After a try that might have been applied, the outcome stays `unknown` until a success, the
  outcome `applied`, or the answer that the gateway stored for the key.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from sheets_gateway_client.answers import Answer, CutShort, OtherShape, error_body
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
"""Statuses of other servers, such as proxies, after which a retry can succeed."""
IN_PROGRESS = 4090
CURSOR_LOST = 4101

_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, kw_only=True)
class RetryOptions:
    """Limits of the requests that the client repeats."""

    tries: int = 5
    """Maximum requests of a call, not counting answers with code 4090; 1 turns retries off."""
    total_seconds: float = 180.0
    """Maximum time from the start of the first request to the start of the last."""
    max_wait_seconds: float = 60.0
    """Maximum wait between requests; a longer `Retry-After` ends the call."""
    backoff_seconds: float = 0.5
    """First wait if the answer has no `Retry-After`; it doubles with each request, with jitter."""


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A request without a complete answer."""

    error: Exception
    was_sent: bool
    """True if the gateway might have received the request."""
    url: str
    """URL of the request, without its query."""


@dataclass(frozen=True, kw_only=True)
class Tries:
    """The requests of a call so far; `started_at` is in seconds of a monotonic clock."""

    options: RetryOptions
    started_at: float
    count: int = 0
    is_open: bool = False
    """True if the gateway might have applied an earlier request."""


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Send the request again after this number of seconds; `tries` replaces the old value."""

    seconds: float
    tries: Tries


@dataclass(frozen=True, kw_only=True)
class Done(Generic[Parsed]):
    """The call succeeded with this result."""

    value: Parsed


@dataclass(frozen=True, kw_only=True)
class Instant:
    """The time of a decision, and a random number for the jitter."""

    now: float
    """Seconds of a monotonic clock."""
    date: datetime
    """UTC, for a `Retry-After` that is a date."""
    chance: float
    """Random number from 0 to 1."""


def next_step(
    call: Call[Parsed], tries: Tries, result: Answer | Broken, instant: Instant
) -> Done[Parsed] | Wait:
    """Return the result of the call, or the wait before the next try.

    Raises SheetsError or ConnectionFailed if the call has failed.
    """
    if isinstance(result, Broken):
        tries = _counted(tries, is_open=call.is_write and result.was_sent)
        failure = _no_answer(call, tries, result)
        return _again_or_raise(failure, tries, instant, can_help=True, retry_after=None)
    if result.is_success:
        try:
            return Done(value=call.parse(result))
        except CutShort as cut:
            broken = Broken(error=cut, was_sent=True, url=result.url)
            return next_step(call, tries, broken, instant)
        except OtherShape:  # another server answered, such as a proxy with an HTML page
            pass
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
