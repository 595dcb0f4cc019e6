"""A connection to a client who may be slow, greedy or hostile.

Rules: this and its neighbours `cycles` and `server` are all that touches uvicorn's inside; a test
names each part of it and fails when one changes. Nothing here takes a timer or a task for a
request that behaves. A deadline is a number that the sweeper compares. Heads are counted as they
arrive, in parts never larger than what may still come, so that nobody fills the memory; their
exact size is checked in the application. Whatever is refused here is answered by the
application's own frame, in its turn, and ends the connection: what follows it is not read.
"""

import asyncio
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from gateway.edge.cycles import Upload, cut_off, end_with, refusal_cycle
from gateway.edge.framing import check_framing, without_upgrade
from gateway.edge.joined import JoinedCycle
from gateway.edge.limits import (
    DRAIN_SECONDS,
    HEAD_ROOM,
    LEAST_READ_BYTES,
    LINGER_SECONDS,
    MOST_PIPELINED,
    Edge,
    made_room,
)
from gateway.edge.refusals import (
    body_too_slow,
    head_too_large,
    head_too_slow,
    no_tunnel,
    too_many_connections,
    unreadable,
)
from gateway.edge.sweeper import NEVER
from gateway.errors import GatewayError

_BETWEEN, _IN_HEAD, _IN_BODY, _AFTER_CHUNK_SIZE = range(4)
_COUNTED = (_IN_HEAD, _AFTER_CHUNK_SIZE)


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
        self._edge = edge
        self._settings = edge.settings
        self._sweeper = edge.sweeper
        self._whole_app = self.app
        self._first_look_seconds = min(
            edge.settings.answer_timeout_seconds, edge.settings.idle_timeout_seconds
        )
        self._phase = _BETWEEN
        self._most_head_bytes = HEAD_ROOM * edge.settings.max_head_bytes
        self._room = self._most_head_bytes  # what may still come of a head or trailer
        self._sections = 0  # heads and possible trailers that have begun
        self._upload: Upload | None = None
        self._answering: RequestResponseCycle | None = None
        self.idle_since = 0.0
        self._unread_bytes = 0
        self._is_last = False  # the request being read is the connection's last
        self._is_deaf = False  # nothing is read any more
        self._is_ending = False  # closed but for what the client has yet to read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.idle_since = self._sweeper.now
        draining = DRAIN_SECONDS if self._edge.is_draining else NEVER
        self.deadline = self._sweeper.after(min(self._settings.head_timeout_seconds, draining))
        too_many = len(self.connections) > self._settings.max_connections
        if too_many and not made_room(each for each in self.connections if each is not self):
            self._refuse(too_many_connections())

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answering:  # with others in line, it is not the newest one
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)
        self.pipeline.clear()

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a request of which nothing has come yet."""
        is_answered = self.cycle is None or self.cycle.response_complete
        is_read = not self.transport.get_write_buffer_size()
        return is_answered and is_read and self._phase == _BETWEEN and not self._is_deaf

    # What arrives

    def data_received(self, data: bytes) -> None:
        while data and not self._is_deaf:
            if len(data) <= self._room:
                data = self._feed(data)
            else:
                data = self._feed(data[: self._room]) + data[self._room :]

    def _feed(self, data: bytes) -> bytes:
        """Give the parser some bytes; returns those that it shall have once more."""
        before, sections = self._phase, self._sections
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return self._begun_anew(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if not self._is_deaf:
                self._refuse(unreadable(error))
            return b""
        if self._phase != _BETWEEN:
            self._wait_for_more(len(data), before, self._sections - sections)
        return b""

    def _wait_for_more(self, size: int, before: int, begun: int) -> None:
        """After so many bytes, in which so many sections began, a section has not ended."""
        if self.deadline == NEVER:
            is_head = self._phase == _IN_HEAD
            seconds = (
                self._settings.head_timeout_seconds
                if is_head
                else self._settings.body_timeout_seconds
            )
            self.deadline = self._sweeper.after(seconds)
        if self._phase in _COUNTED and begun <= (before == _BETWEEN):  # all of them are the head's
            self._room -= size
            if self._room <= 0:
                self._refuse(head_too_large(self._settings, self.url))

    def _begun_anew(self, rest: bytes) -> bytes:
        """The request once more, without the wish for another protocol that HTTP lets us ignore.

        The parser would look for the next request where the body of this one is.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            self._refuse(no_tunnel())
            return b""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # we do not hear it
        self._phase = _BETWEEN
        return without_upgrade(method, self.url, version, self.headers) + rest

    # The parser's callbacks

    def on_message_begin(self) -> None:
        if self._is_last:
            self._is_deaf = True
            raise _Over
        super().on_message_begin()
        self._phase = _IN_HEAD
        self._sections += 1
        self._room = self._most_head_bytes
        self.deadline = NEVER  # or one is set when this packet is read, if it is not all

    def on_headers_complete(self) -> None:
        parser = self.parser
        if parser.should_upgrade():
            return  # it is fed again without that
        body_bytes = check_framing(parser.get_http_version(), self.url, self.headers)
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
        self._phase = _IN_BODY
        self._room = self._most_head_bytes
        self.deadline = NEVER
        if self._upload:
            self._upload.cycle = self.cycle
        has_line = len(self.pipeline) >= MOST_PIPELINED
        if has_line or self._edge.is_draining or not self.cycle.keep_alive:
            self._is_last = True
            end_with(self.cycle, self._linger)

    def on_chunk_header(self) -> None:
        self._phase = _AFTER_CHUNK_SIZE
        self._sections += 1
        self._room = self._most_head_bytes

    def on_body(self, body: bytes) -> None:
        self._phase = _IN_BODY
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._phase == _IN_HEAD:
            return  # it is fed again, see on_headers_complete
        super().on_message_complete()
        self._phase = _BETWEEN
        self.deadline = NEVER
        if self.cycle.response_complete:
            self._rest()

    # The end of an answer, and of the connection

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._is_ending = True
            self.deadline = self._sweeper.after(self._settings.answer_timeout_seconds)
        elif self.pipeline:
            self.flow.resume_reading()
            self._answering, app = self.pipeline.pop()
            self._start_asgi_task(self._answering, app)
        elif not self._is_ending:
            self.flow.resume_reading()
            if self._phase == _BETWEEN:
                self._rest()

    def _rest(self) -> None:
        self.idle_since = self._sweeper.now
        self.deadline = self._sweeper.after(self._first_look_seconds)

    def _refuse(self, error: GatewayError) -> None:
        """Answer this after all that came before it, and read no more."""
        self._is_deaf = True
        self.deadline = NEVER
        if self._phase not in (_IN_BODY, _AFTER_CHUNK_SIZE) or self._upload is None:
            self._answer(error)
        elif self.cycle.response_complete:
            self._linger()
        else:
            self._upload.break_off(error)

    def _answer(self, error: GatewayError) -> None:
        cycle = refusal_cycle(self, error, has_request=self._phase == _IN_HEAD)
        end_with(cycle, self._linger)
        before, self.cycle = self.cycle, cycle
        if before is None or before.response_complete:
            self._answering = cycle
            self._start_asgi_task(cycle, self._edge.refusing_app)
        else:
            self.pipeline.appendleft((cycle, self._edge.refusing_app))

    def _linger(self) -> None:
        """Close, but go on reading what is not wanted: a reset could overtake the answer."""
        self._is_deaf = self._is_ending = True
        self.pipeline.clear()
        self.flow.resume_reading()
        if self.transport.can_write_eof() and not self.transport.is_closing():
            self.transport.write_eof()
        self.deadline = self._sweeper.after(LINGER_SECONDS)

    def close_idle(self) -> None:
        self._is_deaf = self._is_ending = True
        self.deadline = self._sweeper.after(LINGER_SECONDS)
        self.transport.close()

    def shutdown(self) -> None:
        """The server stops: the answer in the making is the last; if there is none, the next is."""
        if self.cycle is None or self.cycle.response_complete:
            self.deadline = min(self.deadline, self._sweeper.after(DRAIN_SECONDS))
        elif self._phase != _IN_HEAD and not self._is_last:  # else the one that comes is the last
            self._is_last = True
            end_with(self.cycle, self._linger)

    # Deadlines

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_bytes = self.transport.get_write_buffer_size()
        self.unread_deadline = self._sweeper.after(self._settings.answer_timeout_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unread_deadline = NEVER

    def expire(self) -> None:
        """A deadline is over."""
        if self.unread_deadline <= self._sweeper.now:
            self._expire_unread()
        elif self.flow.write_paused or (self.flow.read_paused and not self._is_ending):
            # The other deadline is for those who do not read; or it is we who do not.
            self.deadline = self._sweeper.after(self._first_look_seconds)
        elif self._is_ending:
            self.transport.abort()
        elif self._phase == _IN_HEAD:
            self._refuse(head_too_slow())
        elif self._phase != _BETWEEN:
            self._refuse(body_too_slow())
        elif self.transport.get_write_buffer_size():
            cut_off(self.transport)
        else:
            self._expire_idle()

    def _expire_unread(self) -> None:
        unread_bytes = self.transport.get_write_buffer_size()
        if unread_bytes > self._unread_bytes - LEAST_READ_BYTES:
            cut_off(self.transport)
        self._unread_bytes = unread_bytes
        self.unread_deadline = self._sweeper.after(self._settings.answer_timeout_seconds)

    def _expire_idle(self) -> None:
        end = self.idle_since + self._settings.idle_timeout_seconds
        if self.cycle is None or self._edge.is_draining or self._sweeper.now >= end:
            self.close_idle()
        else:
            self.deadline = self._sweeper.after(end - self._sweeper.now)


class _Over(Exception):
    """Bytes after the last request of a connection."""
