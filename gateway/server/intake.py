"""The request that is being received: its framing, its progress and its size limits.

Rules:
- A request head that two HTTP parsers could read differently is refused.
- Bytes are counted here. Only the last three are stored, because the end of a request may be split
  between two reads.
- A section has no declared length: a head, or the bytes before a chunk, including trailers.
- A head and each other section may have twice `max_head_bytes`; the application checks the exact
  size of a head.
- In a chunked body all bytes count, including the discarded ones between chunks: nothing else
  limits them.
"""

import math
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
proxies send about 30; Apache allows 100 (LimitRequestFields).
"""
HEAD_ROOM = 2
"""Heads are read up to this multiple of `max_head_bytes`.

The application refuses a head between the two limits, since by then it knows all headers.
"""
CHUNKS_ROOM = 2
"""A chunked body with its framing may be this multiple of `max_body_bytes`."""
CUT_BYTES = 1024
"""Bytes charged for each split of a read within a chunked body.

A split costs some microseconds, and an ordinary body needs one.
"""
_END = b"\r\n\r\n"
"""The end of each head and of each chunked body."""


class Intake:
    """Progress of a connection's current request, and its remaining limits.

    `phase` is set by the connection, as the parser calls it.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._max_section_bytes = HEAD_ROOM * settings.max_head_bytes
        self._max_chunked_bytes = CHUNKS_ROOM * settings.max_body_bytes + self._max_section_bytes
        self.phase = BETWEEN
        self.body_left = 0.0
        """Bytes to come of a body with a declared length; `inf` for a chunked one."""
        self.body_room = math.inf
        """Bytes that a chunked body may still have."""
        self._room = 0  # bytes that the current section may still have
        self._tail = b""

    def begin_body(self, length: float) -> None:
        """Begin a body after a complete head; `length` is `inf` for a chunked one."""
        self.phase = IN_BODY
        self.body_left = length
        self.body_room = self._max_chunked_bytes if length == math.inf else math.inf

    def begin_chunk(self) -> None:
        """Begin a chunk after its size; trailers may follow the last one."""
        self.phase = AFTER_CHUNK_SIZE
        self._room = self._max_section_bytes

    @property
    def room(self) -> int:
        """Remaining bytes of the current section, or of the next one."""
        return self._room if self.phase in _SECTIONS else self._max_section_bytes

    def portion(self, data: bytes) -> int:
        """The number of bytes to parse at once, so that they contain at most one request's end.

        They end where a request may end, or where the section's limit is reached. The end of a body
        with a declared length is known; all others end with an empty line.
        """
        if self.phase in BODY and self.body_left < math.inf:
            return max(min(len(data), int(self.body_left)), 1)
        room = self._max_section_bytes
        if self.phase == BETWEEN:
            blank = len(data) - len(data.lstrip(b"\r\n")) if data[0] in b"\r\n" else 0
            at = data.find(_END, blank)
        else:
            room = self.room
            across = (self._tail + data[: len(_END) - 1]).find(_END)
            if across >= 0:
                return across + len(_END) - len(self._tail)
            at = data.find(_END)
        size = len(data) if at < 0 else at + len(_END)
        return max(min(size, room), 1)

    def count(self, data: bytes, *, is_cut: bool = False) -> None:
        """Count bytes before they are parsed. `is_cut`: more bytes of the same read follow."""
        if self.phase == BETWEEN:
            self._tail = data[1 - len(_END) :]
            self._room = self._max_section_bytes - len(data)
            return
        self._tail = (self._tail + data)[1 - len(_END) :]
        self._room = self.room - len(data)
        if self.phase in BODY:
            self.body_room -= len(data) + (CUT_BYTES if is_cut else 0)


def check_framing(version: str, url: bytes, head: Head) -> tuple[float, bool]:
    """Return the length of the body in bytes, `inf` if chunked, and True if `100` is expected.

    Raises InvalidRequest, or the parser's error for an invalid URL. The parser itself refuses two
    lengths, or a length together with an encoding.
    """
    if version not in ("1.1", "1.0"):
        raise InvalidRequest("Only HTTP/1.1 and HTTP/1.0 are supported.")
    if not url.startswith(b"/") and not httptools.parse_url(url).path:
        raise httptools.HttpParserInvalidURLError("no path")
    lines = head.lines
    hosts, encodings = lines.get(b"host", ()), lines.get(b"transfer-encoding", ())
    if not hosts and version == "1.1":
        raise InvalidRequest("The request has no Host header.")
    # Parsers differ on repeated lines: the first counts, the last counts, or both form a list.
    if len(hosts) > 1 or len(encodings) > 1:
        name = "Host" if len(hosts) > 1 else "Transfer-Encoding"
        raise InvalidRequest(f"The request has more than one {name} header.")
    body_bytes: float = int(lines[b"content-length"][-1]) if b"content-length" in lines else 0
    if encodings:
        if version == "1.0" or encodings[0].lower() != b"chunked":
            raise InvalidRequest("The only supported Transfer-Encoding is chunked, with HTTP/1.1.")
        body_bytes = math.inf
    expects_continue = b"expect" in lines and version == "1.1"  # RFC 9110, 10.1.1: not in HTTP/1.0
    if expects_continue:
        expects_continue = any(each.lower() == b"100-continue" for each in lines[b"expect"])
    return body_bytes, expects_continue


def whole_requests(data: bytes) -> bytes:
    """The bytes up to the end of the last complete request.

    Bytes that cannot be parsed are kept with all that follow, so that they are refused later.
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
    """The bytes of a parsed head without its Upgrade line."""
    first = b"%b %b HTTP/%b" % (method, url, version.encode("ascii"))
    lines = [b"%b: %b" % line for line in headers if line[0] != b"upgrade"]
    return b"\r\n".join([first, *lines, b"", b""])
