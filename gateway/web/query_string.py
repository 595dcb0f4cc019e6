"""The part of a URL behind the question mark, sifted before anything of it is decoded.

Rules: parameters that nobody knows end here, so that a text made of them cannot miss a cache or
fill one. Credentials never are part of what queries are kept by.
"""

from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from starlette.datastructures import QueryParams

KEY_PARAMETER = "apiKey"
SPREADSHEET_PARAMETER = "spreadsheetId"
READ_PARAMETERS = ("where", "order", "skip", "limit", "keys", "count", "no-cache")
WHERE_IN_BRACKETS = "where["

_CREDENTIALS = frozenset(name.encode() for name in (KEY_PARAMETER, SPREADSHEET_PARAMETER))
_READS = frozenset(name.encode() for name in READ_PARAMETERS)
_BRACKETS = WHERE_IN_BRACKETS.encode()
_ENCODED = frozenset(b"%+")
_NONE: Final = QueryParams()


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


def decoded(parameters: bytes) -> QueryParams:
    return QueryParams(parameters) if parameters else _NONE


def _name(part: bytes) -> bytes:
    """The name of a parameter; clients may encode more of it than they must."""
    name = part.partition(b"=")[0]
    if _ENCODED.isdisjoint(name):
        return name
    return unquote_plus(name.decode("latin-1")).encode("utf-8", "surrogatepass")
