"""Answers as bytes, whole ones and their rows, cached with a snapshot; and their freshness."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import filterfalse
from typing import NamedTuple, Protocol

from gateway.table.record import Record

MAX_BYTES = 2_097_152
"""Upper bound for the cached answers of one snapshot."""

MAX_ROW_BYTES = 33_554_432
"""Upper bound for the cached rows of one snapshot."""

_LEAST_BYTES = 65_536

OVERHEAD_BYTES = 500
"""Approximate memory of a cached answer without its body."""

ROW_OVERHEAD_BYTES = 100
"""Approximate memory of a cached row without its bytes."""


class Encoded(NamedTuple):
    """A page or record as the web layer encodes it, and its entity tag, quotes and all."""

    body: bytes
    tag: str


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
    is_alone: bool = False
    """True if writes of other processes may be missing."""

    def later(self, seconds: float) -> "Freshness":
        """The freshness some seconds later."""
        age_seconds, ttl_seconds, is_hit, reason, is_alone = self
        return Freshness(age_seconds + seconds, ttl_seconds - seconds, is_hit, reason, is_alone)


class Served(NamedTuple):
    """An encoded answer and its freshness."""

    encoded: Encoded
    freshness: Freshness


class Encoder(Protocol):
    """An encoding; cached answers are keyed by it, so it must be one object."""

    def rows(self, records: Iterable[Record]) -> list[bytes]:
        """Encoded records, as in a page or alone."""

    def page(self, rows: Sequence[bytes], *, has_next: bool, total: int | None) -> Encoded:
        """A page of such rows."""


class EncodedRows:
    """Encoded rows of one snapshot, by encoding and row number."""

    def __init__(self, max_bytes: int = MAX_ROW_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[Hashable, dict[int, bytes]] = {}
        self._byte_count = 0

    def get(
        self, way: Hashable, rows: Sequence[int], make: Callable[[Sequence[int]], Iterable[bytes]]
    ) -> Sequence[bytes]:
        """The rows in order; `make` encodes those that are not cached."""
        kept = self._kept.get(way, {})
        missing = [*filterfalse(kept.__contains__, dict.fromkeys(rows))]
        if not missing:
            return [*map(kept.__getitem__, rows)]
        made = dict(zip(missing, make(missing), strict=True))
        byte_count = sum(map(len, made.values())) + ROW_OVERHEAD_BYTES * len(made)
        if self._byte_count + byte_count > self._max_bytes:
            self._kept = {}
            self._byte_count = 0
        if byte_count <= self._max_bytes:
            self._kept.setdefault(way, {}).update(made)
            self._byte_count += byte_count
        return [made[row] if row in made else kept[row] for row in rows]


class Answers:
    """Encoded answers of one snapshot. If they exceed the limit, all are dropped."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[Hashable, Encoded] = {}
        self._byte_count = 0

    def get(self, key: Hashable) -> Encoded | None:
        """The cached answer; `key` holds everything else that it depends on."""
        return self._kept.get(key)

    def keep(self, key: Hashable, encoded: Encoded) -> Encoded:
        """Cache an answer and return it."""
        byte_count = len(encoded.body) + OVERHEAD_BYTES
        if self._byte_count + byte_count > self._max_bytes:
            self._kept.clear()
            self._byte_count = 0
        if byte_count <= self._max_bytes:
            self._kept[key] = encoded
            self._byte_count += byte_count
        return encoded


class Encodings:
    """Cached answers and rows of one snapshot; their bounds grow with the worksheet."""

    def __init__(self, displayed_bytes: int) -> None:
        answer_bytes = min(MAX_BYTES, _LEAST_BYTES + 4 * displayed_bytes)
        row_bytes = min(MAX_ROW_BYTES, _LEAST_BYTES + 2 * displayed_bytes)
        self.answers = Answers(answer_bytes)
        self.rows = EncodedRows(row_bytes)
        self.max_bytes = answer_bytes + row_bytes
