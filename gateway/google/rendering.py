"""Decode an answer of millions of cells to a `Rendering`, between turns of the event loop.

Rules:
- Decoding holds the event loop from the first byte of what is decoded to its last: about 5 ns a
  byte. So it is done column by column, and a long column in parts; between them the loop turns.
- A column is cut at commas between cells only. A comma is one if all before it can be decoded: a
  text that it cut would have no end.
- Memory is counted as it is taken, so that a small answer of many cells is refused before they
  are all there. Columns are counted before anything is made of them.
"""

import re
import sys
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import astuple

from gateway.errors import SheetTooLarge
from gateway.google.sheets import Column, Rendering, Value
from gateway.google.translation import UNREADABLE
from gateway.google.wire import Answer
from gateway.table.steps import Work

MAX_COLUMNS = 18_278
"""No sheet has more: the last one is ZZZ (support.google.com/drive/answer/37603)."""

WHOLE_BYTES = 1024 * 1024
"""Columns up to this length are decoded in one go, as most worksheets' are."""

PART_BYTES = 256 * 1024
"""About how much of a longer one is decoded in one go."""

MEASURED_STRIDE = 251
"""Every so many-th cell is measured; a prime, as patterns in sheets have other periods."""

MEASURED_CELLS = 1000
"""So many cells are measured one by one."""

POINTER_BYTES = 8

ROUNDING_BYTES = 8
"""What the allocator adds to an object on average: it gives multiples of 16."""

_BLANK = ("", None, ())

_TOO_LARGE = (
    "The worksheet takes more memory than the gateway allows for one. Split the worksheet, delete "
    "what it no longer needs, or ask the gateway's operator to raise cache.max_worksheet_bytes."
)


class RawColumns(msgspec.Struct):
    """Google's answer, its columns not decoded yet."""

    range: str
    values: tuple[msgspec.Raw, ...] = ()


class RawAnswer(msgspec.Struct):
    """Google's answer, and what should be its columns."""

    range: str
    values: msgspec.Raw = msgspec.Raw(b"[]")


class Part(NamedTuple):
    """Cells of a column, and where the comma after them is; -1 after the last."""

    cells: list[Value]
    end: int


_answer = msgspec.json.Decoder(RawColumns)
_any_answer = msgspec.json.Decoder(RawAnswer)
# An array of any length is bounded only once it is all there; a struct as soon as it is full.
_bounded_columns: msgspec.json.Decoder[msgspec.Struct] = msgspec.json.Decoder(
    msgspec.defstruct(
        "BoundedColumns",
        [(f"c{column}", msgspec.Raw, None) for column in range(MAX_COLUMNS)],
        array_like=True,
        forbid_unknown_fields=True,
    )
)
_column = msgspec.json.Decoder(Column)
_cells = msgspec.json.Decoder(list[Value])
_rest_of_text = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def read_rendering(
    answer: Answer, *, known: bytes | None, max_bytes: int
) -> Work[Rendering | None]:
    """The rendering that Google answered; None if the answer has the digest `known`.

    Its steps are bytes. Raises `SheetTooLarge` if it would take more than `max_bytes` of memory,
    and what msgspec raises if it makes no sense.
    """
    if answer.digest == known:
        return None
    try:
        return (yield from _read(answer, max_bytes))
    except (SheetTooLarge, *UNREADABLE) as error:
        # A traceback keeps its frames, and they would keep what was decoded for as long.
        del answer
        raise error.with_traceback(None) from None


def _read(answer: Answer, max_bytes: int) -> Work[Rendering]:
    found = _raw_columns(answer.body)
    columns: list[Column] = []
    byte_count = decoded_bytes = 0
    for raw in found.values:
        column, column_bytes = yield from _read_column(raw, max_bytes - byte_count)
        columns.append(column)
        byte_count += column_bytes
        decoded_bytes += len(memoryview(raw))
        if decoded_bytes >= PART_BYTES:
            yield decoded_bytes
            decoded_bytes = 0
    return Rendering(
        range=found.range,
        columns=tuple(columns[: _filled(columns)]),
        digest=answer.digest,
        byte_count=byte_count,
    )


def _raw_columns(body: bytes) -> RawColumns:
    if body.count(b"[") <= MAX_COLUMNS:  # nearly always
        return _answer.decode(body)
    found = _any_answer.decode(body)
    columns = astuple(_bounded_columns.decode(found.values))
    given = tuple(column for column in columns if column is not None)
    return RawColumns(range=found.range, values=given)


def _read_column(raw: msgspec.Raw, max_bytes: int) -> Work[tuple[Column, int]]:
    """A column without blank cells at its end, and about how many bytes it takes."""
    if len(memoryview(raw)) <= WHOLE_BYTES:
        column: Column = _column.decode(raw)
        byte_count = _bounded(size_of(column), max_bytes)
    else:
        column, byte_count = yield from decode_in_parts(bytes(raw), PART_BYTES, max_bytes)
    filled = _filled(column)
    return (column if filled == len(column) else column[:filled]), byte_count


def decode_in_parts(array: bytes, part_bytes: int, max_bytes: int) -> Work[tuple[Column, int]]:
    """The cells of a JSON array, and about how many bytes they take; errors as `read_rendering`."""
    part = _decode_part(array, 1, part_bytes)
    cells, byte_count = part.cells, _bounded(size_of(part.cells), max_bytes)
    while part.end >= 0:
        yield part_bytes
        part = _decode_part(array, part.end + 1, part_bytes)
        byte_count = _bounded(byte_count + size_of(part.cells), max_bytes)
        cells += part.cells
    return tuple(cells), byte_count


def _decode_part(array: bytes, start: int, part_bytes: int) -> Part:
    """The cells from `start` up to a comma some bytes on."""
    end = _likely_cut(array, start + part_bytes)
    if end >= 0:
        try:
            return Part(_cells.decode(b"[%b]" % array[start:end]), end)
        except msgspec.DecodeError:  # the comma is part of a text: on to the one after the text
            text = _rest_of_text.match(array, end)
            end = array.find(b",", text.end()) if text else -1
    if end >= 0:
        return Part(_cells.decode(b"[%b]" % array[start:end]), end)
    return Part(_cells.decode(b"[%b" % array[start:]), end)


def _likely_cut(array: bytes, position: int) -> int:
    """A comma soon after the position that is likely to stand between two cells; -1 for none."""
    between_texts = array.find(b'","', position, position + 4096)
    return between_texts + 1 if between_texts >= 0 else array.find(b",", position)


def size_of(cells: Sequence[Value]) -> int:
    """About how many bytes cells take in memory; blank ones are all one object."""
    measured = cells if len(cells) <= MEASURED_CELLS else cells[::MEASURED_STRIDE]
    filled = list(filter(None, measured))
    objects = sum(map(sys.getsizeof, filled)) + ROUNDING_BYTES * len(filled)
    return POINTER_BYTES * len(cells) + objects * len(cells) // max(len(measured), 1)


def _bounded(byte_count: int, max_bytes: int) -> int:
    if byte_count > max_bytes:
        raise SheetTooLarge(_TOO_LARGE)
    return byte_count


def _filled(items: Sequence[Value | Column]) -> int:
    """How many items there are up to the last that is not blank."""
    count = len(items)
    while count and items[count - 1] in _BLANK:
        count -= 1
    return count
