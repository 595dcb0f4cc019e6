"""Bound the answers that clients do not read.

Rules:
- Nobody can see what a client reads: seen is what its system takes, in steps of half its buffer and
  ours. So whoever took much may be silent for longer, as long as it may take for that much.
- Our system would take megabytes of an answer at once, and tell of it in steps of a third of that:
  it is told to keep little (`show_progress`).
- All answers together have a bound, whoever asked for them: past it the reader goes who would take
  longest for the rest of its answer.
"""

import asyncio
import socket
import struct
from dataclasses import dataclass

from gateway.server.sweeper import NEVER, Sweeper

LEAST_READ_BYTES = 65_536
"""What a client must take of an answer within `answer_timeout_seconds`."""
MOST_UNREAD_BYTES = 268_435_456
"""What all answers together may hold: eight of the largest, or a MiB for each of 256 clients."""

_LEAST_SEEN_BYTES = LEAST_READ_BYTES // 2
"""Less than this since the last look is too little: what is seen comes in steps."""
_LONGEST_SILENCE = 4
"""Timeouts for which a client may be silent that took much before."""
_SHORTEST_SPAN_SECONDS = 1.0
"""Shorter ones tell nothing of a client's speed."""
_UNSENT_BYTES = 32_768
_RESET = struct.pack("ii", 1, 0)


def show_progress(listening: socket.socket) -> None:
    """Have the system keep few bytes that it cannot send yet, on all connections of this socket.

    TCP_NOTSENT_LOWAT, see tcp_notsent_lowat in Linux's Documentation/networking/ip-sysctl.rst: what
    is under way does not count, so that it costs no speed, as a small SO_SNDBUF would. Connections
    inherit it from their listening socket.
    """
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    if option is not None and listening.family in (socket.AF_INET, socket.AF_INET6):
        listening.setsockopt(socket.IPPROTO_TCP, option, _UNSENT_BYTES)


def cut_off(transport: asyncio.Transport) -> None:
    """End a connection at once, and free what the system keeps of its answers, too."""
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()


@dataclass(kw_only=True)
class _Unread:
    """How much of an answer was left at the last look, and what was taken of it since it began."""

    began: float
    left_bytes: int
    taken_bytes: int


class UnreadAnswers:
    """Those of all connections of a server, by their transports."""

    def __init__(
        self, sweeper: Sweeper, timeout_seconds: float, most_bytes: int = MOST_UNREAD_BYTES
    ) -> None:
        self._sweeper = sweeper
        self._timeout_seconds = timeout_seconds
        self._most_bytes = most_bytes
        self._waiting: dict[asyncio.Transport, _Unread] = {}
        self._left_bytes = 0

    def begin(self, transport: asyncio.Transport, written_bytes: int) -> float:
        """Some is left in the buffer of what was written; returns the deadline of the next look."""
        left = transport.get_write_buffer_size()
        taken = max(written_bytes - left, 0)
        self._waiting[transport] = _Unread(
            began=self._sweeper.now, left_bytes=left, taken_bytes=taken
        )
        self._left_bytes += left
        self._make_room()
        return self._next_look(taken)

    def end(self, transport: asyncio.Transport) -> None:
        """The answer is taken, or its client gone."""
        unread = self._waiting.pop(transport, None)
        if unread is not None:
            self._left_bytes -= unread.left_bytes

    def look(self, transport: asyncio.Transport) -> float:
        """Cut off a client that took too little since the last look; returns the next deadline."""
        if transport not in self._waiting:
            return NEVER  # it was cut off for others
        taken = self._note(transport)
        if taken < _LEAST_SEEN_BYTES:
            self._cut(transport)
            return NEVER
        return self._next_look(taken)

    def _next_look(self, taken_bytes: int) -> float:
        silence = min(max(taken_bytes / LEAST_READ_BYTES, 1), _LONGEST_SILENCE)
        return self._sweeper.after(self._timeout_seconds * silence)

    def _note(self, transport: asyncio.Transport) -> int:
        """What was taken since it was noted last."""
        unread, left = self._waiting[transport], transport.get_write_buffer_size()
        taken = unread.left_bytes - left
        unread.left_bytes = left
        unread.taken_bytes += taken
        self._left_bytes -= taken
        return taken

    def _make_room(self) -> None:
        if self._left_bytes > self._most_bytes:
            for transport in self._waiting:
                self._note(transport)
        while self._left_bytes > self._most_bytes:
            self._cut(max(self._waiting, key=self._remaining_seconds))

    def _remaining_seconds(self, transport: asyncio.Transport) -> float:
        """How long the rest will take if it goes on as it went."""
        unread = self._waiting[transport]
        passed = max(self._sweeper.now - unread.began, _SHORTEST_SPAN_SECONDS)
        return unread.left_bytes * passed / max(unread.taken_bytes, 1)

    def _cut(self, transport: asyncio.Transport) -> None:
        self.end(transport)
        cut_off(transport)
