"""Middleware of every request: ID, log line, CORS, rate headers, limits, error net.

Rules: pure ASGI. Every request gets an answer with the common headers and one log line, and returns
its place among the concurrent requests. Headers are added outside the net, so that its errors have
them too.
"""

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.access.rates import RateLease
from gateway.errors import GatewayError, HeadersTooLarge, InternalError, ShuttingDown, UriTooLong
from gateway.settings.model import ServerSettings
from gateway.telemetry.events import (
    RequestEvent,
    begin_event,
    current_event,
    end_event,
    request_done,
    request_failed,
)
from gateway.web.admission import RATE_LEASE
from gateway.web.cors import ANY_PAGE, ANY_PROGRAM, is_preflight, preflight_lines
from gateway.web.error_responses import error_response
from gateway.web.head import Head, head_of

CLIENT_GONE = 499
"""Status, in the log only, for a client that disconnected before its answer."""

Handler = Callable[[Request[Any]], Awaitable[Any]]
"""Returns the answer, itself an ASGI application."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SAFETY = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_WINDOW_SECONDS = 60
_KEPT_POLICIES = 64


class RequestFrame:
    """Opens and closes the event of each request; routes see the raw path without a last slash."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # A name may contain an encoded slash: the path is split before decoding.
        scope["path"] = scope["raw_path"].decode("latin-1").removesuffix("/") or "/"
        head, method = head_of(scope), scope["method"]
        event = RequestEvent(
            request_id=_request_id(head),
            method=method,
            path=scope["path"],
        )
        cors = ANY_PAGE if b"origin" in head.lines else ANY_PROGRAM

        async def send_framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                event.status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    *cors,
                    (b"x-request-id", event.request_id.encode("ascii")),
                    (b"server-timing", b"google;dur=%.1f" % (event.upstream_seconds * 1000)),
                    *_SAFETY,
                    *rate_lines(scope.get(RATE_LEASE)),
                ]
            await send(message)

        started = time.perf_counter()
        token = begin_event(event)
        try:
            if method == "OPTIONS" and is_preflight(head):
                cors = preflight_lines(head)
                await send_framed({"type": "http.response.start", "status": 204, "headers": []})
                await send_framed({"type": "http.response.body", "body": b""})
            else:
                await self._app(scope, receive, send_framed)
        finally:
            lease: RateLease | None = scope.get(RATE_LEASE)
            if lease is not None:
                lease.leave()
            event.seconds = time.perf_counter() - started
            request_done(event)
            end_event(token)


class ErrorNet:
    """Refuses heads that exceed the limits, and answers all unhandled errors."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            check_head(scope, self._settings)
            await self._app(scope, receive, send)
        except ClientDisconnect:
            event = current_event()
            if event is not None:
                event.status = CLIENT_GONE
        except GatewayError as error:
            await error_response(Request(scope), error)(scope, receive, send)
        except asyncio.CancelledError:  # the server's time to stop is over
            if not _is_answered():
                await error_response(Request(scope), _stopping())(scope, receive, send)
        except Exception as error:  # the edge: full details go to the log, an error to the client
            request_failed(current_event(), error)
            if not _is_answered():
                await error_response(Request(scope), _fault_of_ours())(scope, receive, send)


class Endpoint:
    """Wraps a handler as an ASGI application.

    Starlette would wrap functions in a second error handler; the first one, around all routes,
    suffices.
    """

    def __init__(self, handle: Handler) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = await self._handle(Request(scope, receive, send))
        await answer(scope, receive, send)


def check_head(scope: Scope, settings: ServerSettings) -> None:
    """Refuse a URL or head that exceeds its limit, also one that arrived in a single packet."""
    url_bytes = len(scope["raw_path"]) + 1 + len(scope["query_string"])
    if url_bytes > settings.max_url_bytes:
        raise UriTooLong(f"The URL is longer than {settings.max_url_bytes} bytes.")
    head_bytes = url_bytes + head_of(scope).byte_count
    if head_bytes > settings.max_head_bytes:
        raise HeadersTooLarge(f"The headers are longer than {settings.max_head_bytes} bytes.")


def _request_id(head: Head) -> str:
    """The client's ID if valid, otherwise a new one."""
    given = head.first(b"x-request-id") if b"x-request-id" in head.lines else None
    return given if given and _REQUEST_ID.fullmatch(given) else os.urandom(8).hex()


def rate_lines(lease: RateLease | None) -> Sequence[tuple[bytes, bytes]]:
    """`RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers.

    `r` requests may be sent at once. After `t` seconds it is one if `r` is 0, otherwise the
    maximum.
    """
    if lease is None or not lease.limits.per_minute:
        return ()
    standing = b'"default";r=%d;t=%d' % lease.standing()
    return (b"ratelimit", standing), _policy(lease.limits.per_minute)


@lru_cache(_KEPT_POLICIES)
def _policy(per_minute: int) -> tuple[bytes, bytes]:
    return b"ratelimit-policy", b'"default";q=%d;w=%d' % (per_minute, _WINDOW_SECONDS)


def _is_answered() -> bool:
    event = current_event()
    return event is not None and event.status > 0


def _stopping() -> ShuttingDown:
    return ShuttingDown("The gateway is shutting down. Send it again.", retry_after_seconds=5)


def _fault_of_ours() -> InternalError:
    return InternalError(
        "The gateway failed. Tell its operator the requestId; the log has the rest."
    )
