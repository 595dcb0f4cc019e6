"""How much of the current request has come, and how much more may come.

Rules: bytes are counted here; only the last three are kept, as the end of a request may be cut
between two reads. A section is what has no length of its own: a head, or what stands before a
chunk, the trailers among it. Of a head and of each such section twice `max_head_bytes` are taken
in; the exact size of a head is checked in the application. Of a body in chunks all counts, also
what is between them and is dropped: it has no other bound.
"""

import math

from gateway.settings.model import ServerSettings

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
CUT_BYTES = 1024
"""What a cut within one read counts of the room of a body in chunks: each costs some microseconds,
and such a body needs one."""
_END = b"\r\n\r\n"
"""Of each head, and of each body in chunks."""


class Intake:
    """Where a connection is in its current request, and the room that is left for it."""

    __slots__ = (
        "_most_chunked_bytes",
        "_most_head_bytes",
        "_tail",
        "body_left",
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
        self.body_left = 0.0
        """What is still to come of a body that tells its length; `inf` for one in chunks."""
        self.sections = 0
        """Those that have begun in all requests."""
        self._tail = b""

    def begin_head(self) -> None:
        self.phase = IN_HEAD
        self.sections += 1
        self.room = self._most_head_bytes
        self._tail = b""

    def begin_body(self, length: float) -> None:
        """The head is over; a length of `inf` is that of a body in chunks."""
        self.phase = IN_BODY
        self.room = self._most_head_bytes
        self.body_left = length
        self.body_room = self._most_chunked_bytes if length == math.inf else math.inf

    def begin_chunk(self) -> None:
        """The size of a chunk has come; of the last, trailers may follow."""
        self.phase = AFTER_CHUNK_SIZE
        self.sections += 1
        self.room = self._most_head_bytes

    def portion(self, data: bytes) -> int:
        """How many of these bytes to parse at once, so that no second request is begun in them.

        Where a request may end it is cut, and where its section has no more room: the end of a body
        that tells its length is known, all others are empty lines.
        """
        if self.phase in BODY and self.body_left < math.inf:
            return max(min(len(data), int(self.body_left)), 1)
        if self.phase == BETWEEN:
            blank = len(data) - len(data.lstrip(b"\r\n")) if data[0] in b"\r\n" else 0
            at = data.find(_END, blank)
        else:
            across = (self._tail + data[: len(_END) - 1]).find(_END)
            if across >= 0:
                return across + len(_END) - len(self._tail)
            at = data.find(_END)
        size = len(data) if at < 0 else at + len(_END)
        return max(min(size, self.room), 1)

    def count(self, data: bytes, *, before: int, begun: int, is_cut: bool = False) -> None:
        """These bytes came; `before` them it was in this phase, in them so many sections began.

        `is_cut`: more of the same read follows. Nothing is counted at the end of a request.
        """
        self._tail = (self._tail + data)[1 - len(_END) :]
        if self.phase in _COUNTED and begun <= (before == BETWEEN):  # all are this section's
            self.room -= len(data)
        if before in BODY:
            self.body_room -= len(data) + (CUT_BYTES if is_cut else 0)
