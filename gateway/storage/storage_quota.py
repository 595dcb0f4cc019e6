"""Disk quota of write records, per key and in total.

Rules:
- One key may use a quarter. The oldest completed records of the keys with most bytes are deleted
  first. Open records are never deleted, because their write may have been applied; nor is a key's
  newest record, whose request was just answered. Both may exceed the quota.
- Completed records are counted as they are added, and measured when the count exceeds the quota. So
  the count is never too low.
"""

from collections.abc import Iterable, Mapping

from gateway.errors import UNKNOWN_RETRY_SECONDS, QueueFull

SHARE = 4
"""One key may use this fraction."""

SLACK = 32
"""This fraction more than needed is freed, so that it is not needed each time."""


class RecordQuota:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._per_key = max_bytes // SHARE
        self._used: dict[str, int] = {}
        """Bytes of the records of each key."""
        self._open: dict[str, int] = {}
        """Bytes of its open records."""

    def check(self, key_id: str) -> None:
        """Raise QueueFull if open records alone leave no space for one more of this key."""
        in_all = sum(self._open.values())
        if self._open.get(key_id, 0) >= self._per_key or in_all >= self._max_bytes:
            raise QueueFull(
                "Of too many writes with an Idempotency-Key it is not known yet what became of "
                "them. Repeat those first.",
                outcome="not_applied",
                retry_after_seconds=UNKNOWN_RETRY_SECONDS,
            )

    def opened(self, key_id: str, size: int) -> None:
        """Count an open record; negative if it is one no more."""
        self._open[key_id] = self._open.get(key_id, 0) + size
        self._used[key_id] = self._used.get(key_id, 0) + size
        for counted in (self._open, self._used):
            if not counted[key_id]:
                del counted[key_id]

    def completed(self, key_id: str, size: int) -> None:
        """Count a completed record."""
        self._used[key_id] = self._used.get(key_id, 0) + size

    def measured(self, sizes: Mapping[str, int]) -> None:
        """Set the measured bytes of each key's completed records."""
        self._used = self._open.copy()
        for key_id, size in sizes.items():
            self.completed(key_id, size)

    @property
    def is_over(self) -> bool:
        """True if records must be deleted, according to the counts."""
        sizes = self._used.values()
        is_full = sum(sizes) > self._max_bytes or max(sizes, default=0) > self._per_key
        return is_full and bool(self.limits())

    def limits(self) -> Mapping[str, int]:
        """Keys over their quota, and how many bytes of completed records each may keep."""
        level = min(
            self._per_key - self._per_key // SLACK,
            _level(self._used.values(), self._max_bytes - self._max_bytes // SLACK),
        )
        limits: dict[str, int] = {}
        for key_id, size in self._used.items():
            open_bytes = self._open.get(key_id, 0)
            if size > level and size > open_bytes:
                limits[key_id] = max(0, level - open_bytes)
        return limits


def _level(sizes: Iterable[int], in_all: int) -> int:
    """The largest equal limit per key that keeps the total within `in_all`."""
    ascending = sorted(sizes)
    for rank, size in enumerate(ascending):
        share = in_all // (len(ascending) - rank)
        if size > share:
            return share
        in_all -= size
    return in_all + max(ascending, default=0)
