"""Request head: segments of the path, header lines, and conditions in them.

Rules
- The path is split before decoding, and each segment is decoded once: `A%2FB` is one worksheet.
- Several headers of one name form one list, and a comma inside quotes is part of a tag.
- A weak tag never fulfils `If-Match` (RFC 9110, 13.1.1). A malformed header names no tag: an update
  then gets 412, since ignoring its condition could overwrite a change, and a read gets a full
  answer.
- A write refuses the conditions that it does not evaluate. It ignores `If-Unmodified-Since` beside
  `If-Match`, and `If-Modified-Since`, which scripts send to bypass caches, as RFC 9110 demands
  (13.1.4, 13.1.3).
"""

import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from starlette.types import Scope

from gateway.errors import InvalidPath, InvalidRequest
from gateway.table.header import IfMatch
from gateway.table.quoting import quoted

HEAD = "gateway.head"
"""Key of the parsed head in a scope."""
_LINE_BYTES = 4
"""Bytes of a line besides name and value: colon, blank and line end."""
_ROW = re.compile(r"[1-9][0-9]{0,7}")
_ANY = "*"
_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.?)*"?')
"""A quoted string, or the rest of the text after an unclosed quote."""


class Head(msgspec.Struct, frozen=True):
    """Raw header values by lower-case name, and the size of the head.

    A struct takes a quarter of a dataclass's time to create, and every request creates one.
    """

    lines: Mapping[bytes, Sequence[bytes]]
    byte_count: int

    def values(self, name: bytes) -> Sequence[str]:
        """The values of all lines of this lower-case name."""
        values = self.lines.get(name)
        return [value.decode("latin-1") for value in values] if values else ()

    def first(self, name: bytes) -> str | None:
        """The value of the first line of this name, if any."""
        values = self.lines.get(name)
        return values[0].decode("latin-1") if values else None


def head_of(scope: Scope) -> Head:
    """Return the head of a request. It is parsed on first use and cached in the scope."""
    kept: Head | None = scope.get(HEAD)
    if kept is None:
        kept = scope[HEAD] = read_head(scope["headers"])
    return kept


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Parse raw header lines, whose names are in lower case as in ASGI."""
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
    """The media type of the body, without parameters, in lower case; "" without one."""
    return (head.first(b"content-type") or "").partition(";")[0].strip().lower()


def read_condition(head: Head) -> IfMatch | None:
    """Return the ETags of `If-Match`; None without the header.

    Raises InvalidRequest for other conditions, which writes do not evaluate.
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
    """True if `If-None-Match` has the ETag of an answer, so that 304 can be sent."""
    if b"if-none-match" not in head.lines:
        return False
    given = _given(head, b"if-none-match")
    if given in (_ANY, tag):
        return True
    strong = tag.removeprefix("W/")
    return any(strong == known for _, known in _listed(given))


def asks_for_fresh(head: Head) -> bool:
    """True if `Cache-Control` has the directive no-cache, in any case."""
    given = _given(head, b"cache-control")
    directives = _QUOTED.sub("", given.lower()).split(",")
    return any(directive.strip() == "no-cache" for directive in directives)


def decode_title(segment: str) -> str:
    """Decode a raw path segment to the name of a worksheet."""
    try:
        title = urllib.parse.unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidPath("The worksheet name in the path is not percent-encoded UTF-8.") from error
    if "\0" in title:
        raise InvalidPath("The worksheet name in the path contains a NUL character.")
    return title


def encode_title(title: str) -> str:
    return urllib.parse.quote(title, safe="")


def parse_row(segment: str) -> int:
    """Parse a raw path segment as a row number."""
    text = urllib.parse.unquote(segment) if "%" in segment else segment
    if _ROW.fullmatch(text) is None:
        raise InvalidPath(
            f"{quoted(text)} is not a row number: a rowIndex is a whole number from 1 to 99999999. "
            "To search, use ?where= on the worksheet; in a worksheet's name, write / as %2F."
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
    """Parse a list of tags to pairs of `W/` or "" and the tag; empty if malformed."""
    is_list = not _TAG.sub("", text).strip(" \t,")
    return _TAG.findall(text) if is_list else []
