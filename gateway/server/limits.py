"""Limits and state that all connections of a server share."""

from collections.abc import Sequence
from typing import Any

from gateway.server.refusals import refusing_app
from gateway.server.slots import Slots
from gateway.server.sweeper import Sweeper
from gateway.server.unread import UnreadAnswers
from gateway.settings.address import Proxy
from gateway.settings.model import ServerSettings

READ_BYTES = 16_384
"""Largest read, and most bytes that one connection keeps unparsed: some 30 usual requests."""
DRAIN_SECONDS = 2.0
"""How long a connection without a request stays readable once the server stops."""
LINGER_SECONDS = 2.0
"""How long a refused client may go on sending, so that it reads its answer."""
MOST_REFUSED = 64
"""Connections past `max_connections` or past those of one address that are told so at once; each
holds a descriptor until it has read that. Those past this number, too, are cut off without a word:
else refusing would use up the descriptors that reads from Google need."""


class Edge:
    """What all connections of a server share."""

    def __init__(self, settings: ServerSettings, proxies: Sequence[Proxy] = ()) -> None:
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
        self.slots = Slots(settings, proxies)
        self.buffer = memoryview(bytearray(READ_BYTES))
        """Where all connections read into, each in its turn."""
        self.unread = UnreadAnswers(self.sweeper, settings.answer_timeout_seconds)
        self.is_draining = False
