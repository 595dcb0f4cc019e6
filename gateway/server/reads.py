"""Bounded reads: no read returns more bytes than the connection may buffer.

A plain protocol receives up to 256 KB at once. Bytes behind an unanswered request must be buffered,
so the read itself is bounded. The rest stays in the system's buffer, which slows the client down.
"""

import asyncio
from typing import Protocol

READ_BYTES = 16_384
"""Largest read, and most unparsed bytes of one connection: about 30 usual requests."""


class Connected(Protocol):
    """A connection that buffers bytes it cannot parse yet."""

    waiting: bytes
    """The buffered bytes; at the limit, the connection pauses reading."""

    def data_received(self, data: bytes) -> None: ...
    def eof_received(self) -> bool: ...
    def connection_lost(self, exc: Exception | None) -> None: ...
    def pause_writing(self) -> None: ...
    def resume_writing(self) -> None: ...


class BoundedReads(asyncio.BufferedProtocol):
    """Passes bytes to one connection, up to the size that it may buffer.

    uvloop and asyncio fill the buffer right after `get_buffer` and report it in the same turn, so
    all connections of a loop share one buffer.
    """

    def __init__(self, connection: Connected, buffer: memoryview) -> None:
        self._connection = connection
        self._buffer = buffer

    def get_buffer(self, sizehint: int) -> memoryview:
        waiting = self._connection.waiting
        return self._buffer[: max(READ_BYTES - len(waiting), 1)] if waiting else self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._connection.data_received(bytes(self._buffer[:nbytes]))

    def eof_received(self) -> bool:
        return self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()
