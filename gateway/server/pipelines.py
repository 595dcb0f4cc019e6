"""Pipelined requests, a few in each turn of the loop.

Rules:
- A connection with a further request in its buffer could begin it right after each answer. Then a
  turn of the loop would take as long as a request of every such connection, and each step of all
  other clients would wait for a turn.
- So these connections queue, each for one request. Requests that arrive by themselves do not.
"""

import asyncio
from collections import OrderedDict
from typing import Protocol

PER_TURN = 16
"""Pipelined requests that begin in one turn of the loop."""


class Pipelining(Protocol):
    def go_on(self) -> None:
        """Begin the next request in the buffer."""


class Pipelines:
    """The connections of one server that wait to begin their next request."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Pipelining, None] = OrderedDict()
        self._is_scheduled = False

    def __contains__(self, connection: Pipelining) -> bool:
        return connection in self._waiting

    def add(self, connection: Pipelining) -> None:
        self._waiting[connection] = None
        self._schedule()

    def discard(self, connection: Pipelining) -> None:
        self._waiting.pop(connection, None)

    def _schedule(self) -> None:
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(min(PER_TURN, len(self._waiting))):
            connection, _ = self._waiting.popitem(last=False)
            loop.call_soon(connection.go_on)  # an error of one does not stop the others
        self._is_scheduled = False
        self._schedule()
