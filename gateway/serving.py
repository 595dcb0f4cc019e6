"""Running an ASGI application on uvicorn, in this thread or beside it."""

import asyncio
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

STARTUP_SECONDS = 30.0
_BACKLOG = 2048


class ByPort:
    """An application for each port of one server; those not named are `app`'s, and the lifespan.

    So one loop, one start and one stop serve all of them.
    """

    def __init__(self, app: ASGIApp, others: Mapping[int, ASGIApp]) -> None:
        self._app = app
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The address is the socket's own, never what a client says of it.
        port: int = scope["server"][1] if scope["type"] == "http" else -1
        await self._others.get(port, self._app)(scope, receive, send)


def make_server(app: ASGIApp, *, shutdown_seconds: float) -> uvicorn.Server:
    """A server without an access log (URLs may hold keys) that ends within `shutdown_seconds`."""
    config = uvicorn.Config(
        app,
        http="httptools",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(shutdown_seconds),
    )
    logging.getLogger("uvicorn.error").addFilter(_is_mistake)
    return uvicorn.Server(config)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. OSError if the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def base_url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(server: uvicorn.Server, sockets: Sequence[socket.socket], greeting: str) -> NoReturn:
    """Print the greeting, serve in this thread until SIGINT or SIGTERM, and end the process.

    The exit status is 0 after a signal, whenever it comes, and 1 if the server did not start.
    uvicorn ends in good order, then raises the signal once more for whoever handled it before.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: sys.exit(0))
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
