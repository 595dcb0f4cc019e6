"""Adaptive TTL: rows are served longer, for all alike, when the read budget is short.

Each worksheet that is being asked for costs one or two reads whenever its time is over. Where the
budget cannot pay for all of them, the time of each grows by the same factor: all are refreshed, a
little later, rather than some never.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

BUDGET_SHARE = 0.8
"""Of the read budget for refreshing; the rest is for worksheets not seen yet, and for writes."""

SHORTEST_ACTIVITY_SECONDS = 10.0
"""A worksheet asked for so recently counts as active, however short its time is."""

_LOOK_SECONDS = 1.0


@dataclass(kw_only=True)
class Interest:
    """When a worksheet was last asked for, and when last with types."""

    asked_seconds: float = float("-inf")
    with_types_seconds: float = float("-inf")

    def note(self, now: float, *, needs_types: bool) -> None:
        self.asked_seconds = now
        if needs_types:
            self.with_types_seconds = now


class AdaptiveTtl:
    """`reads_per_second` is what the budget allows by now; no ttl is no ttl under any pressure."""

    def __init__(self, ttl_seconds: float, reads_per_second: Callable[[], float]) -> None:
        self._least_seconds = ttl_seconds
        self._reads_per_second = reads_per_second
        self._ttl_seconds = ttl_seconds
        self._looked_seconds = float("-inf")

    def ttl_seconds(self, now: float, interests: Callable[[], Iterable[Interest]]) -> float:
        """How long a snapshot is fresh now, by what all worksheets are asked for."""
        if self._least_seconds and now - self._looked_seconds >= _LOOK_SECONDS:
            self._looked_seconds = now
            since = now - max(2 * self._ttl_seconds, SHORTEST_ACTIVITY_SECONDS)
            reads = sum(_cost(interest, since) for interest in interests())
            affordable = BUDGET_SHARE * self._reads_per_second()
            self._ttl_seconds = max(self._least_seconds, reads / affordable)
        return self._ttl_seconds


def _cost(interest: Interest, since: float) -> int:
    """The reads that keeping a worksheet fresh takes each time."""
    if interest.asked_seconds < since:
        return 0
    return 2 if interest.with_types_seconds >= since else 1
