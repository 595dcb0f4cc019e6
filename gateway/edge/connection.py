"""A connection to a client who may be slow, greedy or hostile.

Rules: this and its neighbours `cycles` and `server` are all that touches uvicorn's inside; a test
names each part of it and fails when one changes. Nothing here takes a timer or a task for a
request that behaves. A deadline is a number that the sweeper compares. Heads are counted as they
arrive, in parts never larger than what may still come, so that nobody fills the memory; their
exact size is checked in the application. Whatever is refused here is answered by the
application's own frame, in its turn, and ends the connection: what follows it is not read.
While an answer lies in our buffer nothing is read and nothing begun, so that it is one at most.
"""

import asyncio
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from gateway.edge.cycles import Upload, end_with, refusal_cycle
from gateway.edge.deadlines import expire
from gateway.edge.framing import check_framing, without_upgrade
from gateway.edge.intake import BETWEEN, BODY, IN_BODY, IN_HEAD, MOST_LINES, Intake
from gateway.edge.joined import JoinedCycle
from gateway.edge.limits import DRAIN_SECONDS, LINGER_SECONDS, MOST_PIPELINED, MOST_REFUSED, Edge
from gateway.edge.refusals import (
    chunks_too_large,
    head_too_large,
    no_tunnel,
    too_many_connections,
    too_many_lines,
    unreadable,
)
from gateway.edge.sweeper import NEVER
from gateway.errors import GatewayError


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
        self._upload: Upload | None = None
        self._answering: RequestResponseCycle | None = None
        self._is_last = False  # the request being read is the connection's last
        self._is_deaf = False  # nothing is read any more
        self.is_ending = False  # closed but for what the client has yet to read
        self._has_said_all = False  # the client closed its side

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # we are told whenever an answer is not taken at once
        draining = DRAIN_SECONDS if self.edge.is_draining else NEVER
        self.deadline = self._sweeper.after(min(self._settings.head_timeout_seconds, draining))
        excess = len(self.connections) - self._settings.max_connections
        if excess <= 0 or self.edge.idle.make_room():
            self.edge.idle.add(self)
        elif excess <= MOST_REFUSED:
            self.refuse(too_many_connections())
        else:
            self._is_deaf = True
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.edge.idle.discard(self)
        self.edge.unread.end(self.transport)
        if self._answering:  # with others in line, it is not the newest one
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)
        self.pipeline.clear()

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a request of which nothing has come yet."""
        is_answered = self.cycle is None or self.cycle.response_complete
        is_free = not self._is_deaf and not self.flow.write_paused
        return is_answered and is_free and self.intake.phase == BETWEEN

    # What arrives

    def data_received(self, data: bytes) -> None:
        while data and not self._is_deaf:
            room = self.intake.room
            data = self._feed(data) if len(data) <= room else self._feed(data[:room]) + data[room:]

    def _feed(self, data: bytes) -> bytes:
        """Give the parser some bytes; returns those that it shall have once more."""
        intake = self.intake
        before, sections = intake.phase, intake.sections
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return self._begun_anew(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if not self._is_deaf:
                self.refuse(unreadable(error))
            return b""
        if intake.phase != BETWEEN:
            intake.count(len(data), before=before, begun=intake.sections - sections)
            self._wait_for_more()
        return b""

    def _wait_for_more(self) -> None:
        """The request has not ended."""
        intake, settings = self.intake, self._settings
        if self.deadline == NEVER:
            is_head = intake.phase == IN_HEAD
            seconds = settings.head_timeout_seconds if is_head else settings.body_timeout_seconds
            self.deadline = self._sweeper.after(seconds)
        if intake.room <= 0:
            self.refuse(head_too_large(settings, self.url))
        elif intake.body_room <= 0:
            self.refuse(chunks_too_large(settings))

    def eof_received(self) -> bool:  # type: ignore[override]
        """Nothing more comes. The connection stays, for the answers to all that came whole."""
        if self.intake.phase in BODY and not self._is_deaf:
            if not self.pipeline:
                return False
            self.pipeline.popleft()  # the newest: its rest will not come
        last = self.pipeline[0][0] if self.pipeline else self._answering
        if last is None or last.response_complete:
            return False
        self._has_said_all = self._is_deaf = self._is_last = True
        self.deadline = NEVER
        end_with(last, self._linger)
        return True

    def _begun_anew(self, rest: bytes) -> bytes:
        """The request once more, without the wish for another protocol that HTTP lets us ignore.

        The parser would look for the next request where the body of this one is.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            self.refuse(no_tunnel())
            return b""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # we do not hear it
        self.intake.phase = BETWEEN
        return without_upgrade(method, self.url, version, self.headers) + rest

    # The parser's callbacks

    def on_message_begin(self) -> None:
        if self._is_last:
            self._is_deaf = True
            raise _Over
        super().on_message_begin()
        self.intake.begin_head()
        self.edge.idle.discard(self)
        self.deadline = NEVER  # or one is set when this packet is read, if it is not all

    def on_header(self, name: bytes, value: bytes) -> None:
        # uvicorn's own, but for the count: to call it would cost a hundredth of a request's time.
        headers, name = self.headers, name.lower()
        if len(headers) >= MOST_LINES:
            raise too_many_lines(MOST_LINES)
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
        self._upload = None
        self.app = self._whole_app
        if body_bytes:
            is_short = body_bytes <= self._settings.max_body_bytes
            self.app = self._upload = Upload(self._whole_app, self._linger, is_short=is_short)
        super().on_headers_complete()
        self.cycle.__class__ = JoinedCycle  # uvicorn makes its own; its task has not begun yet
        if not self.pipeline:
            self._answering = self.cycle
        self.headers = []  # trailers go here, and so nowhere
        self.intake.begin_body(body_bytes)
        self.deadline = NEVER
        if self._upload:
            self._upload.cycle = self.cycle
        has_line = len(self.pipeline) >= MOST_PIPELINED
        if has_line or self.edge.is_draining or not self.cycle.keep_alive:
            self._is_last = True
            end_with(self.cycle, self._linger)

    def on_chunk_header(self) -> None:
        self.intake.begin_chunk()

    def on_body(self, body: bytes) -> None:
        self.intake.phase = IN_BODY
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.intake.phase == IN_HEAD:
            return  # it is fed again, see on_headers_complete
        super().on_message_complete()
        self.intake.phase = BETWEEN
        self.deadline = NEVER
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
        cycle = self._answering
        written_bytes = cycle.body_bytes if isinstance(cycle, JoinedCycle) else 0
        self.unread_deadline = self.edge.unread.begin(self.transport, written_bytes)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unread_deadline = NEVER
        self.edge.unread.end(self.transport)
        is_answered = self._answering is not None and self._answering.response_complete
        if is_answered and not self.transport.is_closing():
            self._go_on()
        else:
            self.flow.resume_reading()

    def _go_on(self) -> None:
        """An answer has left."""
        if self.is_ending:
            self.deadline = self._sweeper.after(LINGER_SECONDS)
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._answering, app = self.pipeline.pop()
            self._start_asgi_task(self._answering, app)
        elif self.intake.phase == BETWEEN:
            self._rest()

    def _rest(self) -> None:
        self.edge.idle.add(self)
        is_draining = self.edge.is_draining
        seconds = DRAIN_SECONDS if is_draining else self._settings.idle_timeout_seconds
        self.deadline = self._sweeper.after(seconds)

    def refuse(self, error: GatewayError) -> None:
        """Answer this after all that came before it, and read no more."""
        self._is_deaf = True
        self.deadline = NEVER
        if self.intake.phase not in BODY or self._upload is None:
            self._answer(error)
        elif self.cycle.response_complete:
            self._linger()
        else:
            self._upload.break_off(error)

    def _answer(self, error: GatewayError) -> None:
        cycle = refusal_cycle(self, error, has_request=self.intake.phase == IN_HEAD)
        end_with(cycle, self._linger)
        before, self.cycle = self.cycle, cycle
        if before is None or before.response_complete:
            self._answering = cycle
            self._start_asgi_task(cycle, self.edge.refusing_app)
        else:
            self.pipeline.appendleft((cycle, self.edge.refusing_app))

    def _linger(self) -> None:
        """Close, but go on reading what is not wanted: a reset could overtake the answer."""
        self._is_deaf = self.is_ending = True
        self.pipeline.clear()
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
        elif self.intake.phase != IN_HEAD and not self._is_last:  # else the next one is it
            self._is_last = True
            end_with(self.cycle, self._linger)

    def expire(self) -> None:
        expire(self)


class _Over(Exception):
    """Bytes after the last request of a connection."""
