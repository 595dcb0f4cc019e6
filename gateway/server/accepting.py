"""Accepting connections in batches, for any protocol.

Rules:
- uvloop accepts one connection in each turn of the loop (libuv's `uv__server_io`), and a turn with
  many busy clients takes long. So all that wait are accepted here: every 0.1 s, and in each turn
  while there are any.
- Accepting all connections here would cost a single one 14 % of the instructions of its request.
- A batch is bounded, so that a crowd of new connections does not hold up those that are open.
- Without descriptors for another connection nothing is accepted until the next look.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence

from gateway.telemetry.events import request_failed

BATCH = 256
"""Connections accepted in one turn of the loop, which take some 10 ms."""
LOOK_SECONDS = 0.1


class Acceptor:
    """Accepts connections that wait in listening sockets; `make` returns a protocol for each."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        make: Callable[[], asyncio.Protocol],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._listening = listening
        self._make = make
        self._loop = loop
        self._connecting: set[asyncio.Task[None]] = set()
        for each in listening:
            each.setblocking(False)
        self._next_look = loop.call_later(0, self._look)

    async def end(self, max_waiting: int) -> None:
        """Accept up to `max_waiting` connections more of each socket, and close the sockets."""
        self._next_look.cancel()
        for each in self._listening:
            self._accept(each, max_waiting)
            each.close()
        while self._connecting:
            await asyncio.wait(self._connecting)

    def _look(self) -> None:
        found = sum([self._accept(each, BATCH) for each in self._listening])
        self._next_look = self._loop.call_later(0 if found else LOOK_SECONDS, self._look)

    def _accept(self, listening: socket.socket, count: int) -> int:
        """Accept up to `count` connections; returns how many there were."""
        for accepted_before in range(count):
            try:
                accepted, _ = listening.accept()
            except OSError:  # none waits, or there is no descriptor
                return accepted_before
            task = self._loop.create_task(self._connect(accepted))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)
        return count

    async def _connect(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, accepted)
        except Exception as error:  # the edge of a background task: the other connections go on
            accepted.close()
            request_failed(None, error)
