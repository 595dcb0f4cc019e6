"""Connections that wait for a request, in the order in which they began to."""

from collections import OrderedDict
from typing import Protocol


class Idling(Protocol):
    """What is known of a connection where there are too many."""

    @property
    def is_idle(self) -> bool: ...

    def close_idle(self) -> None: ...


class IdleConnections:
    """All that are idle: to find the one that is for longest takes no look at the others."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Idling, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, connection: Idling) -> None:
        """It is idle from now on."""
        self._waiting[connection] = None

    def discard(self, connection: Idling) -> None:
        """It is not idle any more, or is gone."""
        self._waiting.pop(connection, None)

    def make_room(self) -> bool:
        """Close the connection that has been idle for longest; false if none is."""
        while self._waiting:
            connection, _ = self._waiting.popitem(last=False)
            if connection.is_idle:
                connection.close_idle()
                return True
        return False
