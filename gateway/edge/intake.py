"""What has come of the request that is being read, and how much more of it may come.

Rules: bytes are counted here, not kept. A section is what has no length of its own: a head, or what
stands before a chunk, the trailers among it. Of a head and of each such section twice
`max_head_bytes` are taken in; the exact size of a head is checked in the application. Of a body in
chunks all counts, also what is between them and is dropped: it has no other bound.
"""

import math

from gateway.config import ServerSettings

BETWEEN, IN_HEAD, IN_BODY, AFTER_CHUNK_SIZE = range(4)
BODY = (IN_BODY, AFTER_CHUNK_SIZE)
_COUNTED = (IN_HEAD, AFTER_CHUNK_SIZE)

MOST_LINES = 100
"""Header lines of a request. A short one takes 26 times its size once it is read, so bytes alone do
not bound the memory; browsers and proxies send some 30, and Apache takes 100 (LimitRequestFields).
"""
HEAD_ROOM = 2
"""How many times `max_head_bytes` of a head are taken in. One that ends within this is too large,
too, but the application says so, which knows all of its headers by then."""
CHUNKS_ROOM = 2
"""How many times `max_body_bytes` a body in chunks may be with all that is around them."""


class Intake:
    """Where a connection is in its current request, and the room that is left for it."""

    __slots__ = (
        "_most_chunked_bytes",
        "_most_head_bytes",
        "body_room",
        "phase",
        "room",
        "sections",
    )

    def __init__(self, settings: ServerSettings) -> None:
        self._most_head_bytes = HEAD_ROOM * settings.max_head_bytes
        self._most_chunked_bytes = CHUNKS_ROOM * settings.max_body_bytes + self._most_head_bytes
        self.phase = BETWEEN
        self.room = self._most_head_bytes
        """What may still come of the section."""
        self.body_room = math.inf
        """What may still come of a body in chunks; other bodies tell their length."""
        self.sections = 0
        """Those that have begun in all requests."""

    def begin_head(self) -> None:
        self.phase = IN_HEAD
        self.sections += 1
        self.room = self._most_head_bytes

    def begin_body(self, length: float) -> None:
        """The head is over; a length of `inf` is that of a body in chunks."""
        self.phase = IN_BODY
        self.room = self._most_head_bytes
        self.body_room = self._most_chunked_bytes if length == math.inf else math.inf

    def begin_chunk(self) -> None:
        """The size of a chunk has come; of the last, trailers may follow."""
        self.phase = AFTER_CHUNK_SIZE
        self.sections += 1
        self.room = self._most_head_bytes

    def count(self, size: int, *, before: int, begun: int) -> None:
        """So many bytes came; `before` them it was in this phase, in them so many sections began.

        Nothing is counted at the end of a request.
        """
        if self.phase in _COUNTED and begun <= (before == BETWEEN):  # all are this section's
            self.room -= size
        if before in BODY:
            self.body_room -= size
