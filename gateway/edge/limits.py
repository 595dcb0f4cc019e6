"""What all connections of a server share: how much they bear, one clock, and whether it stops."""

from collections.abc import Iterable
from typing import Any, Protocol, cast

from gateway.config import ServerSettings
from gateway.edge.refusals import refusing_app
from gateway.edge.sweeper import Sweeper

DRAIN_SECONDS = 2.0
"""How long a connection without a request stays readable once the server stops."""
LINGER_SECONDS = 2.0
"""How long a refused client may go on sending, so that it reads its answer."""
MOST_PIPELINED = 64
"""Requests of one connection that wait for their turn; the last one's answer ends it."""
HEAD_ROOM = 2
"""How many times `max_head_bytes` of a head are taken in. One that ends within this is too large,
too, but the application says so, which knows all of its headers by then."""
LEAST_READ_BYTES = 65_536
"""What a client must take of an answer within `answer_timeout_seconds`."""


class Idling(Protocol):
    """What is known of a connection where there are too many."""

    idle_since: float

    @property
    def is_idle(self) -> bool: ...

    def close_idle(self) -> None: ...


class Edge:
    """What all connections of a server share."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.refusing_app: Any = refusing_app(settings)  # ASGI, typed elsewhere
        self.sweeper = Sweeper(
            min(
                settings.head_timeout_seconds,
                settings.body_timeout_seconds,
                settings.idle_timeout_seconds,
                settings.answer_timeout_seconds,
            )
        )
        self.is_draining = False


def made_room(connections: Iterable[object]) -> bool:
    """Close the connection that has been idle for longest; false if none is."""
    idle = [each for each in cast(Iterable[Idling], connections) if each.is_idle]
    if idle:
        min(idle, key=lambda each: each.idle_since).close_idle()
    return bool(idle)
