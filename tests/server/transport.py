"""Fake transport whose client reads as many bytes as the test says."""

import asyncio
from typing import Any


class Held(asyncio.Transport):
    """Transport whose client reads `room` bytes. Later bytes stay in the write buffer."""

    def __init__(self, room: int = 1_000_000, peer: str = "127.0.0.1") -> None:
        super().__init__()
        self._peer = peer
        self.room = room
        self.left = 0
        self.written = b""
        self.is_read = True
        self.has_ended = False
        self.is_closed = False
        self.is_aborted = False
        self._protocol: Any = None

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self if name == "socket" else default

    def setsockopt(self, *option: Any) -> None:
        """Ignore the option. This object is also the transport's socket."""

    def getsockname(self) -> tuple[str, int]:
        return ("127.0.0.1", 8000)

    def getpeername(self) -> tuple[str, int]:
        return (self._peer, 40_000)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.limits = (high, low)

    def get_write_buffer_size(self) -> int:
        return self.left

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)
        was_empty = not self.left
        self.left += len(data)
        self.take(0)
        if self.left and was_empty:
            self._protocol.pause_writing()

    def take(self, count: int) -> None:
        """Let the client read `count` bytes."""
        was_empty = not self.left
        self.room += count
        gone = min(self.room, self.left)
        self.left -= gone
        self.room -= gone
        if count and not self.left and not was_empty:
            self._protocol.resume_writing()

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.has_ended = True

    def is_reading(self) -> bool:
        return self.is_read

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def lose(self) -> None:
        """Let the client disconnect."""
        self._protocol.connection_lost(None)

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True
        self.left = 0


def receive(connection: Any, data: bytes) -> None:
    """Let a connection read bytes through its buffer, as an event loop does."""
    while data:
        buffer: memoryview = connection.get_buffer(-1)
        part, data = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(part)] = part
        connection.buffer_updated(len(part))
