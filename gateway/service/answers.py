"""Answers as bytes, kept with the snapshot that they were made of."""

from collections.abc import Hashable
from typing import NamedTuple

from gateway.service.freshness import Freshness

MAX_BYTES = 2_097_152
"""What the kept answers of one snapshot take at most."""

OVERHEAD_BYTES = 500
"""About what keeping an answer takes beside its body: its key, its tag, its place."""


class Encoded(NamedTuple):
    """A page or record as the web layer encodes it, and its entity tag, quotes and all."""

    body: bytes
    tag: str


class Served(NamedTuple):
    """What is answered, and how fresh it is."""

    encoded: Encoded
    freshness: Freshness


class Answers:
    """The answers made of one snapshot; when they take too much, all make room for new ones."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[Hashable, Encoded] = {}
        self._byte_count = 0

    def get(self, key: Hashable) -> Encoded | None:
        """The kept answer; the key says all that it depends on beside the snapshot."""
        return self._kept.get(key)

    def keep(self, key: Hashable, encoded: Encoded) -> Encoded:
        """Keep an answer, and give it back."""
        byte_count = len(encoded.body) + OVERHEAD_BYTES
        if self._byte_count + byte_count > self._max_bytes:
            self._kept.clear()
            self._byte_count = 0
        if byte_count <= self._max_bytes:
            self._kept[key] = encoded
            self._byte_count += byte_count
        return encoded
