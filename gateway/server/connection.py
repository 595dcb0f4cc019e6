"""One client connection: uvicorn's protocol with deadlines, caps and one request at a time.

Rules: this and its neighbours `cycles` and `server` are all that touches uvicorn's inside; a test
names each part of it and fails when one changes. Nothing here takes a timer or a task for a
request that behaves; a deadline is a number that the sweeper compares. Heads are counted as they
arrive, in portions never larger than what may still come; their exact size is checked in the
application. Refusals are answered by the application's own frame, in their turn, and end the
connection. One request at a time: bytes behind it are kept unparsed, as many as one read brings,
until its answer has been taken. While an answer lies in our buffer nothing is read.
"""

import asyncio
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from gateway.errors import GatewayError
from gateway.server import refusals
from gateway.server.cycles import JoinedCycle, Upload, end_with, refusal_cycle
from gateway.server.deadlines import expire
from gateway.server.framing import check_framing, whole_requests, without_upgrade
from gateway.server.intake import BETWEEN, BODY, IN_BODY, IN_HEAD, MOST_LINES, Intake
from gateway.server.limits import DRAIN_SECONDS, LINGER_SECONDS, MOST_REFUSED, READ_BYTES, Edge
from gateway.server.slots import Slot
from gateway.server.sweeper import NEVER


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with deadlines, caps, strict framing, and refusals in the API's form."""

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
        self._whole_app = self.app
        self.intake = Intake(edge.settings)
        self.waiting = b""  # came behind the request that is being answered
        self._upload: Upload | None = None
        self._slot = Slot(edge.slots, self)
        self._is_last = False  # the request being read or answered is the connection's last
        self._is_deaf = False  # nothing is read any more
        self.is_ending = False  # closed but for what the client has yet to read
        self._has_said_all = False  # the client closed its side

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_protocol(BoundedReads(self, self.edge.buffer))
        transport.set_write_buffer_limits(0)  # we are told whenever an answer is not taken at once
        draining = DRAIN_SECONDS if self.edge.is_draining else NEVER
        self.deadline = self._sweeper.after(min(self._settings.head_timeout_seconds, draining))
        excess = self._slot.take(self.client, self.server, len(self.connections))
        if excess > MOST_REFUSED:
            self._is_deaf = True
            transport.abort()
        elif excess > 0:
            self.refuse(refusals.too_many_connections())

    def connection_lost(self, exc: Exception | None) -> None:
        self._slot.free()
        self.edge.unread.end(self.transport)
        self.waiting = b""
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a request of which nothing has come yet."""
        is_free = not (self._is_deaf or self.waiting or self._is_answering)
        return is_free and self.intake.phase == BETWEEN

    @property
    def _is_answering(self) -> bool:
        """Whether a whole request has come, and its answer has not left."""
        if self.cycle is None or self.intake.phase != BETWEEN:
            return False
        return self.flow.write_paused or not self.cycle.response_complete

    # What arrives

    def data_received(self, data: bytes) -> None:
        """Parse what has come, up to the end of one request that is to be answered."""
        self.waiting += data
        while self.waiting and not self._is_deaf and not self._is_answering:
            size = self.intake.portion(self.waiting)
            portion, self.waiting = self.waiting[:size], self.waiting[size:]
            self._feed(portion)
        if self._is_deaf:
            self.waiting = b""
        elif len(self.waiting) >= READ_BYTES:
            self.flow.pause_reading()

    def _feed(self, data: bytes) -> None:
        intake = self.intake
        before, sections = intake.phase, intake.sections
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._begin_anew(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if not self._is_deaf:
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
        """The request has not ended."""
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
        """Nothing more comes. The connection stays, for the answers to all that came whole."""
        if self.intake.phase in BODY and not self._is_deaf:
            return False  # the rest of it will not come
        self.waiting = whole_requests(self.waiting)
        if not self.waiting:
            if self.cycle is None or self.cycle.response_complete:
                return False
            self._end_with_this()
        self._has_said_all = True
        self.deadline = NEVER
        return True

    def _begin_anew(self, rest: bytes) -> None:
        """Parse a request again without its wish for another protocol, which HTTP lets us ignore.

        The parser would look for the next request where the body of this one is.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            self.refuse(refusals.no_tunnel())
            return
        self.parser = httptools.HttpRequestParser(self)
        self.intake.phase = BETWEEN
        again = without_upgrade(method, self.url, version, self.headers)
        self.waiting = again + rest + self.waiting

    # The parser's callbacks

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.intake.begin_head()
        self._slot.set_busy()
        self.deadline = NEVER  # or one is set when this packet is read, if it is not all

    def on_header(self, name: bytes, value: bytes) -> None:
        # uvicorn's own, but for the count: to call it would cost a hundredth of a request's time.
        headers, name = self.headers, name.lower()
        if len(headers) >= MOST_LINES:
            raise refusals.too_many_lines(MOST_LINES)
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        headers.append((name, value))

    def on_headers_complete(self) -> None:
        parser = self.parser
        if parser.should_upgrade():
            return  # it is fed again without that
        version = parser.get_http_version()
        body_bytes = check_framing(version, self.url, self.headers)
        if version == "1.0":
            self.expect_100_continue = False  # RFC 9110, 10.1.1: it is not meant
        self._upload, app = None, self._whole_app
        scope: Any = self.scope
        if self._slot.is_proxy and not self._slot.begin_request(scope):
            app = self.edge.refusing_app
            refusals.refuse_scope(scope, refusals.too_many_connections())
        if body_bytes:
            is_short = body_bytes <= self._settings.max_body_bytes
            app = self._upload = Upload(app, self._linger, is_short=is_short)
        self.app = app
        super().on_headers_complete()
        self.cycle.__class__ = JoinedCycle  # uvicorn makes its own; its task has not begun yet
        self.headers = []  # trailers go here, and so nowhere
        self.intake.begin_body(body_bytes)
        self.deadline = NEVER
        if self._upload:
            self._upload.cycle = self.cycle
        if self.edge.is_draining or not self.cycle.keep_alive:
            self._end_with_this()

    def on_chunk_header(self) -> None:
        self.intake.begin_chunk()

    def on_body(self, body: bytes) -> None:
        self.intake.phase = IN_BODY
        self.intake.body_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.intake.phase == IN_HEAD:
            return  # it is fed again, see on_headers_complete
        super().on_message_complete()
        self.intake.phase = BETWEEN
        self.deadline = NEVER
        if self._has_said_all and not self.waiting:
            self._end_with_this()
        self._is_deaf = self._is_last
        if self.cycle.response_complete:
            self._rest()

    # The end of an answer, and of the connection

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self.is_ending = True
            self.deadline = self._sweeper.after(self._settings.answer_timeout_seconds)
        elif not self.flow.write_paused:
            self._go_on()

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
            self._go_on()
        else:
            self.flow.resume_reading()

    def _go_on(self) -> None:
        """An answer has left."""
        if self.is_ending:
            self.deadline = self._sweeper.after(LINGER_SECONDS)
            return
        if self._slot.is_proxy:
            self._slot.end_request()
        self.flow.resume_reading()
        if self.intake.phase == BETWEEN:
            self._rest()
        if self.waiting:
            # Not at once: an error of the parser would have that of the answer as its context.
            self.loop.call_soon(self.data_received, b"")

    def _rest(self) -> None:
        self._slot.set_idle()
        seconds = self._settings.idle_timeout_seconds
        self.deadline = self._sweeper.after(DRAIN_SECONDS if self.edge.is_draining else seconds)

    def refuse(self, error: GatewayError) -> None:
        """Answer this after all that came before it, and read no more."""
        self._is_deaf = True
        self.deadline = NEVER
        if self.intake.phase not in BODY or self._upload is None:
            self.cycle = refusal_cycle(self, error, has_request=self.intake.phase == IN_HEAD)
            end_with(self.cycle, self._linger)
            self._start_asgi_task(self.cycle, self.edge.refusing_app)
        elif self.cycle.response_complete:
            self._linger()
        else:
            self._upload.break_off(error)

    def _end_with_this(self) -> None:
        """The answer to the current request is the connection's last."""
        self._is_last = True
        self._is_deaf = self.intake.phase == BETWEEN  # the rest of its body is still read
        end_with(self.cycle, self._linger)

    def _linger(self) -> None:
        """Close, but go on reading what is not wanted: a reset could overtake the answer."""
        self._is_deaf = self.is_ending = True
        self.waiting = b""
        self.flow.resume_reading()
        if self._has_said_all:
            self.transport.close()
        elif self.transport.can_write_eof() and not self.transport.is_closing():
            self.transport.write_eof()
        self.deadline = self._sweeper.after(LINGER_SECONDS)

    def close_idle(self) -> None:
        self._is_deaf = self.is_ending = True
        self.deadline = self._sweeper.after(LINGER_SECONDS)
        self.transport.close()

    def shutdown(self) -> None:
        """The server stops: the answer in the making is the last; if there is none, the next is."""
        if self.cycle is None or self.cycle.response_complete:
            self.deadline = min(self.deadline, self._sweeper.after(DRAIN_SECONDS))
        elif not self._is_last and not self.waiting:  # else the next one is it
            self._end_with_this()

    def expire(self) -> None:
        expire(self)


class BoundedReads(asyncio.BufferedProtocol):
    """Bounded reads: the transport hands over no more bytes than the connection may keep.

    A plain protocol is given up to 256 KB at once. Bytes behind a request that is still being
    answered have to be kept, so the read itself has to be bounded; the rest stays in the system's
    buffer, whose size the client's system takes into account.

    uvloop and asyncio read into the buffer right after `get_buffer` and report it in the same turn,
    so that all connections of a loop share one.
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
