"""Disk quota of write records, per key and in total.

Rules:
- One key may use a quarter. The oldest completed records of the keys with most bytes are deleted
  first. Open records are never deleted, because their write may have been applied; nor is a key's
  newest record, whose request was just answered. Both may exceed the quota.
- Completed records are counted as they are added, and measured when the count exceeds the quota. So
  the count is never too low.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gateway.errors import UNKNOWN_RETRY_SECONDS, QueueFull

SHARE = 4
"""One key may use this fraction."""

SLACK = 32
"""This fraction more than needed is freed, so that it is not needed each time."""


class _Open(NamedTuple):
    key_id: str
    size: int
    sent_at: float


class RecordQuota:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._per_key = max_bytes // SHARE
        self._completed: dict[str, int] = {}
        self._open: dict[str, _Open] = {}
        self._open_bytes: dict[str, int] = {}

    def check(self, key_id: str) -> None:
        """Raise QueueFull if open records alone leave no space for one more of this key."""
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
            # Records of an earlier version may have no size.
            left = self._open_bytes.pop(record.key_id, 0) - record.size
            if left:
                self._open_bytes[record.key_id] = left

    def close_older(self, instant: float) -> None:
        """Stop counting open records that were sent before a time."""
        for scope in [scope for scope, each in self._open.items() if each.sent_at <= instant]:
            self.closed(scope)

    def completed(self, key_id: str, size: int) -> None:
        self._completed[key_id] = self._completed.get(key_id, 0) + size

    def measured(self, sizes: Mapping[str, int]) -> None:
        """Set the measured bytes of each key's completed records."""
        self._completed = dict(sizes)

    @property
    def is_over(self) -> bool:
        """True if records must be deleted, according to the counts."""
        sizes = self._used().values()
        is_full = sum(sizes) > self._max_bytes or max(sizes, default=0) > self._per_key
        return is_full and bool(self.limits())

    def limits(self) -> Mapping[str, int]:
        """Keys over their quota, and how many bytes of completed records each may keep."""
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
    """The largest equal limit per key that keeps the total within `in_all`."""
    ascending = sorted(sizes)
    for rank, size in enumerate(ascending):
        share = in_all // (len(ascending) - rank)
        if size > share:
            return share
        in_all -= size
    return in_all + max(ascending, default=0)
