"""Cached answers of a snapshot as bytes: whole answers, and their rows."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, Protocol

from gateway.table.record import Record
from gateway.worksheets.freshness import Freshness

MAX_BYTES = 2_097_152
"""What the kept answers of one snapshot take at most, however large its worksheet."""

MAX_ROW_BYTES = 33_554_432
"""What the kept rows of one snapshot take at most, however large its worksheet."""

_LEAST_BYTES = 65_536

OVERHEAD_BYTES = 500
"""About what keeping an answer takes beside its body: its key, its tag, its place."""

ROW_OVERHEAD_BYTES = 100
"""About what keeping a row takes beside its bytes."""


class Encoded(NamedTuple):
    """A page or record as the web layer encodes it, and its entity tag, quotes and all."""

    body: bytes
    tag: str


class Served(NamedTuple):
    """What is answered, and how fresh it is."""

    encoded: Encoded
    freshness: Freshness


class Encoder(Protocol):
    """A way of encoding; what it makes is kept by it, so that one way is one object."""

    def rows(self, records: Iterable[Record]) -> list[bytes]:
        """Records, each as it stands in a page or alone."""

    def page(self, rows: Sequence[bytes], *, has_next: bool, total: int | None) -> Encoded:
        """A page of such rows."""


class EncodedRows:
    """The rows of one snapshot as they were encoded, by number, for each way of doing that."""

    def __init__(self, max_bytes: int = MAX_ROW_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[Hashable, dict[int, bytes]] = {}
        self._byte_count = 0

    def get(
        self, way: Hashable, rows: Sequence[int], make: Callable[[Sequence[int]], Iterable[bytes]]
    ) -> Sequence[bytes]:
        """The rows, in their order; `make` encodes those that are not kept."""
        kept = self._kept.get(way, {})
        found = [kept.get(row) for row in rows]
        if None in found:
            missing = [row for row in dict.fromkeys(rows) if row not in kept]
            made = dict(zip(missing, make(missing), strict=True))
            self._keep(way, made)
            return [made.get(row) or kept[row] for row in rows]
        return [each for each in found if each is not None]

    def _keep(self, way: Hashable, made: dict[int, bytes]) -> None:
        byte_count = sum(map(len, made.values())) + ROW_OVERHEAD_BYTES * len(made)
        if self._byte_count + byte_count > self._max_bytes:
            self._kept = {}
            self._byte_count = 0
        if byte_count <= self._max_bytes:
            self._kept.setdefault(way, {}).update(made)
            self._byte_count += byte_count


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


class Encodings:
    """What is kept encoded of one snapshot, in proportion to what the worksheet takes."""

    def __init__(self, displayed_bytes: int) -> None:
        answer_bytes = min(MAX_BYTES, _LEAST_BYTES + 4 * displayed_bytes)
        row_bytes = min(MAX_ROW_BYTES, _LEAST_BYTES + 2 * displayed_bytes)
        self.answers = Answers(answer_bytes)
        self.rows = EncodedRows(row_bytes)
        self.max_bytes = answer_bytes + row_bytes
