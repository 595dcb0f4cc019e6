"""uvicorn request cycles: answers in one write, and answers that are the last of a connection.

uvicorn writes the head before it knows the body, checks each header line by two regular
expressions, and the system is called twice. An answer that is whole, as all of ours are, needs
neither. Whatever is out of the ordinary goes uvicorn's way.
"""

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
_LARGE_BYTES = 65_536
"""From here on copying a body costs more than a second write."""


class Upload:
    """Wraps the application for one request with a body.

    Reading a body that broke off raises its error, so that the application answers it like all
    others. An answer without having read a body of unknown or great length is the last of its
    connection, which would else be held by what nobody wants; so is one to a client that waits to
    be asked for its body, as it may or may not send it. What the network brought so far does not
    count: equal requests have equal answers.
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
        """No more will come of the body."""
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
                end_with(self.cycle, self._linger)
        await self.cycle.send(message)  # type: ignore[arg-type]  # ASGI, typed elsewhere


def refusal_cycle(
    connection: HttpToolsProtocol, error: GatewayError, *, has_request: bool
) -> RequestResponseCycle:
    """A cycle for a request that the parser did not finish, or did not even begin."""
    url = connection.url if has_request else b""
    scope = refusal_scope(
        error,
        # Before the URL the parser has the method of the request before.
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


def end_with(cycle: RequestResponseCycle, linger: Callable[[], None]) -> None:
    """Make the answer of this cycle the last of its connection, which then lingers."""
    cycle.keep_alive = False
    cycle.transport = cast(asyncio.Transport, _Lingering(cycle.transport, linger))


class _Lingering:
    """A transport that is not closed while the client may still be sending.

    Closing it then would reset the connection, and the client could lose the answer.
    """

    def __init__(self, transport: asyncio.Transport, linger: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = linger


class JoinedCycle(RequestResponseCycle):
    """Holds an answer's head back until its body comes."""

    held: Any = None
    body_bytes = 0
    """Of a body that is written by itself."""

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start" and not self.response_started:
            self.held = message  # one that comes instead of another tells of a failure between
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
        """The head of an answer that is ready to go; None if there is anything to it."""
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
            or len(body) > _LARGE_BYTES
        ):
            return None
        return _lines(STATUS_LINE[status], [*self.default_headers, *start["headers"]], len(body))


def _lines(first: bytes, headers: Sequence[tuple[bytes, bytes]], length: int) -> bytes | None:
    """A head, if its length is told and right, and no line of it holds another."""
    parts = [first]
    told = -1
    for name, value in headers:
        if name == b"content-length":
            told = int(value)
        elif name in _UNUSUAL:
            return None
        parts += (name, b": ", value, b"\r\n")
    parts.append(b"\r\n")
    head = b"".join(parts)
    ends = len(headers) + 2
    is_sound = head.count(b"\n") == ends == head.count(b"\r") and not _CONTROL.search(head)
    return head if is_sound and told == length else None
