"""Caches of the encoded rows and answers of one snapshot (all rows of one read), and their age."""

from collections.abc import Hashable, Mapping, Sequence
from hashlib import sha256
from itertools import filterfalse
from operator import add
from typing import Protocol

import msgspec

from gateway.query.place import Place
from gateway.table.header import Selection, View
from gateway.table.table import Table

MAX_BYTES = 2_097_152
"""Maximum bytes of the cached answers of one snapshot."""

MAX_ROW_BYTES = 41_943_040
"""Maximum bytes of the cached encoded rows of one snapshot."""

MOST_GROWTH = 8
"""Maximum size of the cached encoded rows, as a multiple of the size of the displayed cells.

Encoded rows repeat the field names, which can be much longer than the cells.
"""

_LEAST_BYTES = 65_536
_NULL_BYTES = 8
"""Approximate JSON bytes of an empty cell, without its field name."""

OVERHEAD_BYTES = 500
"""Approximate memory of a cached answer besides its body, in bytes."""

BYTES_OF_TEXT = 40
"""Approximate memory of parsed parameters, in bytes for each byte of the query string.

Names in `keys` take 26 bytes and operands of `where` up to 55, links to other pages 8.
"""

DIGEST_BYTES = 12

PLACE_BYTES = 16
"""Bytes of a row's two list entries in `_Kept`, allocated even if the row is not cached."""

ROW_OVERHEAD_BYTES = 90
"""Approximate memory of a cached row besides its JSON, including its digest."""

ENTRY_BYTES = 130
"""Additional bytes of a cached row in dictionaries, which hold selected fields and long tables."""

MAX_PLACES = 150_000
"""Maximum number of rows of a table whose encoded rows are cached in lists, not dictionaries.

Allocating the lists for this number of rows takes about 1 ms.
"""


class Paging(msgspec.Struct, frozen=True, gc=False):
    """Data for the links of one page of a list: next page, total and cursor position."""

    has_next: bool
    total: int | None = None
    place: Place | None = None
    """Position of the page's last row. None on the last page, or if the query has `skip`."""


class Encoded(msgspec.Struct, frozen=True):
    """Encoded body of a page or of a single record, with its quoted ETag."""

    body: bytes
    tag: str
    paging: Paging = Paging(False)
    """Paging of a page. A single record has the default."""
    links: dict[bytes, bytes] = {}
    """Cache of this page's `Link` headers by request parameters, API key and worksheet title.

    Keys and values are bytes, which the garbage collector does not trace.
    """
    rows: int = 0
    """Number of rows in the body."""


class Freshness(msgspec.Struct, frozen=True):
    """Age and remaining lifetime of the cached rows that an answer was made from."""

    age_seconds: float
    """Seconds since the gateway began to read these rows from Google."""
    ttl_seconds: float
    """Seconds until the cached rows expire, or a negative number if they have expired."""
    is_hit: bool
    """True if the request did not wait for a call to Google."""
    reason: str = ""
    """One word that says why the gateway served expired rows, or "" if the rows are fresh."""
    is_alone: bool = False
    """True if this process cannot see writes of other processes, so these writes can be missing."""


class Served(msgspec.Struct, frozen=True):
    """An encoded answer, with the age of its rows."""

    encoded: Encoded
    freshness: Freshness


class Encoder(Protocol):
    """Encoder of rows and pages in one JSON shape.

    Caches use the encoder object as part of their keys, so each JSON shape has exactly one encoder
    object.
    """

    @property
    def empty(self) -> object:
        """Value of an empty cell in the answer, or `msgspec.UNSET` to leave the field out."""

    @property
    def is_typed(self) -> bool:
        """True if cells are typed values (`gateway.table.typed`), False for displayed texts."""

    def row(self, row: object, /) -> bytes:
        """Encode a row, made by `gateway.table.table.row_object`, to one JSON object."""

    def page(self, rows: "Bodies", paging: Paging, cursor: str | None = None) -> Encoded:
        """Join encoded rows to the body of a page, and make its ETag.

        `cursor` is "" after the last page, and None if the request did not ask for a cursor.
        """


class Bodies(msgspec.Struct, frozen=True):
    """Encoded rows, and the digests of all these rows in one byte string.

    Each digest has `DIGEST_BYTES` bytes. The ETag of a page is a digest of these digests.
    """

    rows: Sequence[bytes]
    digests: bytes


def with_digests(rows: list[bytes], covered: list[bytes] | None = None) -> Bodies:
    """Return encoded rows with digests of the elements of `covered` (one per row), or of `rows`."""
    covered = rows if covered is None else covered
    return Bodies(rows, b"".join([sha256(each).digest()[:DIGEST_BYTES] for each in covered]))


TypedColumns = Mapping[int, Sequence[object]]
"""Typed values by column number (from 0). Each sequence begins with the header row."""

_Way = tuple[Encoder, Selection | None, frozenset[str] | None]
"""Cache key of encoded rows: encoder, selected fields, and the field names that a key can read."""


class _Sparse(dict[int, bytes]):
    """Encoded rows by position (0 is the header row), or b"" for a row that is not cached."""

    def __missing__(self, _place: int) -> bytes:
        return b""


class _Kept(msgspec.Struct):
    """Cached rows and digests in one encoding, by position, or b"" for a row that is not cached.

    Rows with all fields are in lists, which are faster. Rows with selected fields are in
    dictionaries, because clients use many selections, and a dictionary needs memory only for
    requested rows.
    """

    rows: list[bytes] | _Sparse
    digests: list[bytes] | _Sparse
    byte_count: int

    def at(self, places: Sequence[int]) -> Bodies:
        if isinstance(self.rows, list) and isinstance(places, range) and places.step == 1:
            run = slice(places.start, places.stop)
            return Bodies(self.rows[run], b"".join(self.digests[run]))  # type: ignore[index, arg-type]
        digests = b"".join(map(self.digests.__getitem__, places))
        return Bodies([*map(self.rows.__getitem__, places)], digests)


class EncodedRows:
    """Cache of one table's encoded rows, filled when a request needs a row.

    Above `max_bytes`, the cache drops all rows of one encoding: the encoding that has not cached a
    new row for the longest time.
    """

    def __init__(self, table: Table, max_bytes: int) -> None:
        self._table = table
        self._max_bytes = max_bytes
        self._kept: dict[_Way, _Kept] = {}
        self.byte_count = 0

    def get(
        self,
        encoder: Encoder,
        keys: Selection | None,
        view: View,
        places: Sequence[int],
        typed: TypedColumns | None = None,
    ) -> Bodies:
        """Return the encoded rows at the positions `places`, with the fields of `keys` (None: all).

        Position 0 is the header row, and all positions must exist. API keys that can read the same
        columns share cached rows. Raises UnknownField for a selected field that `view` lacks.
        Raises Unbuilt, with the work to do first, if typed columns are neither in `typed` nor in
        the table.
        """
        way = (encoder, keys, view.readable)
        kept = self._kept.get(way)
        if kept is not None:
            found = kept.at(places)
            if all(found.rows):
                return found
        table = self._table
        selected = view.select(keys)  # raises UnknownField
        if not places:
            return Bodies((), b"")
        if encoder.is_typed and typed is None:
            typed = table.typed_columns(selected)
        if kept is None:
            names = () if keys is None else (*keys.names, *keys.checked, keys.whole)
            own_bytes = OVERHEAD_BYTES + ROW_OVERHEAD_BYTES * len(names) + sum(map(len, names))
            kept = _Kept(_Sparse(), _Sparse(), own_bytes)
            if keys is None and table.size <= MAX_PLACES:
                places_of_all = [b""] * table.size
                kept = _Kept(places_of_all, [*places_of_all], own_bytes + PLACE_BYTES * table.size)
        missing = [*filterfalse(kept.rows.__getitem__, dict.fromkeys(places))]
        rows = [table.header.row + place for place in missing]
        bodies = [*map(encoder.row, table.row_objects(rows, selected, encoder.empty, typed))]
        covered = bodies
        if typed is not None:  # the ETag must change with displayed texts, too
            covered = [*map(add, bodies, map(encoder.row, table.displays(rows, typed)))]
        for place, body, each in zip(missing, bodies, covered, strict=True):
            kept.rows[place] = body
            kept.digests[place] = sha256(each).digest()[:DIGEST_BYTES]
        overhead = ROW_OVERHEAD_BYTES + ENTRY_BYTES * isinstance(kept.rows, _Sparse)
        if way in self._kept:
            self.byte_count -= self._kept.pop(way).byte_count
        kept.byte_count += sum(map(len, bodies)) + overhead * len(bodies)
        if kept.byte_count <= self._max_bytes:
            while self.byte_count + kept.byte_count > self._max_bytes:
                self.byte_count -= self._kept.pop(next(iter(self._kept))).byte_count
            self._kept[way] = kept
            self.byte_count += kept.byte_count
        return kept.at(places)


class Answers:
    """Cache of the encoded answers of one snapshot. Above `max_bytes`, it drops all answers."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[Hashable, Encoded] = {}
        self._byte_count = 0
        self.get = self._kept.get
        """Return a cached answer, or None. `key` must contain all inputs besides the rows."""

    def keep(self, key: Hashable, encoded: Encoded, text_bytes: int = 0) -> Encoded:
        """Cache an answer and return it.

        `text_bytes` is the length of the query string, which stands for the memory of `key` and of
        the answer's links.
        """
        byte_count = len(encoded.body) + OVERHEAD_BYTES + BYTES_OF_TEXT * text_bytes
        if byte_count > self._max_bytes:
            return encoded
        if self._byte_count + byte_count > self._max_bytes:
            self._kept.clear()
            self._byte_count = 0
        self._kept[key] = encoded
        self._byte_count += byte_count
        return encoded


class Encodings:
    """Caches of a snapshot's answers and rows, whose maximum bytes grow with the worksheet."""

    def __init__(self, table: Table, displayed_bytes: int) -> None:
        answer_bytes = min(MAX_BYTES, _LEAST_BYTES + 4 * displayed_bytes)
        names = table.header.cells
        one_row = PLACE_BYTES + ROW_OVERHEAD_BYTES + sum(map(len, names))
        one_row += _NULL_BYTES * len(names) + displayed_bytes // max(1, table.last_row)
        all_rows = min(one_row * table.last_row, MOST_GROWTH * displayed_bytes)
        row_bytes = min(MAX_ROW_BYTES, _LEAST_BYTES + all_rows)
        self.answers = Answers(answer_bytes)
        self.rows = EncodedRows(table, row_bytes)
        self.max_bytes = answer_bytes + row_bytes
