"""Limits and state shared by all connections of a server."""

from collections.abc import Sequence
from typing import Any

from gateway.server.accepting import Acceptor
from gateway.server.pipelines import Pipelines
from gateway.server.refusals import refusing_app
from gateway.server.slots import Slots, Sweeper
from gateway.server.unread import UnreadAnswers
from gateway.settings.address import Proxy
from gateway.settings.model import ServerSettings

READ_BYTES = 16_384
"""Largest read, and most bytes that one connection keeps unparsed: some 30 usual requests."""
DRAIN_SECONDS = 2.0
"""How long a connection without a request stays readable after the server stops."""
LINGER_SECONDS = 2.0
"""How long a refused client may keep sending, so that it reads its answer."""
MAX_REFUSED = 64
"""Connections over a limit that get an error answer at once.

Each holds a descriptor until the client has read the answer. Further connections are cut off
without an answer: otherwise refusals would use up the descriptors needed for reads from Google.
"""


class Edge:
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
        self.pipelines = Pipelines()
        self.acceptor: Acceptor | None = None
        self.is_draining = False
