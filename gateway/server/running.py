"""Run ASGI applications on uvicorn, in this thread or another, with a graceful stop."""

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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
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
"""Seconds after `shutdown_seconds` to finish running writes and close the key store."""


class GatewayServer(uvicorn.Server):
    """uvicorn server for untrusted clients, with connection limits and a graceful stop.

    Connections of `proxies`, the trusted proxies, count for the client addresses behind them.
    `started` is called once, when the server accepts connections.

    At a stop:
    - The server accepts the connections that wait in its sockets, and closes the sockets. With
      `is_inherited`, it leaves these connections to other processes with the same sockets.
    - Running requests are finished. A connection without a request stays open for `DRAIN_SECONDS`,
      and can send one more request.
    - The application ends. After a signal, the process is ended if the stop takes longer than
      `shutdown_seconds` plus `EXIT_GRACE_SECONDS`.
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
        """After a signal, end the process after a time limit if a task or thread hangs."""
        if self._signalled is not None:
            passed = time.monotonic() - self._signalled
            limit = (self.config.timeout_graceful_shutdown or 0) + EXIT_GRACE_SECONDS
            signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
            signal.setitimer(signal.ITIMER_REAL, max(limit - passed, 0.1))
            # Python resets signal handlers after the exit functions: then SIGALRM would kill it.
            atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)


def by_port(app: ASGIApp, own_port: int, other: ASGIApp) -> ASGIApp:
    """Return an application that passes requests to the server's port `own_port` to `other`.

    `app` gets the requests to other ports, and the lifespan.
    """

    async def chosen(scope: Scope, receive: Receive, send: Send) -> None:
        # The address of the socket, which a client cannot forge. A Unix socket has no port.
        _, port = scope.get("server") or ("", None)
        await (other if port == own_port else app)(scope, receive, send)

    return chosen


def make_server(app: ASGIApp, *, shutdown_seconds: float) -> uvicorn.Server:
    """Make a uvicorn server for trusted clients, without connection limits."""
    return uvicorn.Server(_config(app, shutdown_seconds, "httptools"))


def _config(app: ASGIApp, shutdown_seconds: float, http: Any) -> uvicorn.Config:
    """Configure uvicorn without access logs, because URLs might contain keys.

    `http` is a function that makes a connection's protocol, or the name of a uvicorn protocol.
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
    """Print the greeting, serve in this thread until a signal, and end the process.

    The signals are SIGINT, SIGTERM and, without `nohup`, SIGHUP. The exit status is 0 after a
    signal, and 1 if the server did not start. Signals set a flag and raise no exception, because
    Python ignores exceptions in some callbacks, for example of an import.
    """
    is_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    for each in (signal.SIGINT, signal.SIGTERM, *([] if is_nohup else [signal.SIGHUP])):
        signal.signal(each, server.handle_exit)  # uvicorn sets handlers later, but none for SIGHUP
    if greeting is not None:
        with suppress(OSError):  # as on a full disk
            print(greeting, flush=True)
    gc.collect()
    gc.freeze()  # otherwise each full collection visits all modules, for 30 to 80 ms
    server.run(sockets=list(sockets))
    status = 0 if server.started else 1
    if len(threading.enumerate()) > 1:
        # A thread that waits for Google would block the exit, although its request is answered.
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _is_not_cancellation(record: logging.LogRecord) -> bool:
    """Log filter that hides tracebacks of cancelled requests when the server stops."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


@contextmanager
def in_background(
    server: uvicorn.Server, listening: socket.socket, *others: socket.socket
) -> Iterator[str]:
    """Serve in a background thread during the `with` block.

    Yields the base URL of `listening`. Raises RuntimeError if the server does not start within
    `STARTUP_SECONDS`.
    """
    serving: Future[None] = Future()

    def run() -> None:
        try:
            server.run(sockets=[listening, *others])
            serving.set_result(None)
        except BaseException as error:  # the thread that waits for the start raises it
            serving.set_exception(error)

    thread = threading.Thread(target=run, name="server", daemon=True)
    thread.start()
    for _ in range(round(STARTUP_SECONDS / _LOOK_SECONDS)):
        if server.started or wait([serving], _LOOK_SECONDS).done:
            break
    try:
        if not server.started:
            failure = serving.exception() if serving.done() else None
            raise RuntimeError(
                "The server did not start. The log contains the reason."
            ) from failure
        yield base_url(listening)
    finally:
        server.should_exit = True
        if server.started:
            thread.join()
