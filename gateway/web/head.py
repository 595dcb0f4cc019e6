"""Request head: its header lines, gathered in one pass, and the conditions in them.

Rules: several headers of one name count as one list, and a comma inside quotes is part of a tag.
A weak tag never fulfils `If-Match` (RFC 9110, 13.1.1). A header that cannot be read names no tag:
an update is refused then with 412, since to pass over its condition could lose somebody's change,
and a read is answered in full.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from starlette.types import Scope

from gateway.table.tag import IfMatch

_KEPT = "gateway.head"
_LINE_BYTES = 4
"""What a line has beside its name and value: a colon, a blank and its end."""
_ANY = "*"
_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.?)*"?')
"""A string, or all the rest behind a quote that is never closed."""


class Head(msgspec.Struct, frozen=True):
    """The values of each header by its name in small letters, as they came, and their size.

    A struct takes a quarter of a dataclass's time to make, and every request makes one.
    """

    lines: Mapping[bytes, Sequence[bytes]]
    byte_count: int

    def values(self, name: bytes) -> Sequence[str]:
        """The values of all lines of this name; it is given in small letters."""
        values = self.lines.get(name)
        return [value.decode("latin-1") for value in values] if values else ()

    def first(self, name: bytes) -> str | None:
        """The value of the first line of this name, if there is one."""
        values = self.lines.get(name)
        return values[0].decode("latin-1") if values else None


def head_of(scope: Scope) -> Head:
    """The head of a request, gathered when it is asked for first and kept in the scope."""
    kept: Head | None = scope.get(_KEPT)
    if kept is None:
        kept = scope[_KEPT] = read_head(scope["headers"])
    return kept


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Gather raw header lines, whose names are in small letters as ASGI has them."""
    lines: dict[bytes, list[bytes]] = {}
    byte_count = 0
    for name, value in headers:
        byte_count += len(name) + len(value) + _LINE_BYTES
        if name in lines:
            lines[name].append(value)
        else:
            lines[name] = [value]
    return Head(lines, byte_count)


def read_condition(head: Head) -> IfMatch | None:
    """The states of the row that `If-Match` names; None without the header."""
    if b"if-match" not in head.lines:
        return None
    given = _given(head, b"if-match")
    if given == _ANY:
        return IfMatch(tags=None)
    return IfMatch(tags=frozenset(tag for weak, tag in _listed(given) if not weak))


def is_known(head: Head, tag: str) -> bool:
    """Whether `If-None-Match` names the tag of an answer, which need not be sent again then."""
    if b"if-none-match" not in head.lines:
        return False
    given = _given(head, b"if-none-match")
    if given in (_ANY, tag):
        return True
    strong = tag.removeprefix("W/")
    return any(strong == known for _, known in _listed(given))


def asks_for_fresh(head: Head) -> bool:
    """Whether `Cache-Control` has the directive no-cache, in capitals or not."""
    if b"cache-control" not in head.lines:
        return False
    given = _given(head, b"cache-control")
    directives = _QUOTED.sub("", given.lower()).split(",")
    return any(directive.strip() == "no-cache" for directive in directives)


def _given(head: Head, name: bytes) -> str:
    return ", ".join(head.values(name)).strip()


def _listed(text: str) -> list[tuple[str, str]]:
    """The entity tags of a list, each after its `W/` or ""; none if anything else is in it."""
    is_list = not _TAG.sub("", text).strip(" \t,")
    return _TAG.findall(text) if is_list else []
