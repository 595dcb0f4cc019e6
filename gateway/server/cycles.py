"""uvicorn request cycles: early answers to uploads, refusals, and head and body in one write."""

import asyncio
import re
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from gateway.errors import GatewayError
from gateway.server.refusals import refusal_scope

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNUSUAL = frozenset((b"connection", b"transfer-encoding"))
_SEPARATE_WRITE_BYTES = 65_536
"""Above this size, copying a body costs more than a second write."""


class Upload:
    """Wraps the application for one request with a body.

    If the body breaks off, reading it raises the error, so that the application answers it like any
    other. If the application answers without reading a body of unknown or excessive length, the
    connection closes: otherwise it would stay busy with an unwanted body. It also closes if the
    client waits for `100 Continue`, because the client may or may not send the body then. How much
    has arrived so far does not matter: equal requests have equal answers.
    """

    cycle: RequestResponseCycle

    def __init__(self, app: ASGIApp, linger: Callable[[], None], *, is_short: bool) -> None:
        self._app = app
        self._linger = linger
        self._is_short = is_short
        self._is_read = False
        self._fault: GatewayError | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, self._receive, self._send)

    def break_off(self, fault: GatewayError) -> None:
        """Fail further reads of the body with this error."""
        self._fault = fault
        self.cycle.message_event.set()

    async def _receive(self) -> Message:
        message = cast(Message, await self.cycle.receive())
        if message["type"] == "http.request" and not message["more_body"]:
            self._is_read = True
        elif self._fault is not None:
            raise self._fault
        return message

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not self._is_read:
            is_late = self._fault is not None or message["status"] == HTTPStatus.REQUEST_TIMEOUT
            if is_late or not self._is_short or self.cycle.waiting_for_100_continue:
                close_after(self.cycle, self._linger)
        await self.cycle.send(message)  # type: ignore[arg-type]  # ASGI, typed elsewhere


def refusal_cycle(
    connection: HttpToolsProtocol, error: GatewayError, *, has_request: bool
) -> RequestResponseCycle:
    """A cycle that refuses an incomplete or missing request."""
    url = connection.url if has_request else b""
    scope = refusal_scope(
        error,
        # Before the URL arrives, the parser still has the previous request's method.
        method=connection.parser.get_method().decode("ascii") if url else "",
        url=url,
        headers=connection.headers if has_request else (),
    )
    return RequestResponseCycle(
        scope=scope,  # type: ignore[arg-type]  # ASGI, typed elsewhere
        transport=connection.transport,
        flow=connection.flow,
        logger=connection.logger,
        access_logger=connection.access_logger,
        access_log=connection.access_log,
        default_headers=connection.server_state.default_headers,
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=False,
        on_response=connection.on_response_complete,
    )


def close_after(cycle: RequestResponseCycle, linger: Callable[[], None]) -> None:
    """Make this answer the last of its connection, which then lingers."""
    cycle.keep_alive = False
    cycle.transport = cast(asyncio.Transport, _Lingering(cycle.transport, linger))


class _Lingering:
    """A transport whose `close` lingers instead.

    Closing while the client is still sending would reset the connection, and the client could lose
    the answer.
    """

    def __init__(self, transport: asyncio.Transport, linger: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = linger


class JoinedCycle(RequestResponseCycle):
    """Sends head and body of an answer in one write.

    uvicorn writes the head first, checks each header line with two regular expressions, and needs
    two system calls. A complete answer, as all of ours are, needs neither. All other answers take
    uvicorn's path.
    """

    held: Any = None
    body_bytes = 0
    """Size of a body written separately."""

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start" and not self.response_started:
            self.held = (
                message  # a second start means that the application failed after the first one
            )
            return
        start, self.held = self.held, None
        head = self._head(start, message) if start is not None else None
        if head is None:
            if start is not None:
                await super().send(start)
            self.body_bytes = len(message.get("body", b""))
            await super().send(message)
            return
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = self.chunked_encoding = False
        self.expected_content_length = 0
        self.transport.write(head + message.get("body", b""))
        self.message_event.set()
        self.on_response()

    def _head(self, start: Any, message: Any) -> bytes | None:
        """The head of a complete, ordinary answer; None for any other."""
        body = message.get("body", b"")
        status, scope = start["status"], cast(Any, self.scope)
        if (
            message.get("more_body")
            or not self.keep_alive
            or self.response_started
            or self.disconnected
            or self.flow.write_paused
            or self.access_log
            or status != 200
            or scope["method"] == "HEAD"
            or len(body) > _SEPARATE_WRITE_BYTES
        ):
            return None
        return _lines(STATUS_LINE[status], [*self.default_headers, *start["headers"]], len(body))


def _lines(first: bytes, headers: Sequence[tuple[bytes, bytes]], length: int) -> bytes | None:
    """The encoded head; None if Content-Length is wrong or a line contains another."""
    parts = [first]
    content_length = -1
    for name, value in headers:
        if name == b"content-length":
            content_length = int(value)
        elif name in _UNUSUAL:
            return None
        parts += (name, b": ", value, b"\r\n")
    parts.append(b"\r\n")
    head = b"".join(parts)
    ends = len(headers) + 2
    is_valid = head.count(b"\n") == ends == head.count(b"\r") and not _CONTROL.search(head)
    return head if is_valid and content_length == length else None
