"""A client connection: uvicorn's protocol with deadlines, size limits and one request at a time.

Rules:
- Only this module, `cycles` and `server` use uvicorn internals. A test lists each part they use and
  fails when one changes.
- A request that behaves needs no timer and no task: a deadline is a number that the sweeper
  compares.
- Heads are counted as they arrive, in portions no larger than the remaining limit. The application
  checks their exact size.
- Refusals are sent through the frame of the application, in request order, and close the
  connection.
- Later bytes stay unparsed until the answer has been sent, at most one read of them. Nothing is
  read while an answer is in our buffer.
"""

import asyncio
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from gateway.errors import GatewayError
from gateway.server import refusals
from gateway.server.cycles import JoinedCycle, Upload, close_after, refusal_cycle
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
from gateway.server.limits import DRAIN_SECONDS, LINGER_SECONDS, MAX_REFUSED, READ_BYTES, Edge
from gateway.server.slots import NEVER, Slot


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with deadlines, limits, strict framing and refusals as API errors."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        edge: Edge,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.deadline = NEVER
        self.unread_deadline = NEVER
        self.edge = edge
        self._settings = edge.settings
        self._sweeper = edge.sweeper
        self._gateway_app = self.app
        self.intake = Intake(edge.settings)
        self.waiting = b""  # pipelined bytes behind the current request
        self._upload: Upload | None = None
        self._slot = Slot(edge.slots, self)
        self._is_last = False  # the current request is the connection's last
        self._ignores_input = False  # input is discarded
        self.is_ending = False  # closed, except for answers that the client has yet to read
        self._has_eof = False  # the client closed its side

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.edge.acceptor is not None:
            self.edge.acceptor.look_soon()
        transport.set_protocol(BoundedReads(self, self.edge.buffer))
        transport.set_write_buffer_limits(
            0
        )  # pause_writing is called whenever an answer cannot be sent at once
        draining = DRAIN_SECONDS if self.edge.is_draining else NEVER
        self.deadline = self._sweeper.after(min(self._settings.head_timeout_seconds, draining))
        excess = self._slot.take(self.client, self.server, len(self.connections))
        if excess > MAX_REFUSED:
            self._ignores_input = True
            transport.abort()
        elif excess > 0:
            self.refuse(refusals.too_many_connections())
        else:
            # Not yet: a request that came with the connection is read first.
            self.loop.call_soon(self._begin_idle)

    def _begin_idle(self) -> None:
        if self.is_idle:
            self._slot.set_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ignores_input = True
        self._slot.free()
        self.edge.unread.end(self.transport)
        self.edge.pipelines.discard(self)
        self.waiting = b""
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """True if the connection waits for a request of which no byte has arrived."""
        is_free = not (self._ignores_input or self.waiting or self._is_answering)
        return is_free and self.intake.phase == BETWEEN

    @property
    def _is_answering(self) -> bool:
        """True if a complete request has arrived and its answer has not been sent."""
        if self.cycle is None or self.intake.phase != BETWEEN:
            return False
        return self.flow.write_paused or not self.cycle.response_complete

    # Incoming bytes

    def data_received(self, data: bytes) -> None:
        """Parse bytes up to the end of one request."""
        is_queued = bool(self.waiting) and self in self.edge.pipelines
        self.waiting += data
        while self.waiting and not (is_queued or self._ignores_input or self._is_answering):
            size = self.intake.portion(self.waiting)
            portion, self.waiting = self.waiting[:size], self.waiting[size:]
            self._feed(portion)
        if self._ignores_input:
            self.waiting = b""
        elif len(self.waiting) >= READ_BYTES:
            self.flow.pause_reading()

    def go_on(self) -> None:
        self.data_received(b"")

    def _feed(self, data: bytes) -> None:
        intake = self.intake
        before, sections = intake.phase, intake.sections
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._reparse_without_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if not self._ignores_input:
                self.refuse(refusals.unreadable(error))
        else:
            if intake.phase != BETWEEN:
                intake.count(
                    data,
                    before=before,
                    begun=intake.sections - sections,
                    is_cut=bool(self.waiting),
                )
                self._wait_for_more()

    def _wait_for_more(self) -> None:
        intake, settings = self.intake, self._settings
        if self.deadline == NEVER:
            is_head = intake.phase == IN_HEAD
            seconds = settings.head_timeout_seconds if is_head else settings.body_timeout_seconds
            self.deadline = self._sweeper.after(seconds)
        if intake.room <= 0:
            self.refuse(refusals.head_too_large(settings, self.url))
        elif intake.body_room <= 0:
            self.refuse(refusals.chunks_too_large(settings))

    def eof_received(self) -> bool:  # type: ignore[override]
        """Handle the end of input; stay open for the answers to complete requests."""
        if self.intake.phase in BODY and not self._ignores_input:
            return False  # the rest of the body will not arrive
        self.waiting = whole_requests(self.waiting)
        if not self.waiting:
            if self.cycle is None or self.cycle.response_complete:
                return False
            self._close_after_answer()
        self._has_eof = True
        self.deadline = NEVER
        return True

    def _reparse_without_upgrade(self, rest: bytes) -> None:
        """Parse a request again without its Upgrade header, which HTTP allows us to ignore.

        Otherwise the parser would look for the next request in the body of this one.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            self.refuse(refusals.no_tunnel())
            return
        self.parser = httptools.HttpRequestParser(self)
        self.intake.phase = BETWEEN
        again = without_upgrade(method, self.url, version, self.headers)
        self.waiting = again + rest + self.waiting

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.intake.begin_head()
        self._slot.set_busy()
        self.deadline = NEVER  # set after this read if the head is incomplete

    def on_header(self, name: bytes, value: bytes) -> None:
        # A copy of uvicorn's method with a limit; calling it would cost 1 % of a request's time.
        headers, name = self.headers, name.lower()
        if len(headers) >= MAX_HEADER_LINES:
            raise refusals.too_many_lines(MAX_HEADER_LINES)
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        headers.append((name, value))

    def on_headers_complete(self) -> None:
        parser = self.parser
        if parser.should_upgrade():
            return  # parsed again without the Upgrade header
        version = parser.get_http_version()
        body_bytes = check_framing(version, self.url, self.headers)
        if version == "1.0":
            self.expect_100_continue = False  # RFC 9110, 10.1.1: ignored in HTTP/1.0
        self._upload, app = None, self._gateway_app
        scope: Any = self.scope
        if self._slot.is_proxy and not self._slot.begin_request(scope):
            app = self.edge.refusing_app
            refusals.refuse_scope(scope, refusals.too_many_connections())
        if body_bytes:
            is_short = body_bytes <= self._settings.max_body_bytes
            app = self._upload = Upload(app, self._linger, is_short=is_short)
        self.app = app
        super().on_headers_complete()
        self.cycle.__class__ = JoinedCycle  # uvicorn created it; its task has not started yet
        self.headers = []  # discards trailers
        self.intake.begin_body(body_bytes)
        self.deadline = NEVER
        if self._upload:
            self._upload.cycle = self.cycle
        if self.edge.is_draining or not self.cycle.keep_alive:
            self._close_after_answer()

    def on_chunk_header(self) -> None:
        self.intake.begin_chunk()

    def on_body(self, body: bytes) -> None:
        self.intake.phase = IN_BODY
        self.intake.body_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.intake.phase == IN_HEAD:
            return  # parsed again, see on_headers_complete
        super().on_message_complete()
        self.intake.phase = BETWEEN
        self.deadline = NEVER
        if self._has_eof and not self.waiting:
            self._close_after_answer()
        self._ignores_input = self._is_last
        if self.cycle.response_complete:
            self._set_idle()

    # End of an answer and of the connection

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self.is_ending = True
            self.deadline = self._sweeper.after(self._settings.answer_timeout_seconds)
        elif not self.flow.write_paused:
            self._after_answer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.flow.pause_reading()
        written_bytes = self.cycle.body_bytes if isinstance(self.cycle, JoinedCycle) else 0
        self.unread_deadline = self.edge.unread.begin(self.transport, written_bytes)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unread_deadline = NEVER
        self.edge.unread.end(self.transport)
        is_answered = self.cycle is not None and self.cycle.response_complete
        if is_answered and not self.transport.is_closing():
            self._after_answer()
        else:
            self.flow.resume_reading()

    def _after_answer(self) -> None:
        if self.is_ending:
            self.deadline = self._sweeper.after(LINGER_SECONDS)
            return
        if self._slot.is_proxy:
            self._slot.end_request()
        self.flow.resume_reading()
        if self.intake.phase == BETWEEN:
            self._set_idle()
        if self.waiting:
            self.edge.pipelines.add(self)

    def _set_idle(self) -> None:
        self._slot.set_idle()
        seconds = self._settings.idle_timeout_seconds
        self.deadline = self._sweeper.after(DRAIN_SECONDS if self.edge.is_draining else seconds)

    def refuse(self, error: GatewayError) -> None:
        """Answer with an error after all earlier requests, and stop reading."""
        self._ignores_input = True
        self.deadline = NEVER
        if self.intake.phase not in BODY or self._upload is None:
            self.cycle = refusal_cycle(self, error, has_request=self.intake.phase == IN_HEAD)
            close_after(self.cycle, self._linger)
            self._start_asgi_task(self.cycle, self.edge.refusing_app)
        elif self.cycle.response_complete:
            self._linger()
        else:
            self._upload.break_off(error)

    def _close_after_answer(self) -> None:
        self._is_last = True
        self._ignores_input = self.intake.phase == BETWEEN  # the rest of its body is still read
        close_after(self.cycle, self._linger)

    def _linger(self) -> None:
        """Close, but keep reading and discarding: a reset could overtake the answer."""
        self._ignores_input = self.is_ending = True
        self.waiting = b""
        self.flow.resume_reading()
        if self._has_eof:
            self.transport.close()
        elif self.transport.can_write_eof() and not self.transport.is_closing():
            self.transport.write_eof()
        self.deadline = self._sweeper.after(LINGER_SECONDS)

    def close_idle(self) -> None:
        self._ignores_input = self.is_ending = True
        self.deadline = self._sweeper.after(LINGER_SECONDS)
        self.transport.close()

    def shutdown(self) -> None:
        """Make the current answer, or the next one, the last. Called when the server stops."""
        if self.cycle is None or self.cycle.response_complete:
            self.deadline = min(self.deadline, self._sweeper.after(DRAIN_SECONDS))
        elif not self._is_last and not self.waiting:  # otherwise a later request is the last
            self._close_after_answer()

    def expire(self) -> None:
        """Handle a passed deadline; `unread_deadline` and `deadline` may pass together."""
        phase = self.intake.phase
        if self.unread_deadline <= self._sweeper.now:
            self.unread_deadline = self.edge.unread.look(self.transport)
        elif self.flow.write_paused or (self.flow.read_paused and not self.is_ending):
            # `unread_deadline` covers clients that do not read; or we do not read ourselves.
            self.deadline = self._sweeper.after(self._settings.answer_timeout_seconds)
        elif self.is_ending:
            self.transport.abort()
        elif phase == IN_HEAD:
            self.refuse(refusals.head_too_slow())
        elif phase != BETWEEN:
            self.refuse(refusals.body_too_slow())
        else:
            self.close_idle()


class BoundedReads(asyncio.BufferedProtocol):
    """Passes bytes to one connection, up to the size that it may buffer.

    A plain protocol receives up to 256 KB at once. Bytes behind an unanswered request must be
    buffered, so the read itself is bounded. The rest stays in the system's buffer, which slows the
    client down.

    uvloop and asyncio fill the buffer right after `get_buffer` and report it in the same turn, so
    all connections of a loop share one buffer.
    """

    def __init__(self, connection: Connection, buffer: memoryview) -> None:
        self._connection = connection
        self._buffer = buffer

    def get_buffer(self, sizehint: int) -> memoryview:
        waiting = self._connection.waiting
        return self._buffer[: max(READ_BYTES - len(waiting), 1)] if waiting else self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._connection.data_received(bytes(self._buffer[:nbytes]))

    def eof_received(self) -> bool:
        return self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()
