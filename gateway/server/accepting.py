"""Accepting connections in batches, for any protocol.

Rules:
- uvloop accepts one connection in each turn of the loop (libuv's `uv__server_io`), and a turn with
  many busy clients takes long. So each new connection triggers the acceptance of all that wait.
- Accepting all connections here would cost a single one 14 % of the instructions of its request.
- A batch is bounded, so that many new connections do not delay the open ones.
- Without free descriptors nothing is accepted here until the loop accepts a connection.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence

from gateway.telemetry.events import request_failed

BATCH = 256
"""Maximum number of connections accepted in one turn of the loop, which takes some 10 ms."""


class Acceptor:
    """Accepts connections that wait in listening sockets; `make` returns a protocol for each."""

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
        """Accept all waiting connections in the next turn; each new connection calls this."""
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._look)

    async def end(self, max_waiting: int) -> None:
        """Accept up to `max_waiting` further connections of each socket, and close the sockets."""
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
            except OSError:  # none waits, or there is no descriptor
                return
            task = self._loop.create_task(self._connect(accepted))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, accepted)
        except Exception as error:  # the edge of a background task: the other connections go on
            accepted.close()
            request_failed(None, error)
