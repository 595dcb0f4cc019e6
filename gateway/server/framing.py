"""Reject request heads that two readers could parse differently."""

import math
from collections.abc import Sequence

import httptools

from gateway.errors import InvalidRequest

HeaderLines = Sequence[tuple[bytes, bytes]]

_SINGLE = {b"host": "Host", b"transfer-encoding": "Transfer-Encoding"}
"""Of two lines another reader may believe the other one, or take both for a list."""


def check_framing(version: str, url: bytes, headers: HeaderLines) -> float:
    """Bytes of the body that follows, `inf` for one in chunks.

    Raises InvalidRequest, or for a URL that is none what the parser raises for those.

    Two lengths, and a length and an encoding are refused by the parser.
    """
    if version not in ("1.1", "1.0"):
        raise InvalidRequest("Only HTTP/1.1 and HTTP/1.0 are spoken here.")
    if not url.startswith(b"/") and not httptools.parse_url(url).path:
        raise httptools.HttpParserInvalidURLError("no path")
    lines = dict(headers)
    if b"host" not in lines and version == "1.1":
        raise InvalidRequest("The request has no Host header.")
    if len(lines) < len(headers):
        _check_single(headers)
    if b"transfer-encoding" in lines:
        if version == "1.0" or lines[b"transfer-encoding"].lower() != b"chunked":
            raise InvalidRequest("The only Transfer-Encoding is chunked, of HTTP/1.1.")
        return math.inf
    return int(lines.get(b"content-length", 0))


def _check_single(headers: HeaderLines) -> None:
    for name, told in _SINGLE.items():
        if sum(each == name for each, _ in headers) > 1:
            raise InvalidRequest(f"The request has more than one {told} header.")


def whole_requests(data: bytes) -> bytes:
    """The bytes without a request at their end of which something is missing.

    What cannot be parsed is kept with all that follows: it is to be refused.
    """
    ends = _Ends()
    parser = httptools.HttpRequestParser(ends)
    whole = 0
    for at in range(len(data)):  # the parser does not say where in its bytes a request ends
        before = ends.count
        try:
            parser.feed_data(data[at : at + 1])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return data
        if ends.count > before:
            whole = at + 1
    return data[:whole]


class _Ends:
    """Counts requests that have come whole."""

    count = 0

    def on_message_complete(self) -> None:
        self.count += 1


def without_upgrade(method: bytes, url: bytes, version: str, headers: HeaderLines) -> bytes:
    """The bytes of a head that was parsed, but for its Upgrade line."""
    first = b"%b %b HTTP/%b" % (method, url, version.encode("ascii"))
    lines = [b"%b: %b" % line for line in headers if line[0] != b"upgrade"]
    return b"\r\n".join([first, *lines, b"", b""])
