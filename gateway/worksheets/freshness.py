"""Freshness of answers: their age, how long rows are served again, and when as stale ones.

Rules: rows are served longer, for all alike, when the read budget is short. Each worksheet that is
being asked for costs one or two reads whenever its time is over. Where the budget cannot pay for
all of them, the time of each grows by the same factor: all are refreshed, a little later, rather
than some never.
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
"""Of the read budget for refreshing; the rest is for worksheets not seen yet, and for writes."""

SHORTEST_ACTIVITY_SECONDS = 10.0
"""A worksheet asked for so recently counts as active, however short its time is."""

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
"""Failures of Google or of the connection to it. Stale rows may stand in for these."""


class Freshness(NamedTuple):
    """Age and remaining lifetime of the rows behind an answer."""

    age_seconds: float
    """Since the read began that the answer rests on."""
    ttl_seconds: float
    """Until it is read anew; negative for a stale answer."""
    is_hit: bool
    """Whether no call to Google was waited for."""
    reason: str = ""
    """Why it is stale, one word; "" for a fresh answer."""

    def later(self, seconds: float) -> "Freshness":
        """The same after so much time."""
        return self._replace(
            age_seconds=self.age_seconds + seconds, ttl_seconds=self.ttl_seconds - seconds
        )


@dataclass(kw_only=True)
class Demand:
    """When a worksheet was asked for, and how its reads ended, by a monotonic clock."""

    asked_seconds: float = float("-inf")
    typed_seconds: float = float("-inf")
    """When it was last asked for with types."""
    forced_seconds: float = float("-inf")
    """When it was last read for the sake of `no-cache`."""
    failed_seconds: float = float("-inf")
    failure: str = ""
    """Why its last read failed, one word."""

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
        """How long a snapshot is fresh now, by what all worksheets are asked for."""
        if self._least_seconds and now - self._looked_seconds >= _LOOK_SECONDS:
            self._looked_seconds = now
            since = now - max(2 * self._ttl_seconds, SHORTEST_ACTIVITY_SECONDS)
            reads = sum(_cost(demand, since) for demand in demands())
            affordable = BUDGET_SHARE * self._reads_per_second()
            self._ttl_seconds = max(self._least_seconds, reads / affordable)
        return self._ttl_seconds


def _cost(demand: Demand, since: float) -> int:
    """The reads that keeping a worksheet fresh takes each time."""
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
