"""Response to a read, from bytes that may be cached with a snapshot, and their freshness.

Rules for `Age` and `Cache-Status` (RFC 9211): `hit` means a cached answer, even after a failed call
to Google; `fwd` means rows read for the request. Times are whole seconds, rounded down: no answer
claims to be more than a second younger than it is. Stale answers have a negative `ttl`.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

import msgspec
from starlette.types import Receive, Scope, Send

from gateway.telemetry.events import current_event
from gateway.web.answers import CACHING
from gateway.web.head import Head, is_known
from gateway.web.media_types import JSON
from gateway.worksheets.answers import Encoded, Served
from gateway.worksheets.freshness import Freshness

CACHE = "sheets-gateway"

Outcome = Literal["hit", "miss", "stale"]
"""Use of the cache, as a word for the log."""

RawHeaders = list[tuple[bytes, bytes]]

_CACHING = (b"cache-control", CACHING.encode("ascii"))
_JSON = (b"content-type", JSON.encode("ascii"))


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
        event.cache = outcome(freshness)
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


def outcome(freshness: Freshness) -> Outcome:
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
        return f"{CACHE}; fwd=request; stored" if no_cache else f"{CACHE}; fwd=miss; stored"
    detail = f"; detail={freshness.reason}" if freshness.reason else ""
    return f"{CACHE}; {handled}; ttl={math.floor(freshness.ttl_seconds)}{detail}"
