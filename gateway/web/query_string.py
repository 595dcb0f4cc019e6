"""Split a raw query string before decoding it.

Rules: unknown parameters are dropped here, so that they can neither miss a cache nor fill one.
Credentials are never part of a cache key of queries. A query folded into the name of an unknown
parameter is unfolded: its second reading.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_plus, unquote_to_bytes

from gateway.web.lenient import BRACKETED

KEY_PARAMETER = "apiKey"
SPREADSHEET_PARAMETER = "spreadsheetId"
READ_PARAMETERS = ("where", "order", "skip", "limit", "keys", "count", "no-cache")

_CREDENTIALS = frozenset(name.encode() for name in (KEY_PARAMETER, SPREADSHEET_PARAMETER))
_READS = frozenset(name.encode() for name in READ_PARAMETERS)
_BRACKETS = tuple(start.encode() for start in BRACKETED)
_KNOWN = b"|".join(map(re.escape, sorted(_READS | _CREDENTIALS)))
_FOLDED = re.compile(b"(?:" + _KNOWN + b")%3[Dd]")
_ENCODED_BRACKETS = tuple(start.replace(b"[", b"%5B") for start in _BRACKETS)
_UNFOLDED = re.compile(b"&(?=(?:" + _KNOWN + rb")(?:=|\[|%5[Bb]))")
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_TWICE = re.compile(rb"%25[0-9A-Fa-f]{2}")
_OF_TEXT = frozenset((b"where", b"order", b"keys"))
"""Parameters whose values may contain any text."""
_ENCODED = frozenset(b"%+")

Parameters = Mapping[str, Sequence[str]]
"""The values of each parameter by name, in order."""

_NONE: Final[Parameters] = {}


class Sifted(NamedTuple):
    """Known parameters, still encoded: those of reads, and those of credentials."""

    asked: bytes
    credentials: bytes
    is_unfolded: bool = False
    """True if some were folded into the name of another, or had encoded names."""


_NOTHING: Final = Sifted(b"", b"")


def sift(query_string: bytes) -> Sifted:
    """The known parts of a raw query string."""
    if not query_string:
        return _NOTHING
    asked: list[bytes] = []
    credentials: list[bytes] = []
    is_unfolded = False
    for part in query_string.split(b"&"):
        name = part.partition(b"=")[0]
        if not _ENCODED.isdisjoint(name):  # clients may encode more of it than necessary
            name = unquote_plus(name.decode("latin-1")).encode("utf-8", "surrogatepass")
        if name in _READS or name.startswith(_BRACKETS):
            asked.append(part)
        elif name in _CREDENTIALS:
            credentials.append(part)
        elif _FOLDED.match(part) or name.replace(b"%5b", b"%5B").startswith(_ENCODED_BRACKETS):
            inner = sift(_unfolded(part))
            asked.append(inner.asked)
            credentials.append(inner.credentials)
            is_unfolded = True
    return Sifted(b"&".join(filter(None, asked)), b"&".join(filter(None, credentials)), is_unfolded)


def decoded(parameters: bytes) -> Parameters:
    """The values of each parameter, decoded as a form: `+` is a blank, other text is UTF-8."""
    if not parameters:
        return _NONE
    values: dict[str, list[str]] = {}
    for part in parameters.split(b"&"):
        name, _, value = part.partition(b"=")
        known = name.decode("ascii") if name.isalnum() else _text(name)
        text = value.decode("ascii") if value.isalnum() else _text(value)
        values.setdefault(known, []).append(text)
    return values


def _text(encoded: bytes) -> str:
    if _ENCODED.isdisjoint(encoded):
        return encoded.decode("utf-8", "replace")
    return unquote_to_bytes(encoded.replace(b"+", b" ")).decode("utf-8", "replace")


def _unfolded(part: bytes) -> bytes:
    """Decode a part that was percent-encoded as a whole; its values stay encoded.

    If the part has a value of its own, only the name is known to be encoded twice.
    """
    name, _, value = part.partition(b"=")
    if value and not _FOLDED.match(part):
        again = unquote_to_bytes(value) if _TWICE.search(value) else value
        return unquote_to_bytes(name) + b"=" + again
    query = unquote_to_bytes(part.removesuffix(b"="))
    return b"&".join(map(_encoded, _UNFOLDED.split(query)))


def _encoded(part: bytes) -> bytes:
    name, _, value = part.partition(b"=")
    if name not in _OF_TEXT and not name.startswith(_BRACKETS):
        value = value.partition(b"&")[0]  # an unknown parameter follows
    if _ESCAPE.search(part) is None:
        value = quote(value, safe=b"").encode("ascii")
    return name + b"=" + value
