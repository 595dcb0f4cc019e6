"""Cursors of paged lists: the position that a cursor stores, encryption, and search after edits.

Rules
- A `Place` is the cursor's position between the last row of a page and the next row. Integers named
  `place` are row positions: indexes of rows in the columns of a table.
- A cursor stores the values of the last row in the fields of `order`. If several rows have the same
  values, it also stores digests of nearby rows (the context). The digests cover only the columns
  that the key is allowed to read. Row numbers only decide where the search begins.
- The position is found if its context is unchanged and occurs once near the old row, or if most
  rows of the context are still close together. A row that occurs more than once proves nothing.
- If each row of the context occurs twice, the old row number is used, but only if no cell that the
  key is allowed to read has changed since.
- If the position is not found, the cursor is lost (`CursorLost`). The gateway does not guess.
- A cursor is encrypted and authenticated (AES-SIV, RFC 5297). The encryption key is derived from
  the pepper, so all processes can decrypt the cursor. A client learns only the length of the
  position.
- Cursors are deterministic: equal pages have equal cursors, and therefore equal ETags.
- A cursor is valid only for the API key, worksheet, `where` and `order` of its list.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from gateway.errors import InvalidQuery
from gateway.query.row_sets import RowSet, sifted
from gateway.table.cells import CLASS, EMPTY, NUMBER, TEXT
from gateway.table.index import ColumnIndex, Keys, Order
from gateway.table.steps import BLOCK, Work, blocks

LONGEST_CURSOR = 1024
"""Maximum number of characters of a cursor."""

CONTEXT = 8
"""Maximum number of rows before the position whose digests a cursor stores."""

AHEAD = 2
"""Maximum number of rows after the position whose digests a cursor stores."""

NEAR = 64
"""Number of rows before and after a row in which an equal row makes the position uncertain."""

MOST_CHARACTERS = 100
"""Maximum characters of a text in a cursor. For a longer text the cursor also has a digest."""

_FIRST_RADIUS = CONTEXT + 2
_GROWTH = 4
_DIGEST_BYTES = 6
_VALUE_BYTES = 8
_MOST_BYTES, _LEAST_BYTES, _OF_VALUE = 400, 640, 24
"""Maximum bytes of a stored text, of all stored values, and of a stored value without its text."""
_TOGETHER, _BEHIND = CONTEXT + 4, 4
"""Number of rows before a position to compare with `given`, and after it with `next` (`Place`)."""
_NOWHERE = -NEAR
_MOST_LOST = 2
"""Maximum number of deleted or moved rows among the rows whose digests a cursor stores."""
_DIGEST_STEPS = 30

Cell = tuple[int, object]
"""Kind of a cell, and its sort key among cells of this kind."""

_Column = tuple[Keys, Sequence[str]]
"""Kinds and sort keys of a column's cells, and the displayed texts of these cells."""


class Value(msgspec.Struct, frozen=True, array_like=True):
    """Value of the last row in one field of `order`, as a cursor stores it."""

    kind: int
    """First kind of the cell's class (`gateway.table.cells`)."""
    key: int | float | bool | str | None = None
    """Sort key of the cell, or None for a text. An integer beyond 64 bits is a text."""
    text: str = ""
    """Text of the cell, or "" for a typed value.

    A long text is cut, and also case-folded unless it represents a number, date or time.
    """
    digest: bytes = b""
    """Digest of the whole text if `text` is cut, or b""."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Position of a cursor in a list, after the last row that the client received."""

    row: int = 0
    """Number of the last received row, with the header as row 1, or 0 before the first page."""
    values: tuple[Value, ...] = ()
    """Values of the last received row in the fields of `order` before `rowIndex`."""
    given: bytes = b""
    """Digests of the last received rows with equal values in all fields of `order`.

    Fewer than `CONTEXT` digests mean that the list has no other such rows before the position.
    """
    next: bytes = b""
    """Digests of up to `AHEAD` rows after the position with equal values in all fields of `order`.

    Fewer digests mean that the list has no other such rows after the position.
    """
    cells: bytes = b""
    """Digest of all readable cells if each row in `given` and `next` occurs twice, or else b""."""

    @property
    def context(self) -> list[bytes]:
        """Digests in `given`, as a list with one digest for each row."""
        return _apart(self.given)

    @property
    def following(self) -> list[bytes]:
        """Digests in `next`, as a list with one digest for each row."""
        return _apart(self.next)


_decode = msgspec.msgpack.Decoder(Place).decode
_encode = msgspec.msgpack.Encoder().encode


class Cursors:
    """Encryption of the gateway's cursors. `key` has 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    def seal(self, *bound: object) -> "Seal":
        """Return the codec for cursors of one list.

        `bound` identifies the list: API key ID, worksheet, `where` and `order`.
        """
        return Seal(self._cipher, _encode(bound))


class Seal(msgspec.Struct, frozen=True):
    """Encrypts and decrypts the cursors of one list."""

    cipher: AESSIV
    bound: bytes
    """Associated data that authenticates the list: API key ID, worksheet, `where` and `order`."""

    def of(self, place: Place) -> str:
        """Encrypt a position to a cursor."""
        sealed = self.cipher.encrypt(_encode(place), [self.bound])
        return urlsafe_b64encode(sealed).rstrip(b"=").decode("ascii")

    def open(self, cursor: str) -> Place:
        """Decrypt a cursor to a position. Raises InvalidQuery for a cursor of another list.

        The cursor "" gives the position before the first row.
        """
        if not cursor:
            return Place()
        try:
            sealed = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
            canonical = urlsafe_b64encode(sealed).rstrip(b"=")
            if len(cursor) <= LONGEST_CURSOR and canonical == cursor.encode():
                return _decode(self.cipher.decrypt(sealed, [self.bound]))
        except (Error, UnicodeEncodeError, InvalidTag, ValueError):
            pass
        raise InvalidQuery(
            "cursor does not belong to this list. Send the complete cursor with the same API key, "
            "worksheet, where and order as in the request that returned it, or send cursor= "
            "without a value for the first page."
        )


class Gap(msgspec.Struct, frozen=True):
    """Position that was found among rows with equal values in `order`."""

    last: int
    """Row position of the last equal row before the cursor, or 0 without an equal row."""
    before: Sequence[int] = ()
    """Row positions of up to `CONTEXT` equal rows before the cursor."""


class Seen(msgspec.Struct, frozen=True):
    """Displayed cells of the columns that a key is allowed to read.

    `first` is the row position of the first cell of each column.
    """

    columns: Sequence[Sequence[Any]]
    first: int = 0
    is_whole: bool = True
    """False if the columns have only some rows of the worksheet (a window)."""
    made: list[bytes] = []
    """List with the cached digest of all cells, or an empty list before the first use."""

    def digests(self, places: Iterable[int]) -> list[bytes]:
        """Digest of each row. A cell below the end of its column counts as empty."""
        columns, first = self.columns, self.first
        found: list[bytes] = []
        for place in places:
            at = place - first
            try:
                texts = [cells[at] or "" for cells in columns]
            except IndexError:  # below the end of a column
                texts = [(cells[at] or "") if at < len(cells) else "" for cells in columns]
            found.append(_digest("\0".join(texts).rstrip("\0"), _DIGEST_BYTES))
        return found

    def stands_twice(self, place: int) -> bool:
        """True if another row within `NEAR` rows has the same displayed cells."""
        at = place - self.first
        low, high = max(self.first == 0, at - NEAR), at + NEAR
        equal: Sequence[int] = range(low, high)
        for cells in self.columns:
            text = (cells[at] or "") if at < len(cells) else ""
            end = len(cells)
            equal = [each for each in equal if ((cells[each] or "") if each < end else "") == text]
            if len(equal) < 2:
                return False
        return True

    def stand_twice(self, places: Iterable[int]) -> bool:
        """True if each of these rows has an equal row within `NEAR` rows."""
        return all(map(self.stands_twice, places))

    def all_cells(self) -> Work[bytes]:
        """Digest of all cells, cached in `made`."""
        if self.made:
            return self.made[0]
        whole = blake2b(digest_size=_VALUE_BYTES)
        for cells in self.columns:
            for block in blocks(0, len(cells)):
                yield len(block)
                texts = [str(cell or "") for cell in cells[block.start : block.stop]]
                whole.update("\0".join([*texts, ""]).encode("utf-8", "surrogatepass"))
            whole.update(b"\0\0")
        self.made[:] = [whole.digest()]
        return self.made[0]


def place_after(
    places: Sequence[int],
    following: Sequence[int],
    before: Sequence[int],
    terms: Sequence[ColumnIndex | None],
    seen: Seen,
    header_row: int = 1,
) -> Place | Work[Place]:
    """Returns the cursor position after a page, or a generator that makes the position.

    `places` are the row positions of the page, `before` and `following` row positions before and
    after the page in the list. `terms` has the column index of each term of `order`, or None for
    `rowIndex`. Raises Unbuilt if an index is missing.
    """
    last = places[-1]
    columns: list[_Column] = []
    own: list[Cell] = []
    values: tuple[Value, ...] = ()
    is_distinct = False
    for index in terms:
        if index is None:  # no rows are equal in `rowIndex`
            return Place(last + header_row, values)
        keys, texts = index.ready_keys, index.ready_texts
        columns.append((keys, texts))
        cell = _cell(keys, texts, last)
        own.append(cell)
        values += (_value(cell, keys.keys[last], len(terms)),)
        if not is_distinct and cell[0] != EMPTY:
            is_distinct = isinstance(index.ready_order.ranked.starts, range)
    row = last + header_row
    if is_distinct:
        return Place(row, values, seen.digests((last,))[0])

    equal, ahead = [last], list[int]()
    for each in [*before, *places[-CONTEXT:-1]][:-CONTEXT:-1]:
        if _cells(columns, each) != own:
            break
        equal.append(each)
    for each in following[:AHEAD]:
        if _cells(columns, each) != own:
            break
        ahead.append(each)
    if len(equal) + len(ahead) == 1:
        return Place(row, values, seen.digests(equal)[0])
    return _among_equals(row, values, equal, ahead, seen)


def _among_equals(
    row: int, values: tuple[Value, ...], equal: Sequence[int], ahead: Sequence[int], seen: Seen
) -> Work[Place]:
    """Make the position between equal rows: after `equal` (nearest first) and before `ahead`."""
    yield _DIGEST_STEPS * (len(equal) + len(ahead))
    given = b"".join(seen.digests(reversed(equal)))
    cells = b""
    if ahead and seen.is_whole and seen.stand_twice([*equal, *ahead]):
        cells = yield from seen.all_cells()
    return Place(row, values, given, b"".join(seen.digests(ahead)), cells)


def _apart(digests: bytes) -> list[bytes]:
    starts = range(0, len(digests), _DIGEST_BYTES)
    return [digests[start : start + _DIGEST_BYTES] for start in starts]


def _cell(cells: Keys, texts: Sequence[str], place: int) -> Cell:
    """Kind and sort key of a cell. Two cells have equal keys if they sort equally."""
    kind, key = cells.kinds[place], cells.keys[place]
    if kind == EMPTY:
        key = None
    elif kind != CLASS[kind]:
        key = texts[place]
    return kind, key


def _cells(columns: Sequence[_Column], place: int) -> list[Cell]:
    return [_cell(cells, texts, place) for cells, texts in columns]


def _value(cell: Cell, number: Any, count: int) -> Value:
    """Make a cursor's value of a cell, one of `count` values that share `_LEAST_BYTES`.

    `number` is the sort key of the cell.
    """
    kind, key = cell
    if kind == EMPTY:
        return Value(EMPTY)
    first = CLASS[kind]
    if kind == first and kind != TEXT:
        is_long = isinstance(key, int) and not -(2**63) <= key < 2**63
        return Value(kind, str(key) if is_long else key)  # type: ignore[arg-type]
    text = str(key)
    number = None if kind == TEXT else number
    most = min(_MOST_BYTES, _LEAST_BYTES // count - _OF_VALUE)
    if len(text) <= MOST_CHARACTERS and len(text.encode("utf-8", "surrogatepass")) <= most:
        return Value(first, number, text)
    folded = text.casefold() if kind == TEXT else text
    head = folded[:MOST_CHARACTERS].encode("utf-8", "ignore")[:most].decode("utf-8", "ignore")
    return Value(first, number, head, _digest(text, _VALUE_BYTES))


def stand(order: Order, value: Value) -> Work[range | None]:
    """Find a stored value in the sort order of a column. Returns a range with its group number.

    If no cell has the value, the range is empty, and starts at the group before which the value
    sorts. Returns None if the position is unknown: the stored text is cut, and all texts that begin
    like it are other texts.
    """
    segment = order.segments.get(value.kind)
    if segment is None:
        ends = [each.end for kind, each in order.segments.items() if kind < value.kind]
        at = max(ends, default=0)
        return range(at, at)
    keys, texts, first, text = segment.keys, segment.texts, segment.first, value.text
    key: object = value.key
    if value.kind == NUMBER and isinstance(key, str):
        key = int(key)
    if value.kind != TEXT:
        low, high = bisect_left(keys, key), bisect_right(keys, key)
    elif value.digest:
        length = len(text)
        low = bisect_left(keys, text)
        high = bisect_right(keys, text, key=lambda each: each[:length])
    else:
        folded = text.casefold()
        low, high = bisect_left(keys, folded), bisect_right(keys, folded)
    if texts is None:
        is_there = low < high and not text
        at = first + (high if text else low)
        return range(at, at + is_there)
    if value.digest:
        for group in range(low, high):
            yield 1 + len(texts[group])
            if _digest(texts[group], _VALUE_BYTES) == value.digest:
                return range(first + group, first + group + 1)
        return None if low < high else range(first + low, first + low)
    at = bisect_left(texts, text, lo=low, hi=high)
    return range(first + at, first + at + (at < high and texts[at] == text))


def find_gap(
    place: Place,
    seen: Seen,
    places: Sequence[int],
    others: Sequence[RowSet] = (),
    *,
    has_start: bool = True,
    has_end: bool = True,
) -> Work[Gap | None]:
    """Find a cursor's position among rows with equal values in `order`.

    These rows are the ascending `places` that are also in all sets of `others`. `has_start` is True
    if `places` has the first such row of the list, and `has_end` if it has the last. Returns None
    if the position is lost.
    """
    if place.cells and not (seen.is_whole and (yield from seen.all_cells()) == place.cells):
        return None
    old = place.row - 1
    at, count = bisect_left(places, old), len(places)
    known: dict[int, bytes] = {}
    known_rows = {*place.context, *place.following}
    radius, was_wide = _FIRST_RADIUS, False
    while True:
        low, high = max(0, at - radius), min(count, at + radius)
        rows = yield from sifted(places[low:high], others)
        new = [each for each in rows if each not in known]
        for start in range(0, len(new), BLOCK):
            piece = new[start : start + BLOCK]
            yield _DIGEST_STEPS * len(piece)
            known |= zip(piece, seen.digests(piece), strict=True)
        digests = [known[each] for each in rows]
        is_from_start, is_to_end = low == 0 and has_start, high == count and has_end
        exact = _exact(digests, place, is_from_start=is_from_start, is_to_end=is_to_end)
        gap: int | None = None
        here = bisect_left(rows, old) + 1
        # A filter can leave few of the places, so the rows are counted, not the places.
        is_wide = (low == 0 or here > NEAR) and (high == count or len(rows) - here >= NEAR - 1)
        around = rows[max(0, here - len(place.context)) : here + len(place.following)]
        yield NEAR * len(around)
        is_sure = place.cells or not place.next or not seen.stand_twice(around)
        if here in exact and rows[here - 1] == old and is_sure:
            gap = here
        elif not place.cells and is_wide:
            if len(exact) > 1:
                return None
            if exact:
                (gap,) = exact
            elif not place.next:
                return Gap(places[-1] if places else 0)
            else:
                gap = _tolerant(digests, place, is_from_start=is_from_start, is_to_end=is_to_end)
            if gap is None and not (was_wide or known_rows.isdisjoint(digests)):
                return None  # rows of the cursor are still here, so a match elsewhere is a copy
            was_wide = True
        if gap is not None:
            return Gap(rows[gap - 1] if gap else 0, rows[max(0, gap - CONTEXT) : gap])
        if low == 0 and high == count:
            return None
        radius = max(NEAR, radius * _GROWTH)


def _exact(
    digests: Sequence[bytes], place: Place, *, is_from_start: bool, is_to_end: bool
) -> list[int]:
    """Positions between exactly the rows of the cursor, each as the number of `digests` before it.

    `digests` has one digest for each of some consecutive rows with equal values in `order`.
    `is_from_start` is True if these begin with the first such row of the list, and `is_to_end` if
    they end with the last.
    """
    context, following = place.context, place.following
    length, ahead, last = len(context), len(following), context[-1]
    if length < CONTEXT and not is_from_start:
        return []
    found: list[int] = []
    for at, digest in enumerate(digests, 1):
        if digest != last or at < length or (length < CONTEXT and at != length):
            continue
        if [*digests[at - length : at]] != context or [*digests[at : at + ahead]] != following:
            continue
        if not 0 < ahead < AHEAD or (is_to_end and at + ahead == len(digests)):
            found.append(at)
    return found


def _tolerant(
    digests: Sequence[bytes], place: Place, *, is_from_start: bool, is_to_end: bool
) -> int | None:
    """Find the position around which most rows of the cursor are.

    Candidates are the positions after the last received row, and before the row that followed.
    Returns the number of `digests` before the position, or None if no position is certain. The
    parameters are the same as in `_exact`.
    """
    context, following = place.context, place.following
    counts = Counter(digests)
    at = {digest: number for number, digest in enumerate(digests) if counts[digest] == 1}
    is_short = len(context) < CONTEXT
    total = sum(counts[each] < 2 for each in (*context, *following)) + is_short
    needed = max(2 if is_short else 3, total - _MOST_LOST)
    gaps: list[int] = []
    last, first = at.get(context[-1]), at.get(following[0])
    if last is not None:
        known = [at[each] for each in context if last - _TOGETHER < at.get(each, last + 1) <= last]
        others = last - min(known) + 1 - len(known)
        # If the row that followed is gone, a row in between can be one that was not sent yet.
        if first is not None or others <= len(context) - len(known):
            gaps.append(last + 1)
    if first is not None:
        second = at.get(following[1]) if len(following) > 1 else None
        ends = len(following) < AHEAD and is_to_end and first == len(digests) - 1
        if last is not None or ends or second == first + 1:
            gaps.append(first)
    scores: dict[int, int] = {}
    for gap in gaps:
        score, above, below = int(is_short and is_from_start and gap == len(context)), gap, gap
        for digest in reversed(context):
            number = at.get(digest, _NOWHERE)
            if gap - _TOGETHER <= number < above:
                score, above = score + 1, number
            score -= gap <= number < gap + _TOGETHER
        for digest in following:
            number = at.get(digest, _NOWHERE)
            if below <= number < gap + _BEHIND:
                score, below = score + 1, number
            score -= gap - _TOGETHER <= number < gap
        scores[gap] = score
    best = max(scores.values(), default=0)
    found = [gap for gap, score in scores.items() if score == best]
    return found[0] if best >= needed and len(found) == 1 else None


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()
