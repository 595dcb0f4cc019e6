"""HTTP/1.1 connection of a client, with deadlines, size limits and one request at a time.

Rules:
- uvicorn or the `Acceptor` creates a `Connection` for each accepted socket. To stop, uvicorn calls
  `shutdown`, and waits for the connections and tasks in `server_state`. The gateway uses no other
  part of uvicorn here.
- A normal request needs no timer: the `Sweeper` compares deadlines with its clock.
- The connection reads a request head of up to `HEAD_ROOM` times `max_head_bytes`. The application
  then refuses a head above `max_head_bytes`.
- If the connection itself refuses a request, `Edge.refusing_app` makes the error answer. It is sent
  after the answers to earlier requests, and closes the connection.
- Bytes of the next request stay unparsed until the answer is sent, up to `READ_BYTES` of them.
  Nothing is read while the write buffer contains a part of an answer.
- A read has at most `READ_BYTES`, less the unparsed bytes of the connection. A plain asyncio
  protocol would get up to 256 KB. Unread bytes stay in the kernel's buffer, which slows the client
  down.
- uvloop and asyncio fill the buffer right after `get_buffer`, and call `buffer_updated` in the same
  iteration of the event loop. So all connections of a loop share one buffer.

Rules of answers:
- The head of an answer is sent in one write with the first bytes of the body. If the application
  fails before these bytes, the client gets a 500.
- If the application answers without reading a request body of unknown or excessive length, the
  connection closes after the answer. Otherwise it would stay busy with an unwanted body. It also
  closes if the client waits for `100 Continue`, because the client might send the body or not. How
  much of the body has arrived does not matter, so that equal requests get equal answers.
- If the request body is invalid or does not arrive in time, `receive` raises the error, and the
  application answers it like any other error.
- An answer of unknown length is sent in chunks. HTTP/1.0 has no chunks, so there the end of the
  connection ends the answer. If the application fails in the middle of a body, the connection is
  reset, so that the client does not take the body for complete.
- If the client disconnects while the application sends a body in parts, `send` raises
  ClientDisconnect for the next part.
"""

import asyncio
import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import httptools
import uvicorn
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Scope

from gateway import errors
from gateway.server import limits
from gateway.server.intake import (
    BETWEEN,
    BODY,
    IN_BODY,
    IN_HEAD,
    MAX_HEADER_LINES,
    Intake,
    check_framing,
    whole_requests,
    without_upgrade,
)
from gateway.server.slots import NEVER, PeerName, Slot
from gateway.server.unread import cut_off
from gateway.web.head import HEAD, read_head
from gateway.web.request import HeaderLines

_METHODS = ("GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_FIRST_LINES = {each: f"HTTP/1.1 {each.value} {each.phrase}".encode() for each in HTTPStatus}
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_LINE_FEED, _RETURN, _NULL = b"\n\r\0"
_SEPARATE_WRITE_BYTES = 65_536
"""Minimum bytes of a body part that is not joined with the head, because joining copies it."""
_MAX_KEPT_BYTES = 65_536
"""Bytes of a request body above which reading pauses until the application has read them."""
_FAILED: Sequence[Message] = (
    {
        "type": "http.response.start",
        "status": 500,
        "headers": [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"21"),
            (b"connection", b"close"),
        ],
    },
    {"type": "http.response.body", "body": b"Internal Server Error"},
)

_log = logging.getLogger("uvicorn.error")


class Connection(asyncio.BufferedProtocol):
    """Parses the requests of a client with httptools, and runs the application for each in turn."""

    transport: asyncio.Transport

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: Any,  # uvicorn's ServerState, which has types for uvicorn's protocols
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        edge: limits.Edge,
    ) -> None:
        self._app: Any = config.loaded_app  # an ASGI application
        self.loop = _loop or asyncio.get_running_loop()
        self.server_state = server_state
        self.tasks: set[asyncio.Task[None]] = server_state.tasks
        self._app_state = app_state
        self.edge = edge
        self._settings = edge.settings
        self._sweeper = edge.sweeper
        self.deadline = NEVER
        self.unread_deadline = NEVER
        self._parser = httptools.HttpRequestParser(self)
        self._intake = Intake(edge.settings)
        self._slot = Slot(edge.slots, self)
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._exchange: Exchange | None = None  # latest request and answer
        self.waiting = b""  # pipelined bytes behind the current request
        self.is_write_paused = False
        self._ignores_input = False  # input is discarded
        self._is_ending = False  # closing; the client might not have read the answer yet
        self._has_eof = False  # the client sends no more bytes
        self.writable = asyncio.Event()
        """Set when the write buffer is empty, or when the client has disconnected."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        end = transport.get_extra_info("socket")
        try:
            client = end.getpeername()
        except OSError:  # the client has disconnected
            client = None
        server = end.getsockname()
        self._client: PeerName = client[:2] if isinstance(client, tuple) else None
        self._server: PeerName = server[:2] if isinstance(server, tuple) else (server, None)
        connections = self.server_state.connections
        connections.add(self)
        if self.edge.acceptor is not None:
            self.edge.acceptor.look_soon()
        transport.set_write_buffer_limits(0)  # an answer that cannot be sent at once pauses writing
        draining = limits.DRAIN_SECONDS if self.edge.is_draining else NEVER
        self.deadline = self._sweeper.after(min(self._settings.head_timeout_seconds, draining))
        excess = self._slot.take(self._client, self._server, len(connections))
        if excess > limits.MAX_REFUSED:
            self._ignores_input = True
            transport.abort()
        elif excess > 0:
            self.refuse(limits.too_many_connections())
        else:
            # Later: a request that arrived with the connection is read first.
            self.loop.call_soon(self._begin_idle)

    def _begin_idle(self) -> None:
        if self.is_idle:
            self._slot.set_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self.server_state.connections.discard(self)
        self._ignores_input = True
        self._slot.free()
        self.edge.unread.end(self.transport)
        self.edge.pipelines.waiting.pop(self, None)
        self.waiting = b""
        self.writable.set()
        if self._exchange is not None:
            self._exchange.disconnect()

    @property
    def is_idle(self) -> bool:
        """True if the connection waits for the first byte of a request."""
        is_free = not (self._ignores_input or self.waiting or self._is_answering)
        return is_free and self._intake.phase == BETWEEN

    @property
    def _is_answering(self) -> bool:
        """True if a complete request has arrived and the answer has not been sent."""
        if self._exchange is None or self._intake.phase != BETWEEN:
            return False
        return self.is_write_paused or not self._exchange.is_complete

    # Incoming bytes

    def get_buffer(self, sizehint: int) -> memoryview:
        buffer = self.edge.buffer
        return buffer[: max(limits.READ_BYTES - len(self.waiting), 1)] if self.waiting else buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse bytes up to the end of a request. Further bytes wait until the answer is sent."""
        is_queued = bool(self.waiting) and self in self.edge.pipelines.waiting
        self.waiting += self.edge.buffer[:nbytes]
        while self.waiting and not (is_queued or self._ignores_input or self._is_answering):
            size = self._intake.take(self.waiting)
            portion, self.waiting = self.waiting[:size], self.waiting[size:]
            self._feed(portion)
        if self._ignores_input:
            self.waiting = b""
        elif len(self.waiting) >= limits.READ_BYTES:
            self.transport.pause_reading()

    def _feed(self, data: bytes) -> None:
        intake, settings = self._intake, self._settings
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._reparse_without_upgrade(data[upgrade.args[0] :])
            return
        except httptools.HttpParserError as error:
            if not self._ignores_input:
                self.refuse(limits.unreadable(error))
            return
        if intake.phase == BETWEEN:
            return
        if self.deadline == NEVER:
            is_head = intake.phase == IN_HEAD
            seconds = settings.head_timeout_seconds if is_head else settings.body_timeout_seconds
            self.deadline = self._sweeper.after(seconds)
        if intake.room <= 0 and len(self._url) > settings.max_url_bytes:
            message = f"The URL exceeds the limit of {settings.max_url_bytes} bytes. Shorten it."
            self.refuse(errors.UriTooLong(message))
        elif intake.room <= 0:
            noun = "URL and headers" if intake.phase == IN_HEAD else "The trailers"
            message = f"{noun} exceed the limit of {settings.max_head_bytes} bytes. Shorten them."
            self.refuse(errors.HeadersTooLarge(message))
        elif intake.phase in BODY and intake.body_room <= 0:
            message = (
                f"The chunks of the body take far more than {settings.max_body_bytes} bytes "
                "with their framing. Send fewer, larger chunks."
            )
            self.refuse(errors.BodyTooLarge(message))

    def _reparse_without_upgrade(self, rest: bytes) -> None:
        """Parse the request again without its Upgrade header, which a server can ignore.

        With this header, the parser would parse the request's body as the next request.
        """
        method, version = self._parser.get_method(), self._parser.get_http_version()
        if method == b"CONNECT":
            message = f"CONNECT is not supported; allowed: {', '.join(_METHODS)}."
            self.refuse(errors.MethodNotAllowed(message, allowed_methods=_METHODS))
            return
        self._parser = httptools.HttpRequestParser(self)
        self._intake.phase = BETWEEN
        again = without_upgrade(method, self._url, version, self._headers)
        self.waiting = again + rest + self.waiting

    def eof_received(self) -> bool:
        """Handle the end of the client's input. Returns True to stay open for unsent answers."""
        if self._intake.phase in BODY and not self._ignores_input:
            return False  # the end of the body will not arrive
        self.waiting = whole_requests(self.waiting)
        if not self.waiting:
            if self._exchange is None or self._exchange.is_complete:
                return False
            self._close_after_answer(self._exchange)
        self._has_eof = True
        self.deadline = NEVER
        return True

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        self._url, self._headers = b"", []
        self._intake.phase = IN_HEAD
        self.deadline = NEVER  # `_feed` sets it if the head is incomplete

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._headers) >= MAX_HEADER_LINES:
            raise errors.HeadersTooLarge(
                f"The request has more than {MAX_HEADER_LINES} header lines. Send fewer headers."
            )
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        parser, headers = self._parser, self._headers
        if parser.should_upgrade():
            return  # parsed again without the Upgrade header
        version = parser.get_http_version()
        head = read_head(headers)
        body_bytes, expects_continue = check_framing(version, self._url, head)
        url = httptools.parse_url(self._url)
        path = url.path.decode("ascii")
        scope: Scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self._server,
            "client": self._client,
            "scheme": "http",
            "root_path": "",
            "method": parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": url.path,
            "query_string": url.query or b"",
            "headers": headers,
            "state": self._app_state,  # not a copy: the application does not change it
            HEAD: head,
        }
        app = self._app
        if self._slot.is_proxy and not self._slot.begin_request(scope):
            app = self.edge.refusing_app
            scope[limits.ERROR] = limits.too_many_connections()
        exchange = self._exchange = Exchange(self, app, scope, body_bytes, expects_continue)
        self._headers = []  # discards trailers
        self._intake.begin_body(body_bytes)
        self.deadline = NEVER
        if self.edge.is_draining or version == "1.0" or not parser.should_keep_alive():
            self._close_after_answer(exchange)

    def on_chunk_header(self) -> None:
        self._intake.begin_chunk()

    def on_body(self, body: bytes) -> None:
        self._intake.phase = IN_BODY
        self._intake.body_left -= len(body)
        if self._exchange is not None:
            self._exchange.feed(body)

    def on_message_complete(self) -> None:
        exchange = self._exchange
        if self._intake.phase == IN_HEAD or exchange is None:
            return  # parsed again, see on_headers_complete
        exchange.end_body()
        self._intake.phase = BETWEEN
        self.deadline = NEVER
        if self._has_eof and not self.waiting:
            self._close_after_answer(exchange)
        if exchange.is_last:
            self._ignores_input = True
        if exchange.is_complete and not self.is_write_paused:
            self._after_answer()

    # End of an answer and of the connection

    def end_answer(self) -> None:
        """Begin the next request, or close. Called after the last byte of an answer was written."""
        if self._exchange is not None and self._exchange.is_last:
            self._linger()
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._is_ending = True
            self.deadline = self._sweeper.after(self._settings.answer_timeout_seconds)
        elif not self.is_write_paused:
            self._after_answer()

    def pause_writing(self) -> None:
        self.is_write_paused = True
        self.writable.clear()
        self.transport.pause_reading()
        written_bytes = self._exchange.written_bytes if self._exchange is not None else 0
        self.unread_deadline = self.edge.unread.begin(self.transport, written_bytes)

    def resume_writing(self) -> None:
        self.is_write_paused = False
        self.writable.set()
        self.unread_deadline = NEVER
        self.edge.unread.end(self.transport)
        is_answered = self._exchange is not None and self._exchange.is_complete
        if is_answered and not self.transport.is_closing():
            self._after_answer()
        else:
            self.transport.resume_reading()

    def _after_answer(self) -> None:
        if self._is_ending:
            self.deadline = self._sweeper.after(limits.LINGER_SECONDS)
            return
        if self._slot.is_proxy:
            self._slot.end_request()
        self.transport.resume_reading()
        if self._intake.phase == BETWEEN:
            self._slot.set_idle()
            idle_seconds = self._settings.idle_timeout_seconds
            seconds = limits.DRAIN_SECONDS if self.edge.is_draining else idle_seconds
            self.deadline = self._sweeper.after(seconds)
        if self.waiting:
            self.edge.pipelines.add(self)

    def refuse(self, error: errors.GatewayError) -> None:
        """Send an error after the answers to all earlier requests, and ignore further input."""
        self._ignores_input = True
        self.deadline = NEVER
        if self._intake.phase in BODY and self._exchange is not None:
            if self._exchange.is_complete:
                self._linger()
            else:
                self._exchange.break_off(error)
            return
        # Before the URL arrives, the parser still has the previous request's method.
        has_request = self._intake.phase == IN_HEAD
        url = self._url if has_request else b""
        scope = limits.refusal_scope(
            error,
            method=self._parser.get_method().decode("ascii") if url else "",
            url=url,
            headers=self._headers if has_request else (),
        )
        self._exchange = Exchange(self, self.edge.refusing_app, scope)
        self._exchange.is_last = True

    def _close_after_answer(self, exchange: "Exchange") -> None:
        exchange.is_last = True
        if self._intake.phase == BETWEEN:  # otherwise the request body is still read to its end
            self._ignores_input = True

    def _linger(self) -> None:
        """End the output and discard input. An immediate close could reset an answer in transit."""
        self._ignores_input = self._is_ending = True
        self.waiting = b""
        self.transport.resume_reading()
        if self._has_eof:
            self.transport.close()
        elif self.transport.can_write_eof() and not self.transport.is_closing():
            self.transport.write_eof()
        self.deadline = self._sweeper.after(limits.LINGER_SECONDS)

    def close_idle(self) -> None:
        self._ignores_input = self._is_ending = True
        self.deadline = self._sweeper.after(limits.LINGER_SECONDS)
        self.transport.close()

    def shutdown(self) -> None:
        """Close after the current or the next answer. uvicorn calls this to stop the server."""
        if self._exchange is None or self._exchange.is_complete:
            self.deadline = min(self.deadline, self._sweeper.after(limits.DRAIN_SECONDS))
        elif not self._exchange.is_last and not self.waiting:  # else a later request is the last
            self._close_after_answer(self._exchange)

    def expire(self) -> None:
        """Handle a passed deadline: `unread_deadline` if it has passed, otherwise `deadline`.

        A late request gets a 408, and an idle connection is closed. A connection is reset if its
        client does not read an answer, or does not close after the last one.
        """
        phase = self._intake.phase
        if self.unread_deadline <= self._sweeper.now:
            self.unread_deadline = self.edge.unread.look(self.transport)
        elif self.is_write_paused or not (self._is_ending or self.transport.is_reading()):
            # `unread_deadline` is for clients that do not read. Or this side has paused reading.
            self.deadline = self._sweeper.after(self._settings.answer_timeout_seconds)
        elif self._is_ending:
            self.transport.abort()
        elif phase == BETWEEN:
            self.close_idle()
        else:
            noun = "headers of the request" if phase == IN_HEAD else "body"
            message = f"The {noun} did not arrive in time. Send the request again."
            self.refuse(errors.RequestTimeout(message))


class Exchange:
    """A request and its answer, with the functions `receive` and `send` of ASGI."""

    def __init__(
        self,
        connection: Connection,
        app: ASGIApp,
        scope: Scope,
        body_bytes: float = 0,
        expects_continue: bool = False,
    ) -> None:
        self._connection = connection
        self.scope = scope
        self._body_bytes = body_bytes
        self._expects_continue = expects_continue
        self.is_last = False
        """True if the connection closes after this answer."""
        self.is_complete = False
        """True if all bytes of the answer have been written."""
        self.written_bytes = 0
        """Number of body bytes in the latest write."""
        self._body = b""  # bytes that the application has not read
        self._is_whole = False  # all of the body has arrived
        self._is_read = False  # the application has read all of it
        self._fault: errors.GatewayError | None = None  # why the body is incomplete
        self._arrival: asyncio.Future[None] | None = None  # set when `receive` can return
        self._is_gone = False  # the client has disconnected
        self._start: Message | None = None  # the head that waits for its body
        self._has_begun = False  # bytes of the answer were written
        self._left_bytes: int | None = None  # unsent bytes of the body; None if unknown
        self._is_chunked = True  # a body of unknown length
        self._task = connection.loop.create_task(self.run(app))
        connection.tasks.add(self._task)

    async def run(self, app: ASGIApp) -> None:
        """Run the application. On an error, send a 500, or disconnect if the answer has begun."""
        try:
            try:
                await app(self.scope, self.receive, self.send)
            except BaseException as error:  # the edge of a task
                _log.error("Exception in ASGI application\n", exc_info=error)
            else:
                if self.is_complete or self._is_gone:
                    return
                verb = "completing" if self._has_begun else "starting"
                _log.error(f"ASGI callable returned without {verb} response.")
            if self.is_complete:
                self._connection.transport.close()
            elif self._has_begun:
                # A normal close would wait for a client that might not read, and would look like
                # the end of the body in HTTP/1.0.
                cut_off(self._connection.transport)
            else:
                for message in _FAILED:
                    await self.send(message)
        finally:
            self._connection.tasks.discard(self._task)

    # The request's body

    def feed(self, data: bytes) -> None:
        """Add bytes of the request body. Drops the bytes if the answer has been sent."""
        if not self.is_complete:
            self._body += data
            if len(self._body) > _MAX_KEPT_BYTES:
                self._connection.transport.pause_reading()
            self._wake()

    def end_body(self) -> None:
        self._is_whole = True
        if self._arrival is not None:
            self._wake()

    def break_off(self, fault: errors.GatewayError) -> None:
        """Make `receive` raise this error."""
        self._fault = fault
        self._wake()

    def disconnect(self) -> None:
        self._is_gone = True
        self._wake()

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    async def receive(self) -> Message:
        """Return the next part of the request body as an ASGI message.

        After the last part, waits until the answer is sent or the client disconnects, and returns
        `http.disconnect`. Raises the error of `break_off`.
        """
        if self._expects_continue:
            self._expects_continue = False
            if not self._connection.transport.is_closing():
                self._connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not (self._is_gone or self.is_complete or self._body or self._fault):
            if self._is_whole and not self._is_read:
                break
            self._connection.transport.resume_reading()
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival
        if self.is_complete or (self._is_gone and self._fault is None):
            return {"type": "http.disconnect"}
        if self._fault is not None:
            raise self._fault
        body, self._body = self._body, b""
        self._is_read = self._is_whole
        return {"type": "http.request", "body": body, "more_body": not self._is_whole}

    # The answer

    async def send(self, message: Message) -> None:
        """Write a part of the answer. Raises RuntimeError if the order or size of parts is wrong.

        If the client has disconnected, drops the last part, and raises ClientDisconnect at
        an earlier part.
        """
        connection = self._connection
        if connection.is_write_paused:
            await connection.writable.wait()
        if self._is_gone:
            if message.get("more_body", False):
                raise ClientDisconnect
            return
        if message["type"] == "http.response.start" and not self._has_begun:
            self._start = message  # it replaces an earlier one if the application failed
            return
        start, self._start = self._start, None
        if message["type"] != "http.response.body" or self.is_complete:
            raise RuntimeError(f"unexpected ASGI message {message['type']}")
        if start is None and not self._has_begun:
            raise RuntimeError("http.response.body before http.response.start")
        head = b"" if start is None else self._head(start)
        body, is_end = message.get("body", b""), not message.get("more_body", False)
        if self.scope["method"] == "HEAD":
            body = b""
        elif self._left_bytes is None and self._is_chunked:
            end = b"0\r\n\r\n" if is_end else b""
            body = b"%x\r\n%b\r\n%b" % (len(body), body, end) if body else end
        elif self._left_bytes is not None:
            self._left_bytes -= len(body)
            if self._left_bytes < 0 or (is_end and self._left_bytes):
                raise RuntimeError("the body of an answer is not as long as its Content-Length")
        self._has_begun, self.is_complete = True, is_end
        self._expects_continue = False
        self.written_bytes = len(body)
        if len(body) >= _SEPARATE_WRITE_BYTES:
            connection.transport.writelines((head, body))
        else:
            connection.transport.write(head + body)
        if is_end:
            if self._arrival is not None:
                self._wake()
            connection.end_answer()

    def _head(self, start: Message) -> bytes:
        """Encode the head of the answer. Sets `_left_bytes`, and `is_last` at a last answer."""
        defaults: HeaderLines = self._connection.server_state.default_headers
        status, headers = start["status"], [*defaults, *start.get("headers", ())]
        framing = dict(headers)
        if self._body_bytes and not self._is_read:
            is_late = self._fault is not None or status == HTTPStatus.REQUEST_TIMEOUT
            is_long = self._body_bytes > self._connection.edge.settings.max_body_bytes
            if is_late or is_long or self._expects_continue:
                self.is_last = True
        if framing.get(b"connection", b"").lower().find(b"close") >= 0:
            self.is_last = True
        elif self.is_last:
            headers.append((b"connection", b"close"))
        if b"content-length" in framing:
            self._left_bytes = int(framing[b"content-length"])
        elif self.scope["method"] == "HEAD" or status in _BODILESS:
            self._left_bytes = 0
        elif self.scope["http_version"] == "1.0":  # which has no chunks
            self._is_chunked = False
        elif b"transfer-encoding" not in framing:
            headers.append((b"transfer-encoding", b"chunked"))
        lines = [_FIRST_LINES[status], *map(b": ".join, headers), b"", b""]
        text = b"".join(lines)
        if _LINE_FEED in text or _RETURN in text or _NULL in text:  # RFC 9110, 5.5
            raise RuntimeError("a header of an answer contains a control character")
        return b"\r\n".join(lines)
