"""The log line of a request, encoded and written in about 2 microseconds.

structlog takes 14 for the same line; the other lines are rare enough for it.
"""

import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, TextIO

import msgspec

from gateway.telemetry.redaction import redacted_line

_DELETE = b"\x7f"


class RequestLine(msgspec.Struct, tag_field="event", tag="request", gc=False):
    """The members of a request's line, in their order."""

    id: str
    method: str
    path: str
    status: int
    code: int | None
    key: str | None
    spreadsheet: str | None
    worksheet: str | None
    cache: str
    reading: str | None
    reads: int
    writes: int
    google_ms: float
    ms: float
    timestamp: datetime
    level: str = "info"


_encode = msgspec.json.Encoder().encode


def line_writer(stream: TextIO) -> Callable[[RequestLine], None]:
    """What writes such lines to a stream, those of one turn of the event loop together.

    So the lines of busy moments share a call of the system, and nothing waits for a timer.
    """
    write = _writer(stream)
    waiting: list[bytes] = []

    def write_all() -> None:
        text = b"".join(waiting)
        waiting.clear()
        write(text)

    def write_line(line: RequestLine) -> None:
        waiting.append(encoded(line))
        if len(waiting) == 1:
            try:
                asyncio.get_running_loop().call_soon(write_all)
            except RuntimeError:  # no event loop runs, or it has ended
                write_all()

    return write_line


def encoded(line: RequestLine) -> bytes:
    """The line with its end: JSON, ASCII without control characters, secrets masked."""
    try:
        text = _encode(line)
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 does not have
        text = _escaped(line)
    if not text.isascii() or _DELETE in text:
        text = _escaped(line)
    return redacted_line(text) + b"\n"


def _escaped(line: RequestLine) -> bytes:
    return json.dumps(msgspec.to_builtins(line), ensure_ascii=True).encode("ascii")


def _writer(stream: TextIO) -> Callable[[bytes], None]:
    buffer: Any = getattr(stream, "buffer", None)

    def write_through(text: bytes) -> None:
        buffer.write(text)
        buffer.flush()

    def write_text(text: bytes) -> None:
        stream.write(text.decode("ascii"))
        stream.flush()

    return write_text if buffer is None else write_through
