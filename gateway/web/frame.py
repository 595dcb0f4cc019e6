"""ASGI application: common work for all requests, and routing to a handler.

Rules
- Each request gets an answer with the common header lines, writes one log line, and ends its
  rate-limit lease (`RateLease`): it no longer counts as a concurrent request of its key.
- Paths are split before decoding.
- CORS allows all origins, without credentials. A preflight has no key, so all preflights get the
  same answer. Keys can restrict origins: the request after the preflight is checked.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from functools import lru_cache
from random import getrandbits
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.routing import Router
from starlette.types import Lifespan, Receive, Scope, Send

from gateway import errors
from gateway.settings.model import ServerSettings
from gateway.telemetry import events
from gateway.web.answers import Answer
from gateway.web.compression import compressed_answer
from gateway.web.error_responses import error_answer, missing_method, missing_route
from gateway.web.head import HEAD, Head, head_of, takes_gzip
from gateway.web.openapi.document import describe
from gateway.web.operations import OF_ROW, OF_SCHEMA, OF_SPREADSHEET, OF_WORKSHEET
from gateway.web.pages import docs, docs_file, home, livez, readyz
from gateway.web.request import HeaderLines, Request
from gateway.web.rows import carry_out

EXPOSED = (
    "Age, Allow, Cache-Status, ETag, Idempotent-Replayed, Link, Location, RateLimit, "
    "RateLimit-Policy, Retry-After, Server-Timing, WWW-Authenticate, X-Ignored-Fields, "
    "X-Request-Id, X-Total-Count"
)
METHODS = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
"""Methods that CORS allows at all paths, so that pages can read a 405."""
PREFLIGHT_SECONDS = 86_400

ANY_PROGRAM = [(b"vary", b"Origin")]
"""CORS lines of answers to requests without `Origin`."""

_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
ANY_PAGE = [
    _ANY_ORIGIN,
    (b"access-control-expose-headers", EXPOSED.encode("ascii")),
    (b"vary", b"Origin"),
]
"""CORS lines of answers to requests with an `Origin`."""

_OF_PREFLIGHTS = {b"origin", b"access-control-request-method"}
_HEADERS_ASKED = b"access-control-request-headers"
_FOR_PREFLIGHTS = [
    _ANY_ORIGIN,
    (b"access-control-allow-methods", METHODS.encode("ascii")),
    (b"access-control-max-age", b"%d" % PREFLIGHT_SECONDS),
    (b"vary", b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
]

CLIENT_GONE = 499
"""Status in the log of a request whose client disconnected before the answer."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SAFETY = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_NO_CALL = (b"server-timing", b"google;dur=0.0")
_WINDOW_SECONDS = 60
_KEPT_POLICIES = 64


class Frame:
    """ASGI application that answers requests with `respond`.

    With `is_private`, answers have no CORS lines, so that pages of other origins cannot read them.
    """

    def __init__(
        self,
        respond: Callable[[Request], Awaitable[Answer]],
        settings: ServerSettings,
        lifespan: Lifespan[Any] | None = None,
        *,
        is_private: bool = False,
    ) -> None:
        self._respond = respond
        self._settings = settings
        self._is_private = is_private
        self.router = Router(lifespan=lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.router(scope, receive, send)
            return
        started = time.perf_counter()
        # A worksheet's name can contain an encoded slash: the path is split before decoding.
        path = scope["path"] = scope["raw_path"].decode("latin-1").removesuffix("/") or "/"
        head: Head = scope.get(HEAD) or head_of(scope)
        given = head.first(b"x-request-id") if b"x-request-id" in head.lines else None
        is_valid = given is not None and _REQUEST_ID.fullmatch(given) is not None
        request_id = given if given and is_valid else getrandbits(64).to_bytes(8).hex()
        event = events.RequestEvent(request_id, scope["method"], path)
        cors: HeaderLines = ANY_PAGE if b"origin" in head.lines else ANY_PROGRAM
        if self._is_private:
            cors = ()
        request = Request(scope, receive, head, event, scope["state"], cors)
        token = events.begin_event(event)
        rows = size = 0
        try:
            try:
                is_open = not self._is_private
                if event.method == "OPTIONS" and is_open and head.lines.keys() >= _OF_PREFLIGHTS:
                    request.cors = preflight_lines(head)
                    answer = Answer(204, ())
                else:
                    url_bytes = len(scope["raw_path"]) + 1 + len(scope["query_string"])
                    # The server does not limit a head that arrives in a single packet.
                    if url_bytes > (most := self._settings.max_url_bytes):
                        raise errors.UriTooLong(
                            f"The URL exceeds the limit of {most} bytes. Shorten it."
                        )
                    if url_bytes + head.byte_count > (most := self._settings.max_head_bytes):
                        raise errors.HeadersTooLarge(
                            f"URL and headers exceed the limit of {most} bytes. Shorten them."
                        )
                    answer = await self._respond(request)
            except errors.GatewayError as error:
                answer = error_answer(request, error)
            size = await _send(request, answer, send)
            rows = answer.rows if event.method != "HEAD" else 0
        except ClientDisconnect:
            event.status = CLIENT_GONE
        except asyncio.CancelledError:  # the server stops, and waits no longer for requests
            if not event.status:
                stopping = errors.ShuttingDown(retry_after_seconds=5)
                await _send(request, error_answer(request, stopping), send)
        except Exception as error:  # the log gets all details, the client an error with the ID
            events.request_failed(event, error)
            if event.status:  # the answer has begun: the server closes the connection
                event.code = errors.InternalError.code
            else:
                await _send(request, error_answer(request, errors.InternalError()), send)
        finally:
            if request.lease is not None:
                request.lease.leave()
            events.request_done(event, time.perf_counter() - started, rows, size)
            events.end_event(token)


async def _send(request: Request, answer: Answer, send: Send) -> int:
    """Send an answer with the common header lines.

    Returns the size of the body in bytes, or 0 for a generated body, whose size is in the event.
    """
    event, lines = request.event, request.head.lines
    is_asked = answer.may_be_compressed and b"accept-encoding" in lines
    if is_asked and takes_gzip(lines[b"accept-encoding"]):
        answer = await compressed_answer(answer)
    body, first = answer.body, b""
    # For an abstract class `isinstance` takes as long as ten conditions.
    if not isinstance(body, bytes) and isinstance(body, AsyncGenerator) and event.method != "HEAD":
        try:  # an error before the first byte gets an error answer
            first = await anext(body, b"")
        except errors.GatewayError as error:
            return await _send(request, error_answer(request, error), send)
    event.status = answer.status
    headers = [
        *answer.headers,
        *request.cors,
        (b"x-request-id", event.id.encode("ascii")),
        (b"server-timing", b"google;dur=%.1f" % event.google_ms) if event.google_ms else _NO_CALL,
        *_SAFETY,
    ]
    lease = request.lease
    if lease is not None and lease.limits.per_minute:
        # draft-ietf-httpapi-ratelimit-headers: `r` requests can be sent at once. After `t` seconds
        # one more can be sent if `r` is 0, otherwise the maximum.
        standing = lease.standing()
        rate = b'"default";r=%d;t=%d' % (standing.remaining, standing.seconds)
        headers += (b"ratelimit", rate), _policy(lease.limits.per_minute)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if isinstance(body, bytes):
        await send({"type": "http.response.body", "body": body})
        return len(body) if event.method != "HEAD" else 0
    size = 0
    if not isinstance(body, AsyncGenerator):
        for part in body if event.method != "HEAD" else ():
            await send({"type": "http.response.body", "body": part, "more_body": True})
            size += len(part)
    elif event.method != "HEAD":
        event.bytes = 0
        async with aclosing(body):
            while first:  # only an empty body has an empty part
                await send({"type": "http.response.body", "body": first, "more_body": True})
                event.bytes += len(first)
                first = await anext(body, b"")
    await send({"type": "http.response.body", "body": b""})
    return size


def preflight_lines(head: Head) -> HeaderLines:
    """Return the CORS lines of a preflight. They allow all requested headers by name.

    `*` would not allow Authorization.
    """
    asked = head.lines.get(_HEADERS_ASKED, ())
    allowed = [(b"access-control-allow-headers", b", ".join(asked))] if asked else []
    return [*_FOR_PREFLIGHTS, *allowed]


@lru_cache(_KEPT_POLICIES)
def _policy(per_minute: int) -> tuple[bytes, bytes]:
    return b"ratelimit-policy", b'"default";q=%d;w=%d' % (per_minute, _WINDOW_SECONDS)


_PAGES: Mapping[str, Callable[[Request], Awaitable[Answer]]] = {
    "/": home,
    "/docs": docs,
    "/livez": livez,
    "/openapi.json": describe,
    "/readyz": readyz,
}
"""Handlers of GET by path."""


def respond(request: Request) -> Awaitable[Answer]:
    """Return the coroutine that answers a request. Raises RouteNotFound and Gone."""
    path, method = request.event.path, request.event.method
    handle: Callable[[Request], Awaitable[Answer]] | None
    match path.split("/"):
        case ["", "v2", "sheets", title] if title:
            request.title = title
            return carry_out(request, OF_WORKSHEET)
        case ["", "v2", "sheets", title, "schema"] if title:
            request.title = title
            return carry_out(request, OF_SCHEMA)
        case ["", "v2", "sheets", title, row] if title and row:
            request.title, request.row = title, row
            return carry_out(request, OF_ROW)
        # A path with a slash at its end lacks the name of a worksheet.
        case ["", "v2", "sheets"] if not request.scope["raw_path"].endswith(b"/"):
            return carry_out(request, OF_SPREADSHEET)
        case ["", "v1", *_]:
            if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
                raise errors.Gone
            return _other_method(request, ("GET", "POST", "PUT", "PATCH", "DELETE"))
        case ["", "docs", file] if file:
            handle = docs_file
        case _:
            handle = _PAGES.get(path)
    if handle is None:
        raise missing_route(request)
    return handle(request) if method in ("GET", "HEAD") else _other_method(request, ("GET",))


async def _other_method(request: Request, methods: Collection[str]) -> Answer:
    return missing_method(request, methods)
