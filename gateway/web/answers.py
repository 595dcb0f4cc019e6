"""Success answers: JSON of records, header lines of reads and writes.

Rules for `Age` and `Cache-Status` (RFC 9211): `hit` means that the request did not wait for Google.
`fwd=miss` and `fwd=request` mean that rows were read for the request. `fwd=stale` means that the
read failed, and that the answer has cached rows. `ttl` is the number of seconds until the rows
expire, and negative for expired rows. Times are whole seconds, rounded down.
"""

import json
import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal

import msgspec

from gateway.table.header import opaque_tag
from gateway.table.record import Record
from gateway.web.head import is_known
from gateway.web.idempotency import REPLAYED
from gateway.web.media_types import JSON_TEXT
from gateway.web.request import HeaderLines, Request
from gateway.worksheets.answers import Bodies, Encoded, Freshness, Paging, Served
from gateway.worksheets.idempotency import Settled

EmptyCell = Literal["null", "", "omit"]

CACHING = "private, no-cache"

CACHE = "sheets-gateway"
_DETAIL_ALONE = "; detail=alone"
ALONE = f"{CACHE}; fwd=method{_DETAIL_ALONE}"
"""`Cache-Status` of a write that other processes can miss until their cached rows expire."""

VARY = (b"vary", b"Accept, Accept-Encoding")
"""`Vary` line of answers with rows. The frame adds `Origin`."""
_CACHING = (b"cache-control", CACHING.encode("ascii"))
_JSON = (b"content-type", JSON_TEXT.encode("ascii"))

_encode = msgspec.json.Encoder().encode

_MOST_NAMES = 20
_LONGEST_NAME = 50


class Answer(msgspec.Struct, frozen=True):
    """Answer of a handler, without the header lines that `Frame` adds to every answer."""

    status: int
    headers: HeaderLines
    body: bytes | Sequence[bytes] | AsyncGenerator[bytes] = b""
    """The body: bytes, a list of parts, or a generator, whose errors close the connection."""
    may_be_compressed: bool = False
    """True if compression is allowed: the body has no strong ETag."""
    rows: int = 0
    """Number of rows in the body, or of written rows; 0 for an export, counted when it is sent."""


def written_headers(settled: Settled) -> dict[str, str]:
    """Return the headers of a write: ignored fields, cache status, replay. Can be empty."""
    ignored = dict.fromkeys(chain.from_iterable([row.ignored for row in settled.results]))
    headers = {"X-Ignored-Fields": listed(tuple(ignored))} if ignored else {}
    if settled.is_alone:
        headers["Cache-Status"] = ALONE
    return {**headers, **REPLAYED} if settled.is_replayed else headers


def json_answer(
    content: object,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    media_type: str = JSON_TEXT,
    rows: int = 0,
) -> Answer:
    body = _encode(content)
    lines = {
        "Cache-Control": CACHING,
        **(headers or {}),
        "Content-Length": str(len(body)),
        "Content-Type": media_type,
    }
    return Answer(status, header_lines(lines), body, rows=rows)


def header_lines(headers: Mapping[str, str]) -> HeaderLines:
    return [
        (name.lower().encode("ascii"), text.encode("latin-1")) for name, text in headers.items()
    ]


@dataclass(frozen=True, eq=False)
class JsonEncoder:
    """Encoder of rows and pages as JSON.

    Cache keys contain the encoder, so there is only one for each combination of attributes.
    """

    empty: object
    """JSON value of an empty cell: None or ""; UNSET leaves the field out."""
    is_typed: bool = False
    """True if cells are typed values (`gateway.table.typed`), not displayed texts."""

    row = staticmethod(_encode)

    def page(self, rows: Bodies, paging: Paging, cursor: str | None = None) -> Encoded:
        """Encode a page of rows with a weak ETag.

        `cursor` is the cursor of the next page, "" on the last page (null in the JSON), or None to
        leave the member out.
        """
        end = b'],"hasNextPage":true' if paging.has_next else b'],"hasNextPage":false'
        if cursor is not None:
            end += b',"cursor":' + (b'"%b"' % cursor.encode("ascii") if cursor else b"null")
        if paging.total is not None:
            end += b',"total":%d' % paging.total
        body = b"".join((b'{"results":[', b",".join(rows.rows), end, b"}"))
        tag = f"W/{opaque_tag(rows.digests + end)}"
        return Encoded(body, tag, paging, rows=len(rows.rows))


# Cached answers are keyed by their encoder.
ENCODERS: Final[Mapping[EmptyCell, JsonEncoder]] = {
    "null": JsonEncoder(None),
    "": JsonEncoder(""),
    "omit": JsonEncoder(msgspec.UNSET),
}
TYPED_ENCODERS: Final[Mapping[EmptyCell, JsonEncoder]] = {
    word: JsonEncoder(encoder.empty, is_typed=True) for word, encoder in ENCODERS.items()
}


def shaped(record: Record, empty_cell: EmptyCell) -> Record:
    """Return the record with its empty cells (None) replaced as `api.empty_cell` demands."""
    if empty_cell == "null":
        return record
    if empty_cell == "":
        return {name: "" if value is None else value for name, value in record.items()}
    return {name: value for name, value in record.items() if value is not None}


def listed(names: Sequence[str]) -> str:
    """Encode names for a header line, each as a JSON string in ASCII. Cuts long names and lists.

    With a very long line, a client could not read the answer, and would repeat its write.
    """
    return ", ".join(json.dumps(name[:_LONGEST_NAME]) for name in names[:_MOST_NAMES])


def read_answer(
    request: Request,
    served: Served | Encoded,
    *,
    no_cache: bool = False,
    content_type: tuple[bytes, bytes] = _JSON,
    lines: HeaderLines = (),
) -> Answer:
    """Return the answer to a read, or 304 without a body if `If-None-Match` has the answer's ETag.

    Only a `Served` answer gets `Age` and `Cache-Status`. `no_cache`: the request asked for fresh
    rows. `lines` are additional header lines.
    """
    if isinstance(served, Served):
        encoded, freshness = served.encoded, served.freshness
        event = request.event
        event.cache = "stale" if freshness.reason else "hit" if freshness.is_hit else "miss"
        lines = (*freshness_lines(freshness, no_cache=no_cache), *lines)
    else:
        encoded = served
    headers = [_CACHING, (b"etag", encoded.tag.encode("ascii")), *lines, VARY]
    if b"if-none-match" in request.head.lines and is_known(request.head, encoded.tag):
        return Answer(304, headers)
    headers += (content_type, (b"content-length", b"%d" % len(encoded.body)))
    return Answer(200, headers, encoded.body, encoded.tag[0] == "W", encoded.rows)


def weakly_tagged(body: bytes) -> Encoded:
    """Return a body with its weak ETag, which allows compression."""
    return Encoded(body, f"W/{opaque_tag(body)}")


def freshness_lines(freshness: Freshness, *, no_cache: bool) -> HeaderLines:
    """Return the header lines `Age` and `Cache-Status`. Times are in whole seconds.

    `no_cache`: the request asked for fresh rows.
    """
    age, ttl = math.floor(freshness.age_seconds), math.floor(freshness.ttl_seconds)
    is_hit, reason = freshness.is_hit, freshness.reason
    alone = _DETAIL_ALONE if freshness.is_alone else ""
    if not is_hit and not reason:
        status = f"fwd={'request' if no_cache else 'miss'}; stored{alone}"
    else:
        handled = "hit" if is_hit else "fwd=stale"  # a call to Google failed
        detail = alone or (f"; detail={reason}" if reason else "")
        status = f"{handled}; ttl={ttl}{detail}"
    return (b"age", b"%d" % max(0, age)), (b"cache-status", f"{CACHE}; {status}".encode("ascii"))
