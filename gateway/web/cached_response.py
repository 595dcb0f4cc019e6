"""Response to a read, from bytes that may be cached with a snapshot, and how fresh they are.

Rules for `Age`, and `Cache-Status` of RFC 9211: `hit` is said of what was kept, also where Google
was waited for in vain; `fwd` of what was read for the request. Times are whole seconds, rounded
down: an answer is never called younger than it is by more than one, and what is stale has a
negative `ttl`.
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
"""What the cache did for a request, in a word."""

RawHeaders = list[tuple[bytes, bytes]]

_CACHING = (b"cache-control", CACHING.encode("ascii"))
_JSON = (b"content-type", JSON.encode("ascii"))


class CachedResponse(msgspec.Struct):
    """Bytes and header lines that go out as they are: there is nothing left to work out."""

    status: int
    headers: RawHeaders
    body: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})


def read_answer(head: Head, served: Served, *, no_cache: bool) -> CachedResponse:
    """What was read, or 304 without a body if the client knows it already."""
    encoded, freshness = served.encoded, served.freshness
    event = current_event()
    if event is not None:
        event.cache = outcome(freshness)
    return encoded_answer(head, encoded, freshness_lines(freshness, no_cache=no_cache))


def encoded_answer(
    head: Head, encoded: Encoded, lines: Iterable[tuple[bytes, bytes]]
) -> CachedResponse:
    """Bytes with their tag and further header lines, or 304 if the client knows them already."""
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
    """`Age` and `Cache-Status` as raw lines; those of a second and a ttl are made once."""
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
    """The header's one member; `no_cache` is what the request asked for."""
    if freshness.is_hit:
        handled = "hit"
    elif freshness.reason:  # Google was asked in vain
        handled = "fwd=stale"
    else:
        return f"{CACHE}; fwd=request; stored" if no_cache else f"{CACHE}; fwd=miss; stored"
    detail = f"; detail={freshness.reason}" if freshness.reason else ""
    return f"{CACHE}; {handled}; ttl={math.floor(freshness.ttl_seconds)}{detail}"
