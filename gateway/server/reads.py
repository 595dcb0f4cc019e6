"""Bounded reads: the transport hands over no more bytes than the connection may keep.

A plain protocol is given up to 256 KB at once. Bytes behind a request that is still being answered
have to be kept, so the read itself has to be bounded; the rest stays in the system's buffer, whose
size the client's system takes into account.
"""

import asyncio
from typing import Protocol

READ_BYTES = 16_384
"""Largest read, and most bytes that one connection keeps unparsed: some 30 usual requests."""


class Connected(Protocol):
    """A connection that keeps what it cannot parse yet."""

    waiting: bytes
    """What it keeps; once that is all that it may keep, it pauses reading."""

    def data_received(self, data: bytes) -> None: ...
    def eof_received(self) -> bool: ...
    def connection_lost(self, exc: Exception | None) -> None: ...
    def pause_writing(self) -> None: ...
    def resume_writing(self) -> None: ...


class BoundedReads(asyncio.BufferedProtocol):
    """Passes everything on to one connection, in parts that it has room for.

    uvloop and asyncio read into the buffer right after `get_buffer` and report it in the same turn,
    so that all connections of a loop share one.
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
