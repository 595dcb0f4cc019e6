"""Middleware around every request: id, log line, limits, error net.

Rules: pure ASGI. Whatever happens, the client gets an answer in the contract's form with the
common headers, the log gets one line, and the key gets back its place among the requests under
way. CORS stands between the two, so that errors that the net makes carry its headers too.
"""

import asyncio
import os
import re
import time

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import GatewayError, HeadersTooLarge, InternalError, ShuttingDown, UriTooLong
from gateway.settings.model import ServerSettings
from gateway.telemetry.events import (
    RequestEvent,
    current_event,
    request_done,
    request_event,
    request_failed,
)
from gateway.web.error_responses import error_response
from gateway.web.head import head_of
from gateway.web.rate_lease import end_lease, rate_lines

CLIENT_GONE = 499
"""Status in the log only, for a client that left before it was answered."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SAFETY = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_NO_GOOGLE = b"google;dur=0.0"


class RequestFrame:
    """Opens and closes the event of each request; routes see the raw path without a last slash."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # A name may hold an encoded slash: nothing is decoded before the path is split.
        scope["path"] = scope["raw_path"].decode("latin-1").removesuffix("/") or "/"
        event = RequestEvent(
            request_id=_request_id(head_of(scope).first(b"x-request-id")),
            method=scope["method"],
            path=scope["path"],
        )
        started = time.perf_counter()
        with request_event(event):
            try:
                await self._app(scope, receive, _framed(send, event, scope))
            finally:
                end_lease(scope)
                event.seconds = time.perf_counter() - started
                request_done(event)


class ErrorNet:
    """Refuses heads over their limits and answers for whatever nothing inside could answer."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        event = current_event()
        try:
            check_head(scope, self._settings)
            await self._app(scope, receive, send)
        except ClientDisconnect:
            if event is not None:
                event.status = CLIENT_GONE
        except GatewayError as error:
            await error_response(Request(scope), error)(scope, receive, send)
        except asyncio.CancelledError:  # the server's time to stop is over
            if event is None or not event.status:
                await error_response(Request(scope), _stopping())(scope, receive, send)
        except Exception as error:  # the edge: the log has all of it, the client an answer
            request_failed(event, error)
            if event is None or not event.status:
                await error_response(Request(scope), _fault_of_ours())(scope, receive, send)


def check_head(scope: Scope, settings: ServerSettings) -> None:
    """Refuse a URL or head over its limit, also one that came in a single packet."""
    url_bytes = len(scope["raw_path"]) + 1 + len(scope["query_string"])
    if url_bytes > settings.max_url_bytes:
        raise UriTooLong(f"The URL is longer than {settings.max_url_bytes} bytes.")
    head_bytes = url_bytes + head_of(scope).byte_count
    if head_bytes > settings.max_head_bytes:
        raise HeadersTooLarge(f"The headers are longer than {settings.max_head_bytes} bytes.")


def _framed(send: Send, event: RequestEvent, scope: Scope) -> Send:
    """A `send` that notes the status and adds the headers that all answers have."""

    async def send_framed(message: Message) -> None:
        if message["type"] == "http.response.start":
            event.status = message["status"]
            message["headers"] = [
                *message["headers"],
                (b"x-request-id", event.request_id.encode("ascii")),
                (b"server-timing", _timing(event)),
                *_SAFETY,
                *rate_lines(scope),
            ]
        await send(message)

    return send_framed


def _request_id(given: str | None) -> str:
    """The client's own id if it is one, else a new one."""
    return given if given and _REQUEST_ID.fullmatch(given) else os.urandom(8).hex()


def _timing(event: RequestEvent) -> bytes:
    if not event.upstream_seconds:
        return _NO_GOOGLE
    return b"google;dur=%.1f" % (event.upstream_seconds * 1000)


def _stopping() -> ShuttingDown:
    return ShuttingDown("The gateway is shutting down. Send it again.", retry_after_seconds=5)


def _fault_of_ours() -> InternalError:
    return InternalError(
        "The gateway failed. Tell its operator the requestId; the log has the rest."
    )
