"""Time and size limits for answers that clients do not read.

Rules:
- The gateway sees which bytes the client's kernel has accepted, in steps of half a kernel buffer,
  but not which bytes the client has read. So after many accepted bytes, the client can pause for a
  proportional time.
- By default the gateway's kernel buffers megabytes of an answer, and shows progress in steps of a
  third of this buffer. `show_progress` reduces the buffer.
- All unread answers together have a maximum size. Above this size, the gateway closes the
  connection whose answer would take the longest time to read.
"""

import asyncio
import socket
import struct
from dataclasses import dataclass, field

from gateway.server.slots import NEVER, Sweeper

MIN_READ_BYTES = 65_536
"""Bytes of an answer that a client must accept within `answer_timeout_seconds`."""
MAX_UNREAD_BYTES = 268_435_456
"""Maximum bytes of all unread answers together."""

_MIN_PROGRESS_BYTES = MIN_READ_BYTES // 2
"""Bytes to accept between two checks: less than `MIN_READ_BYTES`, as progress has large steps."""
_MAX_SILENCE = 4
"""Maximum pause of a client that has accepted many bytes, as a multiple of the timeout."""
_MIN_SPAN_SECONDS = 1.0
"""Minimum time over which a client's speed is estimated."""
_UNSENT_BYTES = 32_768
_RESET = struct.pack("ii", 1, 0)


def show_progress(listening: socket.socket) -> None:
    """Limit the unsent bytes in the kernel's buffer for all connections of this socket.

    Connections inherit the option TCP_NOTSENT_LOWAT (Linux's
    Documentation/networking/ip-sysctl.rst). Bytes in flight do not count, so the option does not
    slow down connections, unlike a small SO_SNDBUF.
    """
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    if option is not None and listening.family in (socket.AF_INET, socket.AF_INET6):
        listening.setsockopt(socket.IPPROTO_TCP, option, _UNSENT_BYTES)


def cut_off(transport: asyncio.Transport) -> None:
    """Reset a connection, and discard the bytes in the kernel's buffer."""
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()


@dataclass
class _Unread:
    """Unsent bytes at the last check, and accepted bytes since `began`, a time of the `Sweeper`."""

    began: float
    left_bytes: int
    taken_bytes: int


@dataclass
class UnreadAnswers:
    """Partly unsent answers of all connections of a server, by the transport of the connection."""

    sweeper: Sweeper
    timeout_seconds: float
    max_bytes: int = MAX_UNREAD_BYTES
    _waiting: dict[asyncio.Transport, _Unread] = field(default_factory=dict, init=False)
    _left_bytes: int = field(default=0, init=False)

    def begin(self, transport: asyncio.Transport, written_bytes: int) -> float:
        """Register a partly unsent answer, whose last write had `written_bytes`.

        Returns the time of the `Sweeper` at which to call `look`. If all unread answers are too
        large together, resets connections, possibly this one.
        """
        left = transport.get_write_buffer_size()
        taken = max(written_bytes - left, 0)
        self._waiting[transport] = _Unread(self.sweeper.now, left, taken)
        self._left_bytes += left
        self._make_room()
        return self._next_look(taken)

    def end(self, transport: asyncio.Transport) -> None:
        """Remove the answer of a connection, because it is sent or the client has disconnected."""
        unread = self._waiting.pop(transport, None)
        if unread is not None:
            self._left_bytes -= unread.left_bytes

    def look(self, transport: asyncio.Transport) -> float:
        """Return the next deadline; `NEVER` after the reset of a client that reads too slowly."""
        if transport not in self._waiting:
            return NEVER  # `_make_room` reset the connection
        taken = self._note(transport)
        if taken < _MIN_PROGRESS_BYTES:
            self._cut(transport)
            return NEVER
        return self._next_look(taken)

    def _next_look(self, taken_bytes: int) -> float:
        silence = min(max(taken_bytes / MIN_READ_BYTES, 1), _MAX_SILENCE)
        return self.sweeper.after(self.timeout_seconds * silence)

    def _note(self, transport: asyncio.Transport) -> int:
        """Update the counts. Returns the bytes that the client accepted since the last update."""
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
        unread = self._waiting[transport]
        passed = max(self.sweeper.now - unread.began, _MIN_SPAN_SECONDS)
        return unread.left_bytes * passed / max(unread.taken_bytes, 1)

    def _cut(self, transport: asyncio.Transport) -> None:
        self.end(transport)
        cut_off(transport)
