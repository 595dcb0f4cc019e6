"""Framing checks: reject request heads that two HTTP parsers could read differently."""

import math
from collections.abc import Sequence

import httptools

from gateway.errors import InvalidRequest

HeaderLines = Sequence[tuple[bytes, bytes]]

_SINGLE = {b"host": "Host", b"transfer-encoding": "Transfer-Encoding"}
"""Parsers differ on repeated lines: the first counts, the last counts, or both form a list."""


def check_framing(version: str, url: bytes, headers: HeaderLines) -> float:
    """Return the length of the body in bytes, `inf` if it is chunked.

    Raises InvalidRequest, or the parser's error for an invalid URL. The parser itself refuses two
    lengths, or a length together with an encoding.
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
    for name, label in _SINGLE.items():
        if sum(each == name for each, _ in headers) > 1:
            raise InvalidRequest(f"The request has more than one {label} header.")


def whole_requests(data: bytes) -> bytes:
    """The bytes up to the end of the last complete request.

    Bytes that cannot be parsed are kept with all that follow, so that they are refused later.
    """
    ends = _Ends()
    parser = httptools.HttpRequestParser(ends)
    whole = 0
    for at in range(len(data)):  # the parser does not report where a request ends
        before = ends.count
        try:
            parser.feed_data(data[at : at + 1])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return data
        if ends.count > before:
            whole = at + 1
    return data[:whole]


class _Ends:
    """Counts complete requests."""

    count = 0

    def on_message_complete(self) -> None:
        self.count += 1


def without_upgrade(method: bytes, url: bytes, version: str, headers: HeaderLines) -> bytes:
    """The bytes of a parsed head without its Upgrade line."""
    first = b"%b %b HTTP/%b" % (method, url, version.encode("ascii"))
    lines = [b"%b: %b" % line for line in headers if line[0] != b"upgrade"]
    return b"\r\n".join([first, *lines, b"", b""])
