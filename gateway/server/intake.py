"""Framing, progress and size limits of the request that a connection receives.

Rules:
- The gateway refuses a request head that two HTTP parsers could read differently.
- `Intake` counts bytes. It stores only the last three bytes, because the end of a request can be
  split between two reads.
- A section is a part of a request without a declared length: the head, or the bytes after the size
  of a chunk, such as trailers. A section can have `HEAD_ROOM` times `max_head_bytes`.
- All bytes of a chunked body count for `body_room`, also the lines with the sizes of chunks.
"""

import math
import re
from types import SimpleNamespace

import httptools

from gateway.errors import InvalidRequest
from gateway.settings.model import ServerSettings
from gateway.web.head import Head
from gateway.web.request import HeaderLines

BETWEEN, IN_HEAD, IN_BODY, AFTER_CHUNK_SIZE = range(4)
BODY = (IN_BODY, AFTER_CHUNK_SIZE)
_SECTIONS = (IN_HEAD, AFTER_CHUNK_SIZE)

MAX_HEADER_LINES = 100
"""Maximum number of header lines.

A short line takes 26 times its size in memory, so a byte limit does not suffice. Browsers and
proxies send about 30. Apache allows 100 (LimitRequestFields).
"""
HEAD_ROOM = 2
"""Multiple of `max_head_bytes` up to which the connection reads a request head.

The application refuses a head above `max_head_bytes` after it has parsed all headers.
"""
CHUNKS_ROOM = 2
"""Multiple of `max_body_bytes` that a chunked body with its framing can have."""
CUT_BYTES = 1024
"""Bytes that `body_room` loses in addition for each blank line within a chunked body.

The body might end at a blank line, so the parser is called for each, which takes microseconds.
"""
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(:[0-9]*)?")
"""Host and port of RFC 9112, 3.2. The host can be blank."""
_END = b"\r\n\r\n"
"""Last bytes of each head and of each chunked body."""


class Intake:
    """Progress of a connection's current request, and number of bytes that can still arrive.

    The connection sets `phase` in callbacks of the parser.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._max_section_bytes = HEAD_ROOM * settings.max_head_bytes
        self._max_chunked_bytes = CHUNKS_ROOM * settings.max_body_bytes + self._max_section_bytes
        self.phase = BETWEEN
        self.body_left = 0.0
        """Number of body bytes that have not arrived, or `inf` for a chunked body."""
        self.body_room = math.inf
        """Number of bytes that a chunked body can still have, or `inf` for other bodies."""
        self._room = 0  # bytes that the current section can still have
        self._tail = b""

    def begin_body(self, length: float) -> None:
        """Begin a body after a complete head. `length` is in bytes, or `inf` for a chunked body."""
        self.phase = IN_BODY
        self.body_left = length
        self.body_room = self._max_chunked_bytes if length == math.inf else math.inf

    def begin_chunk(self) -> None:
        """Begin a chunk after its size line. Trailers can follow the last chunk."""
        self.phase = AFTER_CHUNK_SIZE
        self._room = self._max_section_bytes

    @property
    def room(self) -> int:
        """Number of bytes that the current section can still have, or else the next section."""
        return self._room if self.phase in _SECTIONS else self._max_section_bytes

    def take(self, data: bytes) -> int:
        """Count and return the number of first bytes of `data` to parse now: at least 1.

        At most one request ends in these bytes. They end where the request can end, or at the limit
        of the section. A body with a declared length ends after this length. Heads and chunked
        bodies end with an empty line.
        """
        phase, tail, room = self.phase, b"", self._max_section_bytes
        blank, across = 0, -1
        if phase != BETWEEN:
            tail, room = self._tail, self.room
            across = (tail + data[: len(_END) - 1]).find(_END)
        elif data[0] in b"\r\n":
            blank = len(data) - len(data.lstrip(b"\r\n"))
        if phase in BODY and self.body_left < math.inf:
            size = max(min(len(data), int(self.body_left)), 1)
        elif across >= 0:
            size = across + len(_END) - len(tail)
        else:
            at = data.find(_END, blank)
            size = max(min(len(data) if at < 0 else at + len(_END), room), 1)
        self._tail = (tail + data[:size])[1 - len(_END) :]
        self._room = room - size
        if phase in BODY:
            self.body_room -= size + (CUT_BYTES if size < len(data) else 0)
        return size


def check_framing(version: str, url: bytes, head: Head) -> tuple[float, bool]:
    """Return the bytes of the body (`inf` if chunked), and True if the client expects 100 Continue.

    Raises InvalidRequest, or the parser's error for an invalid URL. The parser itself refuses two
    Content-Length headers, and Content-Length together with Transfer-Encoding.
    """
    if version not in ("1.1", "1.0"):
        raise InvalidRequest("The HTTP version is not supported. Use HTTP/1.1 or HTTP/1.0.")
    if not url.startswith(b"/") and not httptools.parse_url(url).path:
        raise httptools.HttpParserInvalidURLError("no path")
    lines = head.lines
    hosts, encodings = lines.get(b"host", ()), lines.get(b"transfer-encoding", ())
    if not hosts and version == "1.1":
        raise InvalidRequest("The request has no Host header. Add one.")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise InvalidRequest("The Host header is invalid. Send a host name, and a port if needed.")
    # Parsers differ on repeated headers: they take the first, the last, or join both as a list.
    if len(hosts) > 1 or len(encodings) > 1:
        name = "Host" if len(hosts) > 1 else "Transfer-Encoding"
        raise InvalidRequest(f"The request has more than one {name} header. Send only one.")
    body_bytes: float = int(lines[b"content-length"][-1]) if b"content-length" in lines else 0
    if encodings:
        if version == "1.0" or encodings[0].lower() != b"chunked":
            raise InvalidRequest("Transfer-Encoding must be chunked, and needs HTTP/1.1.")
        body_bytes = math.inf
    expects_continue = b"expect" in lines and version == "1.1"  # RFC 9110, 10.1.1: not in HTTP/1.0
    if expects_continue:
        expects_continue = any(each.lower() == b"100-continue" for each in lines[b"expect"])
    return body_bytes, expects_continue


def whole_requests(data: bytes) -> bytes:
    """Return the bytes up to the end of the last complete request.

    Returns all bytes if the parser fails, so that the connection answers with an error later.
    """
    at = whole = 0

    def end() -> None:
        nonlocal whole
        whole = at + 1

    parser = httptools.HttpRequestParser(SimpleNamespace(on_message_complete=end))
    for at in range(len(data)):  # the parser does not report where a request ends
        try:
            parser.feed_data(data[at : at + 1])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return data
    return data[:whole]


def without_upgrade(method: bytes, url: bytes, version: str, headers: HeaderLines) -> bytes:
    """Return the bytes of a parsed request head without its Upgrade header."""
    first = b"%b %b HTTP/%b" % (method, url, version.encode("ascii"))
    lines = [b"%b: %b" % line for line in headers if line[0] != b"upgrade"]
    return b"\r\n".join([first, *lines, b"", b""])
