"""Response to a read, from bytes that may be cached with a snapshot."""

from collections.abc import Iterable

from starlette.types import Receive, Scope, Send

from gateway.telemetry.events import current_event
from gateway.web.answers import CACHING
from gateway.web.cache_status import freshness_lines, outcome
from gateway.web.head import Head, is_known
from gateway.web.media_types import JSON
from gateway.worksheets.answers import Encoded, Served

RawHeaders = list[tuple[bytes, bytes]]

_CACHING = (b"cache-control", CACHING.encode("ascii"))
_JSON = (b"content-type", JSON.encode("ascii"))


class CachedResponse:
    """Bytes and header lines that go out as they are: there is nothing left to work out."""

    def __init__(self, status: int, headers: RawHeaders, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

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
