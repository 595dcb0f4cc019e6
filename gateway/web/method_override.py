"""Method overrides: headers and `_method`, by which clients name another method than they send.

Rules: overrides can be in headers, in the query (in upper or lower case, with or without brackets),
and in forms. The gateway never uses another method. An override with the same effect as the request
is ignored, such as PATCH for a POST to a row. Any other override is an error, because the request
would do something else than the client means.
"""

import re
from urllib.parse import unquote_plus

from gateway.errors import InvalidRequest
from gateway.table.quoting import quoted
from gateway.telemetry.events import RequestKind
from gateway.web.parameters import asking_of
from gateway.web.request import Request
from gateway.web.signature import METHOD_PARAMETER

_HEADERS = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")
OVERRIDE, METHOD, OTHER_OVERRIDE = (name.lower().encode() for name in _HEADERS)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
"""Values of `_method` that are overrides. Another value belongs to a field or parameter."""
_READS = {"GET", "HEAD"}
_UPDATES = {"POST", "PUT", "PATCH"}
"""Methods with the same effect on a row."""
_FORM_FIELD = re.compile(rb"(?:^|&)(?:_|%5F)method(?:(?:\[|%5B)(?:\]|%5D))?=([^&]*)", re.IGNORECASE)


def other_method(request: Request, parameters: bytes, kind: RequestKind) -> str:
    """Return the error message for a method override in headers or query, or ""."""
    head = request.head
    given = [(name, each) for name in _HEADERS for each in head.values(name.lower().encode())]
    for name, values in asking_of(parameters).parameters.items():
        plain, _, folded = name.partition("=")
        given += [(plain, value) for value in (*values, folded) if _is_method(value)]
    own, is_update = request.event.method, kind == "update"
    return next(filter(None, (_difference(own, is_update, *each) for each in given)), "")


def without_override(request: Request, form: bytes) -> bytes:
    """Remove `_method` from a form. Raises InvalidRequest if it names another method."""
    values = [unquote_plus(each.decode("latin-1")) for each in _FORM_FIELD.findall(form)]
    methods = list(filter(_is_method, values))
    own, is_update = request.event.method, bool(request.row)
    for method in methods:
        if difference := _difference(own, is_update, f"{METHOD_PARAMETER} in the form", method):
            raise InvalidRequest(difference)
    return _FORM_FIELD.sub(b"", form).removeprefix(b"&") if methods else form


def _is_method(text: str) -> bool:
    return text.strip().upper() in _METHODS


def _difference(own: str, is_update: bool, place: str, value: str) -> str:
    other = value.strip().upper()
    same = _READS if own in _READS else _UPDATES if is_update else {own}
    if not other or other in same:
        return ""
    return (
        f"{place} names the method {quoted(other)}, but this request is a {own}, and the gateway "
        "has no method overrides. Send the request with the method that you mean, and no override."
    )
