"""Plain counters for the metrics, updated on the event loop's thread.

Rules:
- Every label is one of the names here, never a key, a spreadsheet, a worksheet or a path.
- No locks, and no formatting before `/metrics` is read (`gateway.telemetry.metrics`): counting a
  request takes a fraction of a microsecond, with prometheus-client's types more than one.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, get_args

Kind = Literal["list", "read", "create", "update", "other"]
CacheResult = Literal["", "hit", "miss", "stale"]
CallOutcome = Literal["ok", "refused", "quota", "failed", "timeout", "unknown", "cancelled"]
CallKind = Literal["read", "write"]

KINDS: tuple[Kind, ...] = get_args(Kind)
CACHE_RESULTS: tuple[CacheResult, ...] = get_args(CacheResult)
CALL_OUTCOMES: tuple[CallOutcome, ...] = get_args(CallOutcome)
CALL_KINDS: tuple[CallKind, ...] = get_args(CallKind)
STATUS_CLASSES = ("none", "1xx", "2xx", "3xx", "4xx", "5xx")
"""By hundreds of the status; 0 is a request without an answer."""
BUCKET_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
"""Upper bounds of the buckets, inclusive; the last bucket has none."""


@dataclass(slots=True)
class Durations:
    """A histogram of durations."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKET_SECONDS) + 1))
    """By bucket, not cumulative."""
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKET_SECONDS, seconds)] += 1
        self.seconds += seconds


@dataclass(slots=True)
class RequestTally:
    statuses: list[int] = field(default_factory=lambda: [0] * len(STATUS_CLASSES))
    durations: Durations = field(default_factory=Durations)


@dataclass(slots=True)
class Tallies:
    """All counters of the process, and the current gauges."""

    requests: dict[Kind, RequestTally] = field(
        default_factory=lambda: {kind: RequestTally() for kind in KINDS}
    )
    cache: dict[CacheResult, int] = field(default_factory=lambda: dict.fromkeys(CACHE_RESULTS, 0))
    calls: dict[tuple[CallKind, CallOutcome], int] = field(
        default_factory=lambda: dict.fromkeys(product(CALL_KINDS, CALL_OUTCOMES), 0)
    )
    call_durations: dict[CallKind, Durations] = field(
        default_factory=lambda: {kind: Durations() for kind in CALL_KINDS}
    )
    budget_waits: Durations = field(default_factory=Durations)
    breaker_openings: int = 0
    is_breaker_open: bool = False
    snapshots: int = 0
    snapshot_bytes: int = 0

    def count_request(
        self, kind: Kind, status: int, seconds: float, cache_result: CacheResult
    ) -> None:
        tally = self.requests[kind]
        tally.statuses[status // 100] += 1
        tally.durations.add(seconds)
        self.cache[cache_result] += 1

    def count_call(self, kind: CallKind, outcome: CallOutcome, seconds: float) -> None:
        self.calls[kind, outcome] += 1
        self.call_durations[kind].add(seconds)

    def note_breaker(self, *, is_open: bool) -> None:
        self.breaker_openings += is_open and not self.is_breaker_open
        self.is_breaker_open = is_open
