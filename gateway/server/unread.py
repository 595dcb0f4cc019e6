"""Limits for answers that clients do not read.

Rules:
- Only the bytes that the client's system accepts are visible, in steps of half its buffer and ours.
  So a client that took many bytes may pause for longer, in proportion.
- By default our system would buffer megabytes of an answer and report progress in steps of a third.
  `show_progress` reduces its buffer.
- All unread answers together have a limit. Above it, the client with the longest estimated time for
  the rest of its answer is cut off.
"""

import asyncio
import socket
import struct
from dataclasses import dataclass, field

from gateway.server.slots import NEVER, Sweeper

MIN_READ_BYTES = 65_536
"""Bytes of an answer that a client must take within `answer_timeout_seconds`."""
MAX_UNREAD_BYTES = 268_435_456
"""Maximum size of all unread answers: eight of the largest, or 1 MiB for each of 256 clients."""

_MIN_PROGRESS_BYTES = MIN_READ_BYTES // 2
"""Minimum progress since the last check; lower than the requirement, because it shows in steps."""
_MAX_SILENCE = 4
"""Maximum pause, in timeouts, of a client that took many bytes before."""
_MIN_SPAN_SECONDS = 1.0
"""Minimum time from which a client's speed is estimated."""
_UNSENT_BYTES = 32_768
_RESET = struct.pack("ii", 1, 0)


def show_progress(listening: socket.socket) -> None:
    """Limit the unsent bytes that the system buffers, for all connections of this socket.

    TCP_NOTSENT_LOWAT, see tcp_notsent_lowat in Linux's Documentation/networking/ip-sysctl.rst:
    bytes in flight do not count, so it costs no speed, unlike a small SO_SNDBUF. Connections
    inherit it from their listening socket.
    """
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    if option is not None and listening.family in (socket.AF_INET, socket.AF_INET6):
        listening.setsockopt(socket.IPPROTO_TCP, option, _UNSENT_BYTES)


def cut_off(transport: asyncio.Transport) -> None:
    """Close a connection at once, and free the system's buffer too."""
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()


@dataclass
class _Unread:
    """Bytes left at the last check, and bytes taken since the answer began."""

    began: float
    left_bytes: int
    taken_bytes: int


@dataclass
class UnreadAnswers:
    """The unread answers of all connections of a server, by transport."""

    sweeper: Sweeper
    timeout_seconds: float
    max_bytes: int = MAX_UNREAD_BYTES
    _waiting: dict[asyncio.Transport, _Unread] = field(default_factory=dict, init=False)
    _left_bytes: int = field(default=0, init=False)

    def begin(self, transport: asyncio.Transport, written_bytes: int) -> float:
        """Register an answer that is partly unsent; returns the deadline of the next check."""
        left = transport.get_write_buffer_size()
        taken = max(written_bytes - left, 0)
        self._waiting[transport] = _Unread(self.sweeper.now, left, taken)
        self._left_bytes += left
        self._make_room()
        return self._next_look(taken)

    def end(self, transport: asyncio.Transport) -> None:
        """Forget an answer that was taken, or whose client disconnected."""
        unread = self._waiting.pop(transport, None)
        if unread is not None:
            self._left_bytes -= unread.left_bytes

    def look(self, transport: asyncio.Transport) -> float:
        """Cut off a client that took too little since the last check; returns the next deadline."""
        if transport not in self._waiting:
            return NEVER  # cut off to make room for others
        taken = self._note(transport)
        if taken < _MIN_PROGRESS_BYTES:
            self._cut(transport)
            return NEVER
        return self._next_look(taken)

    def _next_look(self, taken_bytes: int) -> float:
        silence = min(max(taken_bytes / MIN_READ_BYTES, 1), _MAX_SILENCE)
        return self.sweeper.after(self.timeout_seconds * silence)

    def _note(self, transport: asyncio.Transport) -> int:
        """Update the counts; returns the bytes taken since the last update."""
        unread, left = self._waiting[transport], transport.get_write_buffer_size()
        taken = unread.left_bytes - left
        unread.left_bytes = left
        unread.taken_bytes += taken
        self._left_bytes -= taken
        return taken

    def _make_room(self) -> None:
        if self._left_bytes > self.max_bytes:
            for transport in self._waiting:
                self._note(transport)
        while self._left_bytes > self.max_bytes:
            self._cut(max(self._waiting, key=self._remaining_seconds))

    def _remaining_seconds(self, transport: asyncio.Transport) -> float:
        """Estimated time for the rest, at the client's speed so far."""
        unread = self._waiting[transport]
        passed = max(self.sweeper.now - unread.began, _MIN_SPAN_SECONDS)
        return unread.left_bytes * passed / max(unread.taken_bytes, 1)

    def _cut(self, transport: asyncio.Transport) -> None:
        self.end(transport)
        cut_off(transport)
