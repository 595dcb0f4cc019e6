"""Success answers: records as JSON bytes, and reads from bytes that may be cached with a snapshot.

Rules for `Age` and `Cache-Status` (RFC 9211): `hit` means a cached answer, even after a failed call
to Google; `fwd` means rows read for the request. Times are whole seconds, rounded down: no answer
claims to be more than a second younger than it is. Stale answers have a negative `ttl`.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final, Literal

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.table.header import ROW_INDEX, opaque_tag
from gateway.table.record import Record
from gateway.telemetry.events import CacheResult, current_event
from gateway.web.head import Head, is_known
from gateway.web.idempotency import REPLAYED
from gateway.web.media_types import JSON_TEXT
from gateway.worksheets.answers import Encoded, Freshness, Served
from gateway.worksheets.idempotency import Settled

EmptyCell = Literal["null", "", "omit"]

CACHING = "private, no-cache"

CACHE = "sheets-gateway"
_DETAIL_ALONE = "; detail=alone"
ALONE = f"{CACHE}; fwd=method{_DETAIL_ALONE}"
"""`Cache-Status` of a write that other processes may miss, or of an error without their writes."""

RawHeaders = list[tuple[bytes, bytes]]

_CACHING = (b"cache-control", CACHING.encode("ascii"))
_JSON = (b"content-type", JSON_TEXT.encode("ascii"))

_encode = msgspec.json.Encoder().encode

_MOST_NAMES = 20
_LONGEST_NAME = 50


def record_answer(
    record: Record,
    empty_cell: EmptyCell,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    return json_answer(shaped(record, empty_cell), status=status, headers=headers)


def rows_answer(
    records: Iterable[Record],
    empty_cell: EmptyCell,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The written rows, in the order of the request."""
    results = [shaped(record, empty_cell) for record in records]
    return json_answer({"results": results}, status=status, headers=headers)


def created_answer(
    records: Iterable[Record], empty_cell: EmptyCell, *, headers: Mapping[str, str] | None = None
) -> Response:
    """The created rows, in the order of the request."""
    return rows_answer(records, empty_cell, status=201, headers=headers)


def count_answer(rows: Sequence[int], *, headers: Mapping[str, str] | None = None) -> Response:
    """The numbers of the rows that a filter matched."""
    results = [{ROW_INDEX: row} for row in rows]
    return json_answer({"count": len(results), "results": results}, headers=headers)


def empty_answer(*, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status_code=204, headers={"Cache-Control": CACHING, **(headers or {})})


def written_headers(settled: Settled) -> dict[str, str]:
    """Headers of a write's answer about its result."""
    ignored = dict.fromkeys(chain.from_iterable([row.ignored for row in settled.results]))
    headers = {"X-Ignored-Fields": listed(tuple(ignored))} if ignored else {}
    if settled.is_alone:
        headers["Cache-Status"] = ALONE
    return {**headers, **REPLAYED} if settled.is_replayed else headers


def json_answer(
    content: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(
        msgspec.json.encode(content),
        status_code=status,
        headers={"Cache-Control": CACHING, **(headers or {})},
        media_type=JSON_TEXT,
    )


@dataclass(frozen=True, eq=False)
class JsonEncoder:
    """Rows and pages as JSON; one object per representation of empty cells."""

    empty: object
    """The value of an empty cell; UNSET to leave it out."""

    def rows(self, rows: Iterable[object]) -> list[bytes]:
        return [*map(_encode, rows)]

    def page(self, rows: Sequence[bytes], *, has_next: bool, total: int | None) -> Encoded:
        """A list of rows; its tag is weak, because it is not of the worksheet."""
        counted = b"" if total is None else b',"total":%d' % total
        end = b'],"hasNextPage":true' if has_next else b'],"hasNextPage":false'
        body = b"".join((b'{"results":[', b",".join(rows), end, counted, b"}"))
        return Encoded(body, f"W/{opaque_tag(body)}")


# Cached answers are keyed by their encoder.
ENCODERS: Final[Mapping[EmptyCell, JsonEncoder]] = {
    "null": JsonEncoder(None),
    "": JsonEncoder(""),
    "omit": JsonEncoder(msgspec.UNSET),
}


def shaped(record: Record, empty_cell: EmptyCell) -> Record:
    """The record with its empty cells (None) as configured."""
    if empty_cell == "null":
        return record
    if empty_cell == "":
        return {name: "" if value is None else value for name, value in record.items()}
    return {name: value for name, value in record.items() if value is not None}


def listed(names: Sequence[str]) -> str:
    """Names for a header, each as a JSON string in ASCII; a long list is cut.

    A client cannot read an answer with a head that is too large, and would repeat its write.
    """
    return ", ".join(json.dumps(name[:_LONGEST_NAME]) for name in names[:_MOST_NAMES])


class CachedResponse(msgspec.Struct):
    """Complete body and header lines."""

    status: int
    headers: RawHeaders
    body: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})


def read_answer(head: Head, served: Served, *, no_cache: bool) -> CachedResponse:
    """The answer, or 304 without a body if the client has it already."""
    encoded, freshness = served.encoded, served.freshness
    event = current_event()
    if event is not None:
        event.cache = cache_result(freshness)
    return encoded_answer(head, encoded, freshness_lines(freshness, no_cache=no_cache))


def encoded_answer(
    head: Head, encoded: Encoded, lines: Iterable[tuple[bytes, bytes]]
) -> CachedResponse:
    """Bytes with their tag and further header lines, or 304 if the client has them already."""
    headers = [_CACHING, (b"etag", encoded.tag.encode("ascii")), *lines]
    if is_known(head, encoded.tag):
        return CachedResponse(304, headers, b"")
    headers += [_JSON, (b"content-length", b"%d" % len(encoded.body))]
    return CachedResponse(200, headers, encoded.body)


def cache_result(freshness: Freshness) -> CacheResult:
    if freshness.reason:
        return "stale"
    return "hit" if freshness.is_hit else "miss"


def freshness_lines(freshness: Freshness, *, no_cache: bool) -> Sequence[tuple[bytes, bytes]]:
    """`Age` and `Cache-Status` as raw lines, cached by second and ttl."""
    seconds = Freshness(
        math.floor(freshness.age_seconds),
        math.floor(freshness.ttl_seconds),
        freshness.is_hit,
        freshness.reason,
        freshness.is_alone,
    )
    return _lines(seconds, no_cache)


@lru_cache(512)
def _lines(freshness: Freshness, no_cache: bool) -> Sequence[tuple[bytes, bytes]]:
    status = cache_status(freshness, no_cache=no_cache)
    return (
        (b"age", age(freshness).encode("ascii")),
        (b"cache-status", status.encode("ascii")),
    )


def age(freshness: Freshness) -> str:
    return str(max(0, math.floor(freshness.age_seconds)))


def cache_status(freshness: Freshness, *, no_cache: bool) -> str:
    """The only member of `Cache-Status`; `no_cache` is a member of the request."""
    if freshness.is_hit:
        handled = "hit"
    elif freshness.reason:  # a call to Google failed
        handled = "fwd=stale"
    else:
        alone = _DETAIL_ALONE if freshness.is_alone else ""
        forwarded = "request" if no_cache else "miss"
        return f"{CACHE}; fwd={forwarded}; stored{alone}"
    detail = f"; detail={freshness.reason}" if freshness.reason else ""
    detail = _DETAIL_ALONE if freshness.is_alone else detail
    return f"{CACHE}; {handled}; ttl={math.floor(freshness.ttl_seconds)}{detail}"
