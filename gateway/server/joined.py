"""Send head and body of an answer in one write.

uvicorn writes the head before it knows the body, checks each header line by two regular
expressions, and the system is called twice. An answer that is whole, as all of ours are, needs
neither. Whatever is out of the ordinary goes uvicorn's way.
"""

import re
from collections.abc import Sequence
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNUSUAL = frozenset((b"connection", b"transfer-encoding"))
_LARGE_BYTES = 65_536
"""From here on copying a body costs more than a second write."""


class JoinedCycle(RequestResponseCycle):
    """Holds an answer's head back until its body comes."""

    held: Any = None
    body_bytes = 0
    """Of a body that is written by itself."""

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start" and not self.response_started:
            self.held = message  # one that comes instead of another tells of a failure between
            return
        start, self.held = self.held, None
        head = self._head(start, message) if start is not None else None
        if head is None:
            if start is not None:
                await super().send(start)
            self.body_bytes = len(message.get("body", b""))
            await super().send(message)
            return
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = self.chunked_encoding = False
        self.expected_content_length = 0
        self.transport.write(head + message.get("body", b""))
        self.message_event.set()
        self.on_response()

    def _head(self, start: Any, message: Any) -> bytes | None:
        """The head of an answer that is ready to go; None if there is anything to it."""
        body = message.get("body", b"")
        status, scope = start["status"], cast(Any, self.scope)
        if (
            message.get("more_body")
            or not self.keep_alive
            or self.response_started
            or self.disconnected
            or self.flow.write_paused
            or self.access_log
            or status != 200
            or scope["method"] == "HEAD"
            or len(body) > _LARGE_BYTES
        ):
            return None
        return _lines(STATUS_LINE[status], [*self.default_headers, *start["headers"]], len(body))


def _lines(first: bytes, headers: Sequence[tuple[bytes, bytes]], length: int) -> bytes | None:
    """A head, if its length is told and right, and no line of it holds another."""
    parts = [first]
    told = -1
    for name, value in headers:
        if name == b"content-length":
            told = int(value)
        elif name in _UNUSUAL:
            return None
        parts += (name, b": ", value, b"\r\n")
    parts.append(b"\r\n")
    head = b"".join(parts)
    ends = len(headers) + 2
    is_sound = head.count(b"\n") == ends == head.count(b"\r") and not _CONTROL.search(head)
    return head if is_sound and told == length else None
