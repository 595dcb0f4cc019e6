"""Answers as bytes, whole ones and their rows, cached with a snapshot; and their freshness."""

from collections.abc import Hashable, Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple, Protocol

import msgspec

from gateway.table.header import ColumnGrant, Selection
from gateway.table.table import FIRST_DATA_ROW, Table

MAX_BYTES = 2_097_152
"""Upper bound for the cached answers of one snapshot."""

MAX_ROW_BYTES = 33_554_432
"""Upper bound for the cached rows of one snapshot."""

_LEAST_BYTES = 65_536
_NULL_BYTES = 8
"""JSON of an empty cell, without its name."""

OVERHEAD_BYTES = 500
"""Approximate memory of a cached answer without its body."""

DIGEST_BYTES = 12

ROW_OVERHEAD_BYTES = 60
"""Approximate memory of a cached row without its bytes, and of its digest."""

MAX_BLOCK_ROWS = 256
BLOCK_BYTES = 49_152
"""Bounds of a block of encoded rows; about 64 rows of 10 columns, made in 50 us."""

MOST_SINGLY = 16
"""Rows of a block that are encoded singly before the block is made."""

MADE_AT_ONCE = 2
"""Blocks that one answer makes for rows that are no range."""


class Encoded(msgspec.Struct, frozen=True):
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


class Served(msgspec.Struct, frozen=True):
    """An encoded answer and its freshness."""

    encoded: Encoded
    freshness: Freshness


class Encoder(Protocol):
    """An encoding; cached answers are keyed by it, so it must be one object."""

    @property
    def empty(self) -> object:
        """The value of an empty cell; UNSET to leave it out."""

    def rows(self, rows: Iterable[object]) -> list[bytes]:
        """Encoded rows (`gateway.table.record.row_object`), as in a page or alone."""

    def page(self, rows: "Bodies", *, has_next: bool, total: int | None) -> Encoded:
        """A page of such rows."""


class Bodies(NamedTuple):
    """Encoded rows, and the digests of each, of `DIGEST_BYTES`.

    The tag of a page is made from digests: those of a block are computed once, for many pages.
    """

    rows: list[bytes]
    digests: bytes


def with_digests(rows: list[bytes]) -> Bodies:
    return Bodies(rows, b"".join([sha256(row).digest()[:DIGEST_BYTES] for row in rows]))


class EncodedRows:
    """Encoded rows of one table by encoding, in blocks of consecutive rows.

    A block is made for a page of consecutive rows, or once its rows were encoded singly so often
    that this took as long. If the blocks exceed the limit, all are dropped.
    """

    def __init__(self, table: Table, max_bytes: int, block_rows: int) -> None:
        self._table = table
        self._max_bytes = max_bytes
        self._block_rows = block_rows
        self._kept: dict[Hashable, dict[int, Bodies | int]] = {}
        """By encoding and number of the block: its rows, or how many were encoded singly."""
        self.byte_count = 0

    def get(
        self, encoder: Encoder, keys: Selection | None, grant: ColumnGrant, rows: Sequence[int]
    ) -> Bodies:
        """The selected fields of rows, which exist, in this order. Raises UnknownField.

        They are cached for all callers who see the same columns and request the same fields.
        """
        way = (encoder, keys, grant.readable)
        kept, size = self._kept.get(way, {}), self._block_rows
        found: list[bytes] = []
        digests: list[bytes] = []
        if isinstance(rows, range):
            first, end = rows.start - FIRST_DATA_ROW, rows.stop - FIRST_DATA_ROW
            for number in range(first // size, -(-end // size)):
                block = kept.get(number, 0)
                if isinstance(block, int):
                    block = self._made(encoder, keys, grant, number)
                start, stop = max(first - number * size, 0), end - number * size
                found += block.rows[start:stop]
                digests.append(block.digests[start * DIGEST_BYTES : stop * DIGEST_BYTES])
        else:
            singly: dict[int, int] = {}
            """Rows without a block, by their position in the answer."""
            made = 0
            for row in rows:
                number, at = divmod(row - FIRST_DATA_ROW, size)
                block = kept.get(number, 0)
                if isinstance(block, int) and block >= MOST_SINGLY and made < MADE_AT_ONCE:
                    block = kept[number] = self._made(encoder, keys, grant, number)
                    made += 1
                if not isinstance(block, int):
                    found.append(block.rows[at])
                    digests.append(block.digests[at * DIGEST_BYTES : (at + 1) * DIGEST_BYTES])
                    continue
                singly[len(found)] = row
                found.append(b"")
                digests.append(b"")
                if not block:
                    self._keep(way, number, 1, ROW_OVERHEAD_BYTES)
                kept[number] = block + 1
            if singly:
                bodies = self._encoded(encoder, keys, grant, [*singly.values()])
                for position, body in zip(singly, bodies, strict=True):
                    found[position] = body
                    digests[position] = sha256(body).digest()[:DIGEST_BYTES]
        if not rows and keys is not None:
            self._encoded(encoder, keys, grant, rows)  # raises UnknownField, as it does for rows
        return Bodies(found, b"".join(digests))

    def _made(
        self, encoder: Encoder, keys: Selection | None, grant: ColumnGrant, number: int
    ) -> Bodies:
        first = FIRST_DATA_ROW + number * self._block_rows
        rows = range(first, min(first + self._block_rows, self._table.last_row + 1))
        block = with_digests(self._encoded(encoder, keys, grant, rows))
        byte_count = sum(map(len, block.rows)) + ROW_OVERHEAD_BYTES * len(rows)
        self._keep((encoder, keys, grant.readable), number, block, byte_count)
        return block

    def _encoded(
        self, encoder: Encoder, keys: Selection | None, grant: ColumnGrant, rows: Sequence[int]
    ) -> list[bytes]:
        selected = self._table.header.seen_with(grant).select(keys)
        return encoder.rows(self._table.row_objects(rows, selected, encoder.empty))

    def _keep(self, way: Hashable, number: int, block: Bodies | int, byte_count: int) -> None:
        if self.byte_count + byte_count > self._max_bytes:
            self._kept, self.byte_count = {}, 0
        if byte_count <= self._max_bytes:
            self._kept.setdefault(way, {})[number] = block
            self.byte_count += byte_count


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

    def __init__(self, table: Table, displayed_bytes: int) -> None:
        answer_bytes = min(MAX_BYTES, _LEAST_BYTES + 4 * displayed_bytes)
        row_bytes = min(MAX_ROW_BYTES, _LEAST_BYTES + 2 * displayed_bytes)
        names = table.header.cells
        one_row = sum(map(len, names)) + _NULL_BYTES * len(names)
        one_row += displayed_bytes // max(1, table.last_row)
        block_rows = max(1, min(MAX_BLOCK_ROWS, BLOCK_BYTES // max(1, one_row)))
        self.answers = Answers(answer_bytes)
        self.rows = EncodedRows(table, row_bytes, block_rows)
        self.max_bytes = answer_bytes + row_bytes
