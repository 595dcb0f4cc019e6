"""Accept waiting connections in batches.

Rules:
- uvloop accepts one connection in each iteration of the event loop (libuv's `uv__server_io`). With
  many busy clients an iteration takes long. So each new connection makes the `Acceptor` accept all
  connections that wait.
- uvloop still accepts the first connection of a batch. If the `Acceptor` did, one connection with
  one request would take 14 % more instructions.
- A batch has a maximum size, so that many new connections do not delay open connections.
- If the process has no free file descriptor, accepting stops until uvloop accepts a connection.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence

from gateway.telemetry.events import request_failed

BATCH = 256
"""Maximum number of connections to accept from a socket at once, which takes about 10 ms."""


class Acceptor:
    """Accepts connections of listening sockets. `make` returns a new protocol for a connection."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        make: Callable[[], asyncio.BaseProtocol],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._listening = listening
        self._make = make
        self._loop = loop
        self._connecting: set[asyncio.Task[None]] = set()
        for each in listening:
            each.setblocking(False)
        self._is_due = False

    def look_soon(self) -> None:
        """Accept waiting connections in the next iteration of the event loop."""
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._look)

    async def end(self, max_waiting: int) -> None:
        """Accept up to `max_waiting` more connections on each socket, then close the sockets."""
        listening, self._listening = self._listening, ()
        for each in listening:
            self._accept(each, max_waiting)
            each.close()
        while self._connecting:
            await asyncio.wait(self._connecting)

    def _look(self) -> None:
        self._is_due = False
        for each in self._listening:
            self._accept(each, BATCH)

    def _accept(self, listening: socket.socket, count: int) -> None:
        for _ in range(count):
            try:
                accepted, _ = listening.accept()
            except OSError:  # no connection waits, or there is no free descriptor
                return
            task = self._loop.create_task(self._connect(accepted))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, accepted)
        except Exception as error:  # the edge of a background task: other connections go on
            accepted.close()
            request_failed(None, error)
