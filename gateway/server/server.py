"""uvicorn's server with the gateway's connections and a graceful stop."""

import asyncio
import atexit
import os
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import cast

import uvicorn

from gateway.server.accepting import Acceptor
from gateway.server.connection import Connection
from gateway.server.limits import Edge
from gateway.server.unread import show_progress

EXIT_GRACE_SECONDS = 4.5
"""Additional time for the stop after `shutdown_seconds`: running writes, the key store."""


class GatewayServer(uvicorn.Server):
    """Graceful stop: accept no connections, answer open ones, finish requests, end the app.

    Open connections stay readable for a while, and their next answer is their last. With an
    inherited socket, connections not yet accepted are left to the successor; otherwise the server
    accepts the whole backlog before it closes the socket. `started` is called when it serves.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        edge: Edge,
        *,
        is_inherited: bool,
        started: Callable[[], object],
    ) -> None:
        config.http = cast("type[asyncio.Protocol]", partial(Connection, edge=edge))
        super().__init__(config)
        self._edge = edge
        self._is_inherited = is_inherited
        self._announce = started
        self._signalled: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        for each in sockets or ():
            show_progress(each)
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        make = partial(
            self.config.http_protocol_class,  # type: ignore[call-arg]  # as uvicorn calls it
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            _loop=loop,
        )
        self._edge.acceptor = Acceptor([each.dup() for each in sockets or ()], make, loop)
        self._sweeping = asyncio.create_task(
            self._edge.sweeper.run(self.server_state.connections)  # type: ignore[arg-type]
        )
        if self.started:
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._set_kill_timer()
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

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._signalled is None:
            self._signalled = time.monotonic()
        super().handle_exit(sig, frame)

    def _set_kill_timer(self) -> None:
        """After a signal, end the process even if something hangs."""
        if self._signalled is not None:
            passed = time.monotonic() - self._signalled
            limit = (self.config.timeout_graceful_shutdown or 0) + EXIT_GRACE_SECONDS
            signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
            signal.setitimer(signal.ITIMER_REAL, max(limit - passed, 0.1))
            # After its exit functions Python resets signal handlers: the alarm would kill it.
            atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)
