"""Running ASGI applications on uvicorn, in this thread or another, up to a graceful stop."""

import asyncio
import atexit
import gc
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.server.accepting import Acceptor
from gateway.server.connection import Connection
from gateway.server.limits import Edge
from gateway.server.sockets import base_url
from gateway.server.unread import show_progress
from gateway.settings.address import Proxy
from gateway.settings.model import ServerSettings
from gateway.telemetry.events import stopped, stopping

STARTUP_SECONDS = 30.0
_LOOK_SECONDS = 0.02
EXIT_GRACE_SECONDS = 4.5
"""Additional time for the stop after `shutdown_seconds`: running writes, the key store."""


class GatewayServer(uvicorn.Server):
    """Graceful stop: accept no connections, answer open ones, finish requests, end the app.

    It is meant for untrusted clients, and stops within `shutdown_seconds` and a few more. Open
    connections stay readable for `DRAIN_SECONDS`, and their next answer is their last. With
    `is_inherited` another process keeps the listening sockets open: connections not yet accepted
    are left to it; otherwise the server accepts the whole backlog before it closes the sockets.
    Connections of `proxies` count for the client addresses behind them. `started` is called when
    requests are served.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        *,
        proxies: Sequence[Proxy] = (),
        is_inherited: bool = False,
        started: Callable[[], object] = lambda: None,
    ) -> None:
        self._edge = Edge(settings, proxies)
        connection = partial(Connection, edge=self._edge)
        super().__init__(_config(app, settings.shutdown_seconds, connection))
        self._is_inherited = is_inherited
        self._announce = started
        self._signalled: float | None = None
        self._signal_name: str | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        for each in sockets or ():
            show_progress(each)
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        state = self.lifespan.state
        make = partial(Connection, self.config, self.server_state, state, loop, edge=self._edge)
        self._edge.acceptor = Acceptor([each.dup() for each in sockets or ()], make, loop)
        connections = self.server_state.connections
        self._sweeping = asyncio.create_task(self._edge.sweeper.run(connections))
        if self.started:
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._set_kill_timer()
        answered = self.server_state.total_requests
        stopping(self._signal_name, len(self.server_state.tasks))
        self._edge.is_draining = True
        for server in self.servers:
            server.close()
        if self._edge.acceptor is not None:
            max_waiting = 0 if self._is_inherited else self.config.backlog + 1
            await self._edge.acceptor.end(max_waiting)
        try:
            await super().shutdown(sockets)
        finally:
            self._sweeping.cancel()
            stopped(self.server_state.total_requests - answered)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._signalled is None:
            self._signalled, self._signal_name = time.monotonic(), signal.Signals(sig).name
        super().handle_exit(sig, frame)

    def _set_kill_timer(self) -> None:
        """After a signal, end the process even if something hangs."""
        if self._signalled is not None:
            passed = time.monotonic() - self._signalled
            limit = (self.config.timeout_graceful_shutdown or 0) + EXIT_GRACE_SECONDS
            signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
            signal.setitimer(signal.ITIMER_REAL, max(limit - passed, 0.1))
            # Python resets signal handlers after the exit functions: the alarm would then kill it.
            atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)


class ByPort:
    """One application per port of one server; other ports and the lifespan belong to `app`.

    All applications share one loop, one start and one stop.
    """

    def __init__(self, app: ASGIApp, others: Mapping[int | None, ASGIApp]) -> None:
        self._app = app
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The socket's own address, never a claim of the client; some sockets have no port.
        _, port = scope.get("server") or ("", None)
        await self._others.get(port, self._app)(scope, receive, send)


def make_server(app: ASGIApp, *, shutdown_seconds: float) -> uvicorn.Server:
    """Make a plain server for trusted clients; it stops within `shutdown_seconds`."""
    return uvicorn.Server(_config(app, shutdown_seconds, "httptools"))


def _config(app: ASGIApp, shutdown_seconds: float, http: Any) -> uvicorn.Config:
    """Configure uvicorn without access logs, because URLs might contain keys.

    `http` makes a protocol for a connection, or names one of uvicorn's.
    """
    logging.getLogger("uvicorn.error").addFilter(_is_not_cancellation)
    return uvicorn.Config(
        app,
        http=http,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(shutdown_seconds),
    )


def run(
    server: uvicorn.Server, sockets: Sequence[socket.socket], greeting: str | None = None
) -> NoReturn:
    """Print the greeting, if any, serve in this thread until a signal, and end the process.

    SIGINT, SIGTERM and SIGHUP end it, but not SIGHUP if it is ignored (`nohup`). The exit status is
    0 after a signal, and 1 if the server did not start. A signal sets a flag from here on: an
    exception is lost where Python ignores it, for example in a callback of an import.
    """
    is_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    for each in (signal.SIGINT, signal.SIGTERM, *([] if is_nohup else [signal.SIGHUP])):
        signal.signal(each, server.handle_exit)  # uvicorn sets its own later, and none for SIGHUP
    if greeting is not None:
        print(greeting, flush=True)
    gc.collect()
    gc.freeze()  # each full collection would walk all modules, for 30 to 80 ms
    server.run(sockets=list(sockets))
    status = 0 if server.started else 1
    if len(threading.enumerate()) > 1:
        # A thread that still waits for Google would block the exit; its request is answered.
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _is_not_cancellation(record: logging.LogRecord) -> bool:
    """Log filter: hide tracebacks of requests that were cancelled at the end of the server."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


@contextmanager
def in_background(
    server: uvicorn.Server, listening: socket.socket, *others: socket.socket
) -> Iterator[str]:
    """Serve in a thread during the block; yields the base URL of the first socket."""
    serving: Future[None] = Future()

    def run() -> None:
        try:
            server.run(sockets=[listening, *others])
            serving.set_result(None)
        except BaseException as error:  # raised in the thread that waits for the start
            serving.set_exception(error)

    thread = threading.Thread(target=run, name="server", daemon=True)
    thread.start()
    for _ in range(round(STARTUP_SECONDS / _LOOK_SECONDS)):
        if server.started or wait([serving], _LOOK_SECONDS).done:
            break
    try:
        if not server.started:
            failure = serving.exception() if serving.done() else None
            raise RuntimeError("The server did not start; the log says why.") from failure
        yield base_url(listening)
    finally:
        server.should_exit = True
        if server.started:
            thread.join()
