"""Running ASGI applications on uvicorn, in this thread or another."""

import asyncio
import gc
import logging
import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.server.limits import Edge
from gateway.server.server import GatewayServer
from gateway.server.sockets import base_url
from gateway.settings.address import Proxy
from gateway.settings.model import ServerSettings

STARTUP_SECONDS = 30.0


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


def make_gateway_server(
    app: ASGIApp,
    settings: ServerSettings,
    *,
    proxies: Sequence[Proxy] = (),
    is_inherited: bool = False,
    started: Callable[[], object] = lambda: None,
) -> GatewayServer:
    """A server for hostile clients; it stops within `shutdown_seconds` and a few more.

    Connections of `proxies` count for the client addresses behind them. With `is_inherited` another
    process keeps the listening sockets open: connections not accepted before the stop are left to
    the next server. `started` is called when requests are served.
    """
    config = _config(app, settings.shutdown_seconds)
    edge = Edge(settings, proxies)
    return GatewayServer(config, edge, is_inherited=is_inherited, started=started)


def make_server(app: ASGIApp, *, shutdown_seconds: float) -> uvicorn.Server:
    """A plain server for trusted clients; it stops within `shutdown_seconds`."""
    return uvicorn.Server(_config(app, shutdown_seconds))


def _config(app: ASGIApp, shutdown_seconds: float) -> uvicorn.Config:
    """Access logs are off: URLs may contain keys."""
    logging.getLogger("uvicorn.error").addFilter(_is_not_cancellation)
    return uvicorn.Config(
        app,
        http="httptools",
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
    failures: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            server.run(sockets=[listening, *others])
        except BaseException as error:  # raised in the thread that waits for the start
            failures.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=run, name="server", daemon=True)
    thread.start()
    _wait_until_started(server, ended, failures)
    try:
        yield base_url(listening)
    finally:
        server.should_exit = True
        thread.join()


def _wait_until_started(
    server: uvicorn.Server, ended: threading.Event, failures: list[BaseException]
) -> None:
    for _ in range(round(STARTUP_SECONDS / 0.02)):
        if server.started:
            return
        if ended.wait(0.02):
            break
    server.should_exit = True
    raise RuntimeError("The server did not start; the log says why.") from next(
        iter(failures), None
    )
