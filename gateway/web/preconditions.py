"""Conditional requests: `If-Match`, `If-None-Match`, `Cache-Control`.

Rules: several headers of one name count as one list, and a comma inside quotes is part of a tag.
A weak tag never fulfils `If-Match` (RFC 9110, 13.1.1). A header that cannot be read names no tag:
an update is refused then with 412, since to pass over its condition could lose somebody's change,
and a read is answered in full.
"""

import re

from gateway.table.tag import Condition
from gateway.web.head import Head

_ANY = "*"
_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.?)*"?')
"""A string, or all the rest behind a quote that is never closed."""


def read_condition(head: Head) -> Condition | None:
    """The states of the row that `If-Match` names; None without the header."""
    given = _given(head, b"if-match")
    if given is None:
        return None
    if given == _ANY:
        return Condition(tags=None)
    return Condition(tags=frozenset(tag for weak, tag in _listed(given) if not weak))


def is_known(head: Head, tag: str) -> bool:
    """Whether `If-None-Match` names the tag of an answer, which need not be sent again then."""
    given = _given(head, b"if-none-match")
    if given is None:
        return False
    if given in (_ANY, tag):
        return True
    strong = tag.removeprefix("W/")
    return any(strong == known for _, known in _listed(given))


def asks_for_fresh(head: Head) -> bool:
    """Whether `Cache-Control` has the directive no-cache, in capitals or not."""
    given = _given(head, b"cache-control")
    if given is None:
        return False
    directives = _QUOTED.sub("", given.lower()).split(",")
    return any(directive.strip() == "no-cache" for directive in directives)


def _given(head: Head, name: bytes) -> str | None:
    values = head.values(name)
    return ", ".join(values).strip() if values else None


def _listed(text: str) -> list[tuple[str, str]]:
    """The entity tags of a list, each after its `W/` or ""; none if anything else is in it."""
    is_list = not _TAG.sub("", text).strip(" \t,")
    return _TAG.findall(text) if is_list else []
