"""Request head: segments of the path, header lines, conditional headers, content negotiation.

Rules
- The path is split before decoding, and each segment is decoded once: `A%2FB` is one worksheet.
- Several headers with one name form one list. A comma inside quotes is part of an ETag.
- A weak ETag never matches `If-Match` (RFC 9110, 13.1.1). A malformed header has no ETag: an update
  gets 412, because without the condition it could overwrite a change. A read gets a full answer.
- A write raises an error for other conditional headers. As RFC 9110 demands (13.1.4, 13.1.3), it
  ignores `If-Unmodified-Since` if `If-Match` is present, and `If-Modified-Since`, which scripts
  send to bypass caches.
- A list is answered as JSON unless `Accept` names another format by its media type. A range such as
  `text/*` does not count. With equal weights JSON wins if `Accept` names it (RFC 9110, 12.5.1).
- Answers to forms are HTML or JSON by the same rule.
- gzip is used only if `Accept-Encoding` names gzip with at least the weight of `identity`; `*` does
  not count.
"""

import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec
from starlette.types import Scope

from gateway.errors import InvalidPath, InvalidRequest
from gateway.table.header import IfMatch
from gateway.table.quoting import quoted
from gateway.web.media_types import CSV, HTML, JSON, NDJSON

HEAD = "gateway.head"
"""Key of the parsed head in the ASGI scope."""
_LINE_BYTES = 4
"""Bytes of a header line besides name and value: colon, blank, CR and LF."""
_ROW = re.compile(r"[1-9][0-9]{0,7}")
_ANY = "*"
_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.?)*"?')
"""A quoted string, or the rest of the text after an unclosed quote."""

FORMATS: Final = ("csv", "ndjson", "json")
"""Export formats."""

_KEPT = 256
_LONGEST_KEPT = 512
_WEIGHT = re.compile(r"q=([01](?:\.[0-9]{0,3})?)")
_NAMED = {CSV: "csv", NDJSON: "ndjson"}
_JSON_RANGES = (JSON, "application/*", "*/*")
_GZIP, _IDENTITY = "gzip", "identity"


class Head(msgspec.Struct, frozen=True):
    """Raw header values by lower-case name, and the size of the headers in bytes."""

    lines: Mapping[bytes, Sequence[bytes]]
    byte_count: int

    def values(self, name: bytes) -> Sequence[str]:
        """Return the values of all headers with this lower-case name."""
        values = self.lines.get(name)
        return [value.decode("latin-1") for value in values] if values else ()

    def first(self, name: bytes) -> str | None:
        """Return the value of the first header with this lower-case name, or None."""
        values = self.lines.get(name)
        return values[0].decode("latin-1") if values else None


def head_of(scope: Scope) -> Head:
    """Return the head of a request. The first call parses the head and caches it in the scope."""
    kept: Head | None = scope.get(HEAD)
    if kept is None:
        kept = scope[HEAD] = read_head(scope["headers"])
    return kept


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Parse pairs of lower-case name and value, as in the ASGI scope."""
    lines: dict[bytes, list[bytes]] = {}
    byte_count = 0
    for name, value in headers:
        byte_count += len(name) + len(value) + _LINE_BYTES
        if name in lines:
            lines[name].append(value)
        else:
            lines[name] = [value]
    return Head(lines, byte_count)


def media_type_of(head: Head) -> str:
    """Return the body's media type in lower case without parameters; "" without the header."""
    return (head.first(b"content-type") or "").partition(";")[0].strip().lower()


def read_condition(head: Head) -> IfMatch | None:
    """Return the ETags of `If-Match`; None without the header. `*` matches every ETag.

    Raises InvalidRequest for other conditional headers, which writes do not support.
    """
    lines = head.lines
    if b"if-none-match" in lines:
        raise _not_evaluated("If-None-Match")
    if b"if-match" not in lines:
        if b"if-unmodified-since" in lines:
            raise _not_evaluated("If-Unmodified-Since")
        return None
    given = _given(head, b"if-match")
    if given == _ANY:
        return IfMatch(tags=None)
    return IfMatch(tags=frozenset(tag for weak, tag in _listed(given) if not weak))


def is_known(head: Head, tag: str) -> bool:
    """True if `If-None-Match` has the ETag of the answer, so that the client gets 304."""
    if b"if-none-match" not in head.lines:
        return False
    given = _given(head, b"if-none-match")
    if given in (_ANY, tag):
        return True
    strong = tag.removeprefix("W/")
    return any(strong == known for _, known in _listed(given))


def asks_for_fresh(head: Head) -> bool:
    """True if `Cache-Control` has the directive `no-cache`, in upper or lower case."""
    given = _given(head, b"cache-control")
    directives = _QUOTED.sub("", given.lower()).split(",")
    return any(directive.strip() == "no-cache" for directive in directives)


def decode_title(segment: str) -> str:
    """Decode a raw path segment to the name of a worksheet. Raises InvalidPath."""
    try:
        title = urllib.parse.unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidPath(
            "The worksheet name in the path is not percent-encoded UTF-8. Encode it with "
            "encodeURIComponent."
        ) from error
    if "\0" in title:
        raise InvalidPath("The worksheet name in the path contains a NUL character. Remove it.")
    return title


def encode_title(title: str) -> str:
    return urllib.parse.quote(title, safe="")


def parse_row(segment: str) -> int:
    """Parse a raw path segment as a row number. Raises InvalidPath."""
    text = urllib.parse.unquote(segment) if "%" in segment else segment
    if _ROW.fullmatch(text) is None:
        raise InvalidPath(
            f"{quoted(text)} is not a row number: a rowIndex is a whole number from 1 to 99999999. "
            "To search, use ?where= on the worksheet's path. In a worksheet's name, write / as %2F."
        )
    return int(text)


def _not_evaluated(name: str) -> InvalidRequest:
    return InvalidRequest(
        f"{name} is not supported on writes. To update or delete a row only if it has not "
        "changed, send If-Match with its ETag; to create a row only once, send an Idempotency-Key "
        "or on_conflict."
    )


def _given(head: Head, name: bytes) -> str:
    return ", ".join(head.values(name)).strip()


def _listed(text: str) -> list[tuple[str, str]]:
    """Parse a list of ETags to pairs of `W/` or "" and ETag. A malformed list gives no pair."""
    is_list = not _TAG.sub("", text).strip(" \t,")
    return _TAG.findall(text) if is_list else []


def accepted_format(accept: Sequence[bytes]) -> str:
    """Return the export format that `Accept` prefers: `csv` or `ndjson`, or "" for JSON."""
    given = b",".join(accept)
    return (_kept_format if len(given) <= _LONGEST_KEPT else _format)(given)


def prefers_page(accept: Sequence[bytes]) -> bool:
    """True if `Accept` prefers HTML to JSON, as browsers do when they open a page."""
    weights = _weights(b",".join(accept))
    return _is_preferred_to_json(weights.get(HTML, 0.0), weights)


def takes_gzip(accept_encoding: Sequence[bytes]) -> bool:
    """True if the client prefers gzip to an uncompressed body, by its `Accept-Encoding` lines."""
    given = b",".join(accept_encoding)
    return (_kept_gzip if len(given) <= _LONGEST_KEPT else _gzip)(given)


def _format(given: bytes) -> str:
    weights = _weights(given)
    named = {name: weight for name, weight in weights.items() if name in _NAMED}
    if not named:
        return ""
    preferred = max(named, key=named.__getitem__)  # the first name with the highest weight
    return _NAMED[preferred] if _is_preferred_to_json(named[preferred], weights) else ""


def _is_preferred_to_json(weight: float, weights: Mapping[str, float]) -> bool:
    of_json = next((each for each in _JSON_RANGES if each in weights), "")
    least = weights.get(of_json, 0.0)
    return weight > 0 and (weight > least if of_json == JSON else weight >= least)


def _gzip(given: bytes) -> bool:
    weights = _weights(given)
    weight = weights.get(_GZIP, 0.0)
    return weight > 0 and weight >= weights.get(_IDENTITY, 0.0)


_kept_format = lru_cache(_KEPT)(_format)
_kept_gzip = lru_cache(_KEPT)(_gzip)


def _weights(given: bytes) -> Mapping[str, float]:
    """Return the weight, 0 to 1, of each member of a header by lower-case name. Default: 1."""
    weights: dict[str, float] = {}
    for member in given.decode("latin-1").lower().split(","):
        name, *parameters = member.split(";")
        found = [_WEIGHT.fullmatch("".join(each.split())) for each in parameters]
        weight = next((float(each[1]) for each in found if each is not None), 1.0)
        weights.setdefault(name.strip(), weight)
    return weights
