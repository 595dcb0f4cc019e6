"""The part of a URL behind the question mark, sifted before anything of it is decoded.

Rules: parameters that nobody knows end here, so that a text made of them cannot miss a cache or
fill one. Credentials never are part of what queries are kept by.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote_plus, unquote_to_bytes

KEY_PARAMETER = "apiKey"
SPREADSHEET_PARAMETER = "spreadsheetId"
READ_PARAMETERS = ("where", "order", "skip", "limit", "keys", "count", "no-cache")
WHERE_IN_BRACKETS = "where["

_CREDENTIALS = frozenset(name.encode() for name in (KEY_PARAMETER, SPREADSHEET_PARAMETER))
_READS = frozenset(name.encode() for name in READ_PARAMETERS)
_BRACKETS = WHERE_IN_BRACKETS.encode()
_ENCODED = frozenset(b"%+")

Parameters = Mapping[str, Sequence[str]]
"""The values of each parameter by its name, in their order."""

_NONE: Final[Parameters] = {}


class Sifted(NamedTuple):
    """The known parameters, encoded as they came: those of reads, and those of credentials."""

    asked: bytes
    credentials: bytes


_NOTHING: Final = Sifted(b"", b"")


def sift(query_string: bytes) -> Sifted:
    """Keep what is known of a raw query string."""
    if not query_string:
        return _NOTHING
    asked: list[bytes] = []
    credentials: list[bytes] = []
    for part in query_string.split(b"&"):
        name = _name(part)
        if name in _READS or name.startswith(_BRACKETS):
            asked.append(part)
        elif name in _CREDENTIALS:
            credentials.append(part)
    return Sifted(b"&".join(asked), b"&".join(credentials))


def decoded(parameters: bytes) -> Parameters:
    """The values of each parameter, as a form's: `+` is a blank, the rest percent-encoded UTF-8."""
    if not parameters:
        return _NONE
    values: dict[str, list[str]] = {}
    for part in parameters.split(b"&"):
        name, _, value = part.partition(b"=")
        values.setdefault(_text(name), []).append(_text(value))
    return values


def _text(encoded: bytes) -> str:
    if b"%" in encoded or b"+" in encoded or not encoded.isascii():
        return unquote_to_bytes(encoded.replace(b"+", b" ")).decode("utf-8", "replace")
    return encoded.decode("ascii")


def _name(part: bytes) -> bytes:
    """The name of a parameter; clients may encode more of it than they must."""
    name = part.partition(b"=")[0]
    if _ENCODED.isdisjoint(name):
        return name
    return unquote_plus(name.decode("latin-1")).encode("utf-8", "surrogatepass")
