"""Freshness of answers: age, lifetime of cached rows, and use of stale rows.

Rules: each worksheet in use costs one or two reads per ttl. If the read budget cannot pay for all
of them, the ttl of each grows by the same factor: all are refreshed, a little later.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    NotFresh,
    QuotaSpent,
    TemporarilyUnavailable,
    UpstreamAuth,
    UpstreamError,
    UpstreamTimeout,
)

BUDGET_SHARE = 0.8
"""Share of the read budget for refreshing; the rest is for new worksheets and writes."""

SHORTEST_ACTIVITY_SECONDS = 10.0
"""A worksheet requested so recently is active, however short its ttl is."""

_LOOK_SECONDS = 1.0
_RETRY_SECONDS = 5

_REASONS: Mapping[type[GatewayError], str] = {
    QuotaSpent: "budget",
    CircuitOpen: "breaker",
    TemporarilyUnavailable: "busy",
    UpstreamError: "google",
    UpstreamTimeout: "google",
    UpstreamAuth: "google",
}

DEGRADING = tuple(_REASONS)
"""Failures of Google or of the connection to it, for which stale rows may be served."""


class Freshness(NamedTuple):
    """Age and remaining lifetime of the rows behind an answer."""

    age_seconds: float
    """Since the start of the read behind the answer."""
    ttl_seconds: float
    """Until the next read; negative for a stale answer."""
    is_hit: bool
    """True if no call to Google was awaited."""
    reason: str = ""
    """Reason for a stale answer, one word; "" for a fresh answer."""

    def later(self, seconds: float) -> "Freshness":
        """The freshness some seconds later."""
        return self._replace(
            age_seconds=self.age_seconds + seconds, ttl_seconds=self.ttl_seconds - seconds
        )


@dataclass(kw_only=True)
class Demand:
    """Last requests for a worksheet and the result of its last read, by a monotonic clock."""

    asked_seconds: float = float("-inf")
    typed_seconds: float = float("-inf")
    """Last request for typed rows."""
    forced_seconds: float = float("-inf")
    """Last read for `no-cache`."""
    failed_seconds: float = float("-inf")
    failure: str = ""
    """Failure of its last read, one word."""

    def note(self, now: float, *, has_types: bool) -> None:
        self.asked_seconds = now
        if has_types:
            self.typed_seconds = now


class AdaptiveTtl:
    """`reads_per_second` is the present budget. A ttl of 0 stays 0."""

    def __init__(self, ttl_seconds: float, reads_per_second: Callable[[], float]) -> None:
        self._least_seconds = ttl_seconds
        self._reads_per_second = reads_per_second
        self._ttl_seconds = ttl_seconds
        self._looked_seconds = float("-inf")

    def ttl_seconds(self, now: float, demands: Callable[[], Iterable[Demand]]) -> float:
        """The current lifetime of snapshots, according to the demand for all worksheets."""
        if self._least_seconds and now - self._looked_seconds >= _LOOK_SECONDS:
            self._looked_seconds = now
            since = now - max(2 * self._ttl_seconds, SHORTEST_ACTIVITY_SECONDS)
            reads = sum(_cost(demand, since) for demand in demands())
            affordable = BUDGET_SHARE * self._reads_per_second()
            self._ttl_seconds = max(self._least_seconds, reads / affordable)
        return self._ttl_seconds


def _cost(demand: Demand, since: float) -> int:
    """Reads per refresh of a worksheet."""
    if demand.asked_seconds < since:
        return 0
    return 2 if demand.typed_seconds >= since else 1


def reason_for(error: GatewayError) -> str:
    """The `detail` of a failure in `Cache-Status`."""
    return next(word for kind, word in _REASONS.items() if isinstance(error, kind))


def not_fresh(error: GatewayError) -> NotFresh:
    """The error for a `no-cache` request."""
    return NotFresh(
        f"Fresh rows cannot be had: {error.message} Leave out no-cache to take older ones.",
        retry_after_seconds=error.retry_after_seconds or _RETRY_SECONDS,
    )
