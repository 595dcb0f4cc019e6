"""Decoding of millions of cells to a `Rendering`, in steps that let the event loop run.

Rules:
- Decoding blocks the event loop for about 5 ns a byte. So columns are decoded one by one, and long
  columns in parts. The event loop runs between two steps.
- A column of texts often has the same bytes in both renderings (displayed texts and typed values),
  and in the next read. Such a column is decoded once. A column that is in memory, or that is being
  decoded, is found by the digest of its bytes.
- A long column is split only at commas between cells. A comma is between two cells if the JSON text
  before it can be decoded. A comma within a cell's text would leave that text without its end.
- Memory is counted during decoding, so that a small answer with many cells fails early. The number
  of columns is checked before the columns are decoded.
"""

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import astuple

from gateway.errors import SheetTooLarge
from gateway.google.sheets import Column, Rendering, Value
from gateway.google.translation import UNREADABLE
from gateway.google.wire import Answer
from gateway.table.steps import Work, shared

MAX_COLUMNS = 18_278
"""Google's maximum number of columns, up to ZZZ (support.google.com/drive/answer/37603)."""

WHOLE_BYTES = 2 * 1024 * 1024
"""Maximum encoded size of a column that is decoded in one step, in bytes."""

PART_BYTES = 256 * 1024
"""Approximate encoded size of the parts in which a longer column is decoded, in bytes."""

SHARED_BYTES = 4096
"""Minimum encoded bytes of a column that is decoded once for all reads, found by its digest."""

MEASURED_STRIDE = 251
"""Distance between measured cells of a long column. A prime number avoids periodic patterns."""

MEASURED_CELLS = 1000
"""Maximum length of a column in which the memory of every cell is measured."""

POINTER_BYTES = 8

ROUNDING_BYTES = 8
"""Average memory that the allocator adds to an object, because it returns multiples of 16 bytes."""

_DIGESTED_IN_STEP = 8
"""Number of bytes that are hashed in the time in which one byte is decoded."""

_BLANK = ("", None, ())

_TOO_LARGE = (
    "The worksheet needs more memory than the gateway allows. Split it, delete cells that are no "
    "longer needed, or ask the gateway's operator to raise cache.max_worksheet_bytes."
)


class RawValues(msgspec.Struct):
    """Range of Google's answer in A1 notation, and its encoded columns or rows."""

    range: str
    values: tuple[msgspec.Raw, ...] = ()


class RawAnswer(msgspec.Struct):
    range: str
    values: msgspec.Raw = msgspec.Raw(b"[]")


class EncodedColumn:
    """Encoded column of an answer, which is decoded once for all answers that contain it.

    `max_bytes` limits the memory of the decoded cells.
    """

    def __init__(self, raw: msgspec.Raw, max_bytes: int) -> None:
        self._raw = raw
        self._max_bytes = max_bytes

    @shared
    def cells(self) -> Work[tuple[Column, int]]:
        """Return the cells without trailing blank cells, and their approximate memory in bytes.

        Raises `SheetTooLarge` if the cells exceed `max_bytes`.
        """
        raw = self._raw
        yield min(len(raw), WHOLE_BYTES)
        if len(raw) <= WHOLE_BYTES:
            column: Column = _column.decode(raw)
            byte_count = size_of(column)
        else:
            column, byte_count = yield from decode_in_parts(bytes(raw), PART_BYTES, self._max_bytes)
        self._raw = msgspec.Raw()  # it would keep the whole answer in memory
        return column[: _filled(column)], byte_count


KnownColumns = WeakValueDictionary[bytes, EncodedColumn]
"""Columns by the digest of their encoded bytes. Unused columns are dropped (weak references)."""


class Limits(NamedTuple):
    """Limits of decoding, and the decoded columns that all reads share."""

    answer_bytes: int
    """Maximum size of an answer in bytes."""
    rendering_bytes: int
    """Maximum memory of all texts or all values of a worksheet, in bytes."""
    columns: KnownColumns


_answer = msgspec.json.Decoder(RawValues)
_any_answer = msgspec.json.Decoder(RawAnswer)
_column = msgspec.json.Decoder(Column)
_cells = msgspec.json.Decoder(list[Value])
_rest_of_text = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def read_rendering(answer: Answer, known: bytes | None, limits: Limits) -> Work[Rendering | None]:
    """Decode the cells of an answer, or return None if the answer has the digest `known`.

    Answers share equal columns. The generator yields the bytes of each next step. Raises
    `SheetTooLarge` if the decoded cells would exceed their memory limit, and msgspec's errors for a
    malformed answer.
    """
    if answer.digest == known:
        return None
    try:
        return (yield from _read(answer, limits.rendering_bytes, limits.columns))
    except (SheetTooLarge, *UNREADABLE) as error:
        # The traceback's frames would keep the decoded data in memory.
        del answer
        raise error.with_traceback(None) from None


def _read(answer: Answer, max_bytes: int, known: KnownColumns) -> Work[Rendering]:
    has_few_lists = answer.body.count(b"[") <= MAX_COLUMNS  # nearly always true
    yield len(answer.body)
    if has_few_lists:
        found = _answer.decode(answer.body)
    else:
        whole = _any_answer.decode(answer.body)
        given = [
            each for each in astuple(_bounded_columns().decode(whole.values)) if each is not None
        ]
        found = RawValues(range=whole.range, values=tuple(given))
    columns: list[Column] = []
    encoded: list[EncodedColumn] = []
    byte_count = decoded_bytes = 0
    for raw in found.values:
        if len(raw) < SHARED_BYTES:
            column: Column = _column.decode(raw)
            column_bytes = size_of(column)
            column = column[: _filled(column)]
            decoded_bytes += len(raw)
            if decoded_bytes >= PART_BYTES:
                yield decoded_bytes
                decoded_bytes = 0
        else:
            digest = yield from _digest(raw)
            one = known.get(digest)
            if one is None:
                one = known[digest] = EncodedColumn(raw, max_bytes)
            column, column_bytes = yield from one.cells()
            encoded.append(one)
        byte_count += column_bytes
        if byte_count > max_bytes:
            raise SheetTooLarge(_TOO_LARGE)
        columns.append(column)
    return Rendering(
        range=found.range,
        columns=tuple(columns[: _filled(columns)]),
        digest=answer.digest,
        byte_count=byte_count,
        encoded=tuple(encoded),
    )


def _digest(raw: msgspec.Raw) -> Work[bytes]:
    digest, view = sha256(usedforsecurity=False), memoryview(raw)
    for start in range(0, len(view), WHOLE_BYTES):
        part = view[start : start + WHOLE_BYTES]
        yield len(part) // _DIGESTED_IN_STEP
        digest.update(part)
    return digest.digest()


@cache
def _bounded_columns() -> msgspec.json.Decoder[msgspec.Struct]:
    """Return a decoder that fails at more than `MAX_COLUMNS` columns.

    The decoder takes 6 MB, so only an answer with many lists uses it. msgspec limits the length of
    a struct during decoding, but the length of a list can be checked only afterwards.
    """
    fields = [(f"c{column}", msgspec.Raw, None) for column in range(MAX_COLUMNS)]
    columns = msgspec.defstruct(
        "BoundedColumns", fields, array_like=True, forbid_unknown_fields=True
    )
    return msgspec.json.Decoder(columns)


def decode_in_parts(array: bytes, part_bytes: int, max_bytes: int) -> Work[tuple[Column, int]]:
    """Return the cells of a JSON array, and their approximate memory in bytes.

    The array is decoded in parts of about `part_bytes` encoded bytes. Raises `SheetTooLarge` if the
    memory exceeds `max_bytes`, and msgspec's errors for bad JSON.
    """
    cells: list[Value] = []
    byte_count = end = 0
    while True:
        start, part = end + 1, None
        # The part ends at a comma that is probably between two cells; -1 is the end of the array.
        end = array.find(b'","', start + part_bytes, start + part_bytes + 4096) + 1
        end = end or array.find(b",", start + part_bytes)
        if end >= 0:
            with suppress(msgspec.DecodeError):
                part = _cells.decode(b"[%b]" % array[start:end])
            if part is None:  # the comma is within a text; use the next one after the text
                text = _rest_of_text.match(array, end)
                end = array.find(b",", text.end()) if text else -1
        if part is None:
            part = _cells.decode(b"[%b" % (array[start:] if end < 0 else array[start:end] + b"]"))
        byte_count += size_of(part)
        if byte_count > max_bytes:
            raise SheetTooLarge(_TOO_LARGE)
        cells += part
        if end < 0:
            return tuple(cells), byte_count
        yield part_bytes


def size_of(cells: Sequence[Value]) -> int:
    """Return the approximate memory of cells in bytes. Blank cells need only a pointer each."""
    measured = cells if len(cells) <= MEASURED_CELLS else cells[::MEASURED_STRIDE]
    filled = list(filter(None, measured))
    objects = sum(map(sys.getsizeof, filled)) + ROUNDING_BYTES * len(filled)
    return POINTER_BYTES * len(cells) + objects * len(cells) // max(len(measured), 1)


def _filled(items: Sequence[Value | Column]) -> int:
    """Return the number of items without trailing blank items."""
    count = len(items)
    while count and items[count - 1] in _BLANK:
        count -= 1
    return count
