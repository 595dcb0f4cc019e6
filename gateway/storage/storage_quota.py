"""Disk quota of write records: per key, and in all.

Rules
- One key may fill a quarter. Of those that have most, the oldest completed records go first. An
  open one never goes, for it may be of a write that landed; nor does the newest of a key, whose
  request was answered just now: both go beyond the bounds where they have to.
- Completed records are counted as they are added, and measured when these seem to be too many: so
  they never are more than is known here.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gateway.errors import UNKNOWN_RETRY_SECONDS, QueueFull

SHARE = 4
"""One key may fill a quarter of it."""

SLACK = 32
"""One part in so many is freed beyond what has to be, so that it is not done each time."""


class _Open(NamedTuple):
    key_id: str
    size: int
    sent_at: float


class RecordRoom:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._per_key = max_bytes // SHARE
        self._completed: dict[str, int] = {}
        self._open: dict[str, _Open] = {}
        self._open_bytes: dict[str, int] = {}

    def check(self, key_id: str) -> None:
        """QueueFull if open records alone leave no room for one more of a key."""
        in_all = sum(self._open_bytes.values())
        if self._open_bytes.get(key_id, 0) >= self._per_key or in_all >= self._max_bytes:
            raise QueueFull(
                "Of too many writes with an Idempotency-Key it is not known yet what became of "
                "them. Repeat those first.",
                outcome="not_applied",
                retry_after_seconds=UNKNOWN_RETRY_SECONDS,
            )

    def opened(self, scope: str, key_id: str, size: int, sent_at: float) -> None:
        self.closed(scope)
        self._open[scope] = _Open(key_id, size, sent_at)
        self._open_bytes[key_id] = self._open_bytes.get(key_id, 0) + size

    def closed(self, scope: str) -> None:
        record = self._open.pop(scope, None)
        if record is not None:
            # A record of an earlier version may have no size.
            left = self._open_bytes.pop(record.key_id, 0) - record.size
            if left:
                self._open_bytes[record.key_id] = left

    def close_older(self, instant: float) -> None:
        """Open records that were sent before an instant count no more."""
        for scope in [scope for scope, each in self._open.items() if each.sent_at <= instant]:
            self.closed(scope)

    def completed(self, key_id: str, size: int) -> None:
        self._completed[key_id] = self._completed.get(key_id, 0) + size

    def measured(self, sizes: Mapping[str, int]) -> None:
        """The bytes of the completed records of each key, as they are."""
        self._completed = dict(sizes)

    @property
    def is_over(self) -> bool:
        """Whether something has to go, as far as is known without measuring."""
        sizes = self._used().values()
        is_full = sum(sizes) > self._max_bytes or max(sizes, default=0) > self._per_key
        return is_full and bool(self.kept())

    def kept(self) -> Mapping[str, int]:
        """The keys with too many bytes, and how many of completed records each may keep."""
        used = self._used()
        level = min(
            self._per_key - self._per_key // SLACK,
            _level(used.values(), self._max_bytes - self._max_bytes // SLACK),
        )
        return {
            key_id: max(0, level - self._open_bytes.get(key_id, 0))
            for key_id, size in used.items()
            if size > level and self._completed.get(key_id)
        }

    def _used(self) -> dict[str, int]:
        keys = self._completed.keys() | self._open_bytes.keys()
        return {
            key_id: self._completed.get(key_id, 0) + self._open_bytes.get(key_id, 0)
            for key_id in keys
        }


def _level(sizes: Iterable[int], in_all: int) -> int:
    """The most that each may have, so that all have no more than that together."""
    ascending = sorted(sizes)
    for rank, size in enumerate(ascending):
        share = in_all // (len(ascending) - rank)
        if size > share:
            return share
        in_all -= size
    return in_all + max(ascending, default=0)
