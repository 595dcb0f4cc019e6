"""Idle connections, in the order in which they became idle."""

from collections import OrderedDict
from typing import Protocol


class Idling(Protocol):
    """What is known of a connection where there are too many."""

    @property
    def is_idle(self) -> bool: ...

    def close_idle(self) -> None: ...


IdleConnections = OrderedDict[Idling, None]
"""The one that is idle for longest comes first, and is found without a look at the others."""


def make_room(idle: IdleConnections) -> bool:
    """Close the connection that has been idle for longest; false if none is."""
    while idle:
        connection, _ = idle.popitem(last=False)
        if connection.is_idle:
            connection.close_idle()
            return True
    return False
