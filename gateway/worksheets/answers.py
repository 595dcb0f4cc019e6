"""Encoded answers and rows, cached with a snapshot, and the freshness of answers."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import filterfalse
from operator import add
from typing import Protocol

import msgspec

from gateway.query.place import Place
from gateway.table.header import ColumnGrant, Selection
from gateway.table.table import Table

MAX_BYTES = 2_097_152
"""Upper bound for the cached answers of one snapshot."""

MAX_ROW_BYTES = 41_943_040
"""Upper bound for the cached rows of one snapshot."""

MOST_GROWTH = 8
"""Upper bound of encoded rows relative to the cells: names of fields are long, cells short."""

_LEAST_BYTES = 65_536
_NULL_BYTES = 8
"""JSON of an empty cell, without its name."""

OVERHEAD_BYTES = 500
"""Approximate memory of a cached answer without its body."""

DIGEST_BYTES = 12

PLACE_BYTES = 16
"""Memory of a row's place in lists of all rows, cached or not: two pointers."""

ROW_OVERHEAD_BYTES = 90
"""Approximate memory of a cached row without its bytes, and of its digest."""

ENTRY_BYTES = 130
"""Memory of a row's entries in dictionaries, and of its number."""

MAX_PLACES = 150_000
"""Maximum number of rows for lists of all rows, which take a millisecond to make."""


class Paging(msgspec.Struct, frozen=True, gc=False):
    """Position of a page in a list."""

    has_next: bool
    total: int | None = None
    place: Place | None = None
    """Place behind the page; None without a next page, and for pages by `skip`."""


class Encoded(msgspec.Struct, frozen=True):
    """A page or record as the web layer encodes it, and its quoted entity tag."""

    body: bytes
    tag: str
    paging: Paging = Paging(False)
    """Position of a page; the default for a record."""
    links: dict[bytes, bytes] = {}
    """`Link` headers of a page by everything else that they depend on: parameters, key, title.

    Bytes, because the garbage collector does not trace them.
    """
    rows: int = 0
    """The number of rows in it."""


class Freshness(msgspec.Struct, frozen=True):
    """Age and remaining lifetime of the rows behind an answer."""

    age_seconds: float
    """Time since the read behind the answer began."""
    ttl_seconds: float
    """Time until the next read; negative for a stale answer."""
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
    """An encoding. Cached answers are keyed by it, so each encoding must be one object."""

    @property
    def empty(self) -> object:
        """The value of an empty cell; UNSET to leave it out."""

    @property
    def is_typed(self) -> bool:
        """True if cells are typed values (`gateway.table.typed`), not displayed texts."""

    def rows(self, rows: Iterable[object]) -> list[bytes]:
        """Encoded rows (`gateway.table.record.row_object`), as in a page or alone."""

    def page(self, rows: "Bodies", paging: Paging, cursor: str | None = None) -> Encoded:
        """Page of such rows; its `cursor` is "" after the last page, None if not requested."""


class Bodies(msgspec.Struct, frozen=True):
    """Encoded rows, and a digest of `DIGEST_BYTES` for each, from which a page's tag is made."""

    rows: Sequence[bytes]
    digests: bytes


def with_digests(rows: list[bytes], covered: list[bytes] | None = None) -> Bodies:
    """Encoded rows with digests of `covered`, by default of the rows themselves."""
    covered = rows if covered is None else covered
    return Bodies(rows, b"".join([sha256(each).digest()[:DIGEST_BYTES] for each in covered]))


TypedColumns = Mapping[int, Sequence[object]]
"""The values of columns in typed answers, from the header down."""

_Way = tuple[Encoder, Selection | None, frozenset[str] | None]
"""An encoding of rows: its encoder, the selected fields, and the names that a key sees."""


class _Sparse(dict[int, bytes]):
    """Rows by place; b"" for a row that is not cached, as in a list of all rows."""

    def __missing__(self, _place: int) -> bytes:
        return b""


class _Kept(msgspec.Struct):
    """Rows and their digests in one encoding, by place; b"" for a row that is not cached.

    Rows with all fields are in lists, which are faster. Clients choose among many selections, whose
    rows are in dictionaries: their memory depends on the requested rows alone.
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
    """Encoded rows of one table by encoding, cached when first requested.

    If they exceed the limit, the encodings are dropped whose rows were cached longest ago.
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
        grant: ColumnGrant,
        places: Sequence[int],
        typed: TypedColumns | None = None,
    ) -> Bodies:
        """Encoded rows at these places, with the selected fields. Raises UnknownField.

        The rows must exist. They are cached for all callers who see the same columns and request
        the same fields. Typed rows that are not cached need the `typed` columns: raises Unbuilt
        with their work.
        """
        way = (encoder, keys, grant.readable)
        kept = self._kept.get(way)
        if kept is not None:
            found = kept.at(places)
            if all(found.rows):
                return found
        table = self._table
        selected = table.header.seen_with(grant).select(keys)  # raises UnknownField
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
        bodies = encoder.rows(table.row_objects(rows, selected, encoder.empty, typed))
        covered = bodies
        if typed is not None:  # a tag covers the displayed texts, too
            covered = [*map(add, bodies, encoder.rows(table.displays(rows, typed)))]
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
        names = table.header.cells
        one_row = PLACE_BYTES + ROW_OVERHEAD_BYTES + sum(map(len, names))
        one_row += _NULL_BYTES * len(names) + displayed_bytes // max(1, table.last_row)
        all_rows = min(one_row * table.last_row, MOST_GROWTH * displayed_bytes)
        row_bytes = min(MAX_ROW_BYTES, _LEAST_BYTES + all_rows)
        self.answers = Answers(answer_bytes)
        self.rows = EncodedRows(table, row_bytes)
        self.max_bytes = answer_bytes + row_bytes
