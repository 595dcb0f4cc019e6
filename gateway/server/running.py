"""Run ASGI applications on uvicorn, in this thread or another."""

import asyncio
import errno
import logging
import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.server.limits import Edge
from gateway.server.server import GatewayServer
from gateway.settings.address import Proxy
from gateway.settings.model import ServerSettings

STARTUP_SECONDS = 30.0
_BACKLOG = 2048
_FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)


class ByPort:
    """An application for each port of one server; those not named are `app`'s, and the lifespan.

    So one loop, one start and one stop serve all of them.
    """

    def __init__(self, app: ASGIApp, others: Mapping[int | None, ASGIApp]) -> None:
        self._app = app
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The address is the socket's own, never what a client says of it; some have no port.
        _, port = scope.get("server") or ("", None)
        await self._others.get(port, self._app)(scope, receive, send)


def make_gateway_server(
    app: ASGIApp,
    settings: ServerSettings,
    *,
    proxies: Sequence[Proxy] = (),
    is_inherited: bool = False,
) -> GatewayServer:
    """A server that bears hostile clients, and ends within `shutdown_seconds` and a few more.

    Connections of `proxies` count for the addresses of the clients behind them. With `is_inherited`
    the listening sockets live on elsewhere: connections that it has not accepted when it stops are
    left to whoever serves them next.
    """
    config = _config(app, settings.shutdown_seconds)
    return GatewayServer(config, Edge(settings, proxies), is_inherited=is_inherited)


def make_server(app: ASGIApp, *, shutdown_seconds: float) -> uvicorn.Server:
    """A plain server, for clients one trusts, that ends within `shutdown_seconds`."""
    return uvicorn.Server(_config(app, shutdown_seconds))


def _config(app: ASGIApp, shutdown_seconds: float) -> uvicorn.Config:
    """Without an access log: URLs may hold keys."""
    logging.getLogger("uvicorn.error").addFilter(_is_mistake)
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


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. OSError if the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def inherited(descriptor: int) -> socket.socket:
    """A listening socket that the parent process opened; OSError says why it is none."""
    listening = socket.socket(fileno=descriptor)
    fault = _fault_of(listening)
    if fault:
        listening.detach()
        raise OSError(errno.EINVAL, fault)
    listening.set_inheritable(False)
    return listening


def _fault_of(given: socket.socket) -> str:
    if given.type != socket.SOCK_STREAM or given.family not in _FAMILIES:
        return "it is no stream socket of TCP or Unix"
    if not given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return "it is a socket, but does not listen"
    return ""


def base_url(listening: socket.socket) -> str:
    """How clients reach it; `unix:PATH` for a socket in the file system."""
    if listening.family == socket.AF_UNIX:
        return f"unix:{os.fsdecode(listening.getsockname())}"
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(server: uvicorn.Server, sockets: Sequence[socket.socket], greeting: str) -> NoReturn:
    """Print the greeting, serve in this thread until a signal ends it, and end the process.

    SIGINT, SIGTERM and SIGHUP do, SIGHUP unless it is ignored, as `nohup` has it. The exit status
    is 0 after a signal, whenever it comes, and 1 if the server did not start. uvicorn ends in good
    order, then raises the signal once more for whoever handled it before.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: sys.exit(0))
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, server.handle_exit)  # uvicorn does not know it
    print(greeting, flush=True)
    try:
        server.run(sockets=list(sockets))
        status = 0 if server.started else 1
    except SystemExit:
        status = 0
    if len(threading.enumerate()) > 1:
        # A thread that still waits for Google would keep the process; its request is answered.
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _is_mistake(record: logging.LogRecord) -> bool:
    """Is it anything but the traceback of a request that was cancelled at the end of the server?"""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


@contextmanager
def in_background(
    server: uvicorn.Server, listening: socket.socket, *others: socket.socket
) -> Iterator[str]:
    """Serve in a thread for the time of the block; gives the base URL of the first socket."""
    failures: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            server.run(sockets=[listening, *others])
        except BaseException as error:  # handed to the thread that waits for the start
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
