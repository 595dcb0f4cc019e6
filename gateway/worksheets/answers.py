"""Encoded answers and rows, cached with a snapshot, and the freshness of answers."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import sha256
from operator import add
from typing import Protocol

import msgspec

from gateway.query.place import Place
from gateway.table.header import ColumnGrant, Selection
from gateway.table.table import Table

MAX_BYTES = 2_097_152
"""Upper bound for the cached answers of one snapshot."""

MAX_ROW_BYTES = 33_554_432
"""Upper bound for the cached rows of one snapshot."""

MOST_GROWTH = 6
"""Upper bound of encoded rows relative to the cells: names of fields are long, cells short."""

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

MOST_OF_BLOCK = 8 * BLOCK_BYTES
"""Maximum characters of a cached block, and maximum bytes; more than usual, for long rows."""

_DIGESTS = [slice(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES) for at in range(MAX_BLOCK_ROWS)]
"""The place of each row's digest in the digests of its block."""

NEVER = -1
"""`Bodies.singly` of a block that is too long: only requested rows are encoded."""

MOST_SINGLY = 16
"""Rows of a block that are encoded singly before the block is made."""

PART_FREED = 8
"""Divisor of the limit: the part that is freed at once, so that blocks are rarely dropped."""

MADE_AT_ONCE = 2
"""Maximum blocks that one answer makes if its rows are not consecutive."""


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
    """Encoded rows, and a digest of `DIGEST_BYTES` for each.

    The tag of a page is made from digests. A block computes its digests once, for many pages.
    """

    rows: Sequence[bytes] = ()
    digests: bytes = b""
    singly: int = 0
    """Number of rows that were encoded singly because the block is not made, or NEVER."""

    def part(self, start: int, end: int) -> "Bodies":
        digests = self.digests[start * DIGEST_BYTES : end * DIGEST_BYTES]
        return Bodies(self.rows[start:end], digests)


_NOT_MADE = Bodies()
_NEVER_MADE = Bodies(singly=NEVER)


def with_digests(rows: list[bytes], covered: list[bytes] | None = None) -> Bodies:
    """Encoded rows with digests of `covered`, by default of the rows themselves."""
    covered = rows if covered is None else covered
    return Bodies(rows, b"".join([sha256(each).digest()[:DIGEST_BYTES] for each in covered]))


TypedColumns = Mapping[int, Sequence[object]]
"""The values of columns in typed answers, from the header down."""

_Way = tuple[Encoder, Selection | None, frozenset[str] | None]
"""An encoding of rows: its encoder, the selected fields, and the names that a key sees."""


class EncodedRows:
    """Encoded rows of one table by encoding, in blocks of consecutive rows.

    A block is made for a page of consecutive rows, or once its rows were encoded singly so often
    that this took as long; never if it is long. If the blocks exceed the limit, all are dropped.
    """

    def __init__(self, table: Table, max_bytes: int, block_rows: int) -> None:
        self._table = table
        self._first_row = table.header.row + 1
        self._max_bytes = max_bytes
        self._most_of_block = min(MOST_OF_BLOCK, max_bytes // 4)
        self._block_rows = block_rows
        self._kept: dict[_Way, dict[int, Bodies]] = {}
        """Blocks by encoding and number."""
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
        kept, size = self._kept.get(way, {}), self._block_rows
        found: list[bytes] = []
        digests: list[bytes] = []
        if isinstance(places, range) and places.step == 1:
            first, end = places.start - 1, places.stop - 1
            number = first // size
            while first < end:
                start = number * size
                block = kept.get(number, _NOT_MADE)
                number += 1
                if not block.rows:
                    while number * size < end and not kept.get(number, _NOT_MADE).rows:
                        number += 1
                    start = first
                    block = self._made(way, grant, first, min(end, number * size), typed)
                found += block.rows[first - start : end - start]
                digests.append(
                    block.digests[(first - start) * DIGEST_BYTES : (end - start) * DIGEST_BYTES]
                )
                first = number * size
        else:
            try:
                for place in places:  # `map` takes longer
                    place -= 1
                    block, at = kept[place // size], place % size  # so does `divmod`
                    found.append(block.rows[at])
                    digests.append(block.digests[_DIGESTS[at]])
            except LookupError:  # a block is not made
                return self._partly_made(way, grant, places, typed)
        if not places and keys is not None:
            self._table.header.seen_with(grant).select(keys)  # raises UnknownField, as for rows
        return Bodies(found, b"".join(digests))

    def _partly_made(
        self, way: _Way, grant: ColumnGrant, places: Sequence[int], typed: TypedColumns | None
    ) -> Bodies:
        """Encoded rows that are not consecutive, some of them without a block."""
        encoder, keys, _ = way
        kept, size, made = self._kept.get(way, {}), self._block_rows, 0
        found, digests = [b""] * len(places), [b""] * len(places)
        singly: dict[int, int] = {}
        """Rows without a block, by their position in the answer."""
        changed: dict[int, Bodies] = {}
        """Blocks that are not made, with changed counts."""
        for position, place in enumerate(places):
            number, at = divmod(place - 1, size)
            block = changed.get(number) or kept.get(number, _NOT_MADE)
            if not block.rows and block.singly >= MOST_SINGLY and made < MADE_AT_ONCE:
                self._made(way, grant, place - 1, place, typed)
                made += 1
                changed.pop(number, None)
                kept = self._kept.get(way, {})
                block = kept.get(number, _NEVER_MADE)
            if block.rows:
                found[position], digests[position] = block.rows[at], block.digests[_DIGESTS[at]]
                continue
            singly[position] = place - 1 + self._first_row
            if block.singly != NEVER:
                changed[number] = Bodies(singly=block.singly + 1)
        if singly:
            selected = self._table.header.seen_with(grant).select(keys)
            bodies, covered = self._encoded(encoder, selected, [*singly.values()], typed)
            for position, body, each in zip(singly, bodies, covered, strict=True):
                found[position] = body
                digests[position] = sha256(each).digest()[:DIGEST_BYTES]
            self._keep(way, changed)
        return Bodies(found, b"".join(digests))

    def _made(
        self, way: _Way, grant: ColumnGrant, first: int, end: int, typed: TypedColumns | None
    ) -> Bodies:
        """Encode consecutive data rows (from 0) in one call, and cache their blocks.

        The first and the last block are completed unless they are long.
        """
        encoder, keys, _ = way
        size, first_row = self._block_rows, self._first_row
        count = self._table.last_row + 1 - first_row
        selected = self._table.header.seen_with(grant).select(keys)
        kept = self._kept.get(way, {})
        numbers = range(first // size, -(-end // size))
        blocks: dict[int, Bodies] = {}
        start, stop = first, end
        for number in {numbers[0], numbers[-1]}:
            low, high = number * size, min((number + 1) * size, count)
            if first <= low and high <= end:
                continue
            rows = range(low + first_row, high + first_row)
            if (
                kept.get(number, _NOT_MADE).singly == NEVER
                or self._table.characters(rows, selected) > self._most_of_block
            ):
                blocks[number] = _NEVER_MADE
            else:
                start, stop = min(start, low), max(stop, high)
        rows = range(start + first_row, stop + first_row)
        made = with_digests(*self._encoded(encoder, selected, rows, typed))
        for number in numbers:
            if number not in blocks:
                low = number * size - start
                block = made.part(low, low + size)
                is_long = _block_bytes(block) > self._most_of_block
                blocks[number] = _NEVER_MADE if is_long and size > 1 else block
        self._keep(way, blocks)
        return made.part(first - start, end - start)

    def _encoded(
        self,
        encoder: Encoder,
        selected: Mapping[int, str],
        rows: Sequence[int],
        typed: TypedColumns | None,
    ) -> tuple[list[bytes], list[bytes]]:
        """Encoded rows, and the bytes that digests cover; for typed rows with their displays."""
        if encoder.is_typed and typed is None:
            typed = self._table.typed_columns(selected)
        bodies = encoder.rows(self._table.row_objects(rows, selected, encoder.empty, typed))
        if typed is None:
            return bodies, bodies
        displays = encoder.rows(self._table.displays(rows, typed))
        return bodies, [*map(add, bodies, displays)]

    def _keep(self, way: _Way, blocks: Mapping[int, Bodies]) -> None:
        """Cache blocks, made or not, unless they exceed the limit by themselves."""
        kept = self._kept.get(way)
        byte_count = _way_bytes(way) if kept is None else 0
        for number, block in blocks.items():
            if not kept or number not in kept:
                byte_count += _block_bytes(block)
            elif block.rows:  # in place of one that was not made
                byte_count += _block_bytes(block) - ROW_OVERHEAD_BYTES
        if self.byte_count + byte_count > self._max_bytes:
            needed = _way_bytes(way) + sum(map(_block_bytes, blocks.values()))
            if needed <= self._max_bytes:
                self._make_room(needed)
                self._keep(way, blocks)
            return
        self._kept.setdefault(way, {}).update(blocks)
        self.byte_count += byte_count

    def _make_room(self, byte_count: int) -> None:
        """Drop the oldest blocks until these bytes fit, and a part of the limit beside them."""
        most = max(0, self._max_bytes - byte_count - self._max_bytes // PART_FREED)
        for way, kept in [*self._kept.items()]:
            for number in [*kept]:
                if self.byte_count <= most:
                    return
                self.byte_count -= _block_bytes(kept.pop(number))
            del self._kept[way]
            self.byte_count -= _way_bytes(way)


def _way_bytes(way: _Way) -> int:
    _, keys, _ = way
    names = () if keys is None else (*keys.names, *keys.checked, keys.whole)
    return OVERHEAD_BYTES + ROW_OVERHEAD_BYTES * len(names) + sum(map(len, names))


def _block_bytes(block: Bodies) -> int:
    return sum(map(len, block.rows)) + ROW_OVERHEAD_BYTES * max(1, len(block.rows))


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
        one_row = sum(map(len, names)) + _NULL_BYTES * len(names)
        one_row += displayed_bytes // max(1, table.last_row)
        all_rows = (one_row + ROW_OVERHEAD_BYTES) * table.last_row
        all_rows += all_rows // PART_FREED
        row_bytes = min(MAX_ROW_BYTES, _LEAST_BYTES + min(all_rows, MOST_GROWTH * displayed_bytes))
        block_rows = max(1, min(MAX_BLOCK_ROWS, BLOCK_BYTES // max(1, one_row)))
        self.answers = Answers(answer_bytes)
        self.rows = EncodedRows(table, row_bytes, block_rows)
        self.max_bytes = answer_bytes + row_bytes
