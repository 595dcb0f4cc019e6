"""Response headers of the document."""

from collections.abc import Iterable, Mapping

from gateway.web.openapi.node import Node, Nodes, reference

_TEXT: Node = {"type": "string"}
_COUNT: Node = {"type": "integer", "minimum": 0}


def _header(description: str, schema: Node = _TEXT, *, is_sure: bool = False) -> Node:
    sure = {"required": True} if is_sure else {}
    return {"description": description, **sure, "schema": schema}


HEADERS: Nodes = {
    "Age": _header("How many seconds ago the rows were read from Google.", _COUNT),
    "Allow": _header("The methods that there are here."),
    "Cache-Status": _header("Whether the rows were kept or read for you (RFC 9211)."),
    "ETag": _header(
        "Changes with the answer, and for a row with anything in it: send it back in "
        "`If-None-Match` or `If-Match`.",
        {"type": "string", "pattern": '^(W/)?"[!#-~]*"$'},
    ),
    "Idempotent-Replayed": _header(
        "`true`: an earlier request with this Idempotency-Key was carried out, and this is its "
        "answer.",
        {"const": "true"},
    ),
    "Location": _header("Where the new row is.", {"type": "string", "format": "uri-reference"}),
    "RateLimit": _header("How many requests the key may send at once (`r`), and until when (`t`)."),
    "RateLimit-Policy": _header("How many requests (`q`) in so many seconds (`w`) the key has."),
    "Retry-After": _header("After so many seconds it is worth trying again.", _COUNT),
    "Server-Timing": _header("How many milliseconds of the answer Google took."),
    "WWW-Authenticate": _header("How keys are sent: `Bearer`."),
    "X-Ignored-Fields": _header("Fields of the body that the worksheet does not have."),
    "X-Request-Id": _header(
        "What the gateway's log knows this request by. One that you send, of 1 to 64 letters, "
        "digits, `.`, `_` and `-`, is taken over.",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
        is_sure=True,
    ),
}

EVERYWHERE = ("X-Request-Id", "Server-Timing")
OF_KEYS = (*EVERYWHERE, "RateLimit", "RateLimit-Policy")
OF_READS = (*OF_KEYS, "ETag", "Age", "Cache-Status")
OF_UPDATES = (*OF_KEYS, "ETag", "Idempotent-Replayed")
OF_CREATES = (*OF_UPDATES, "Location")
OF_MANY = (*OF_KEYS, "Idempotent-Replayed")
OF_ERRORS: Mapping[int, Iterable[str]] = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    409: ("Retry-After",),
    412: ("ETag",),
    429: ("Retry-After",),
    503: ("Retry-After",),
    504: ("Retry-After",),
}
"""Additional headers of errors, by status."""


def header_references(names: Iterable[str]) -> Node:
    return {name: reference("headers", name) for name in names}
