"""What a request asks of the state of things: `If-Match` of updates, `If-None-Match` of reads.

Rules: several headers of one name count as one list, and a comma inside quotes is part of a tag.
A weak tag never fulfils `If-Match` (RFC 9110, 13.1.1). A header that cannot be read names no tag:
an update is refused then with 412, since to pass over its condition could lose somebody's change,
and a read is answered in full.
"""

import re

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from gateway.rows.tag import Condition
from gateway.web.state import State

_ANY = "*"
_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_KEPT = ("Cache-Control", "ETag")


def read_condition(request: Request[State]) -> Condition | None:
    """The states of the row that `If-Match` names; None without the header."""
    given = _given(request.headers, "If-Match")
    if given is None:
        return None
    if given == _ANY:
        return Condition(tags=None)
    return Condition(tags=frozenset(tag for weak, tag in _listed(given) if not weak))


def unless_known(request: Request[State], answer: Response) -> Response:
    """The answer to a read, or 304 without a body if `If-None-Match` says it is known already."""
    given = _given(request.headers, "If-None-Match")
    if given is None:
        return answer
    tag = answer.headers["ETag"].removeprefix("W/")
    if given != _ANY and all(tag != known for _, known in _listed(given)):
        return answer
    return Response(status_code=304, headers={name: answer.headers[name] for name in _KEPT})


def _given(headers: Headers, name: str) -> str | None:
    values = headers.getlist(name)
    return ", ".join(values).strip() if values else None


def _listed(text: str) -> list[tuple[str, str]]:
    """The entity tags of a list, each after its `W/` or ""; none if anything else is in it."""
    is_list = not _TAG.sub("", text).strip(" \t,")
    return _TAG.findall(text) if is_list else []
