"""CORS: open to every page, without credentials; keys may restrict origins.

Rules: a preflight has no key, so all get the same answer, whatever they ask for; the request itself
is checked against its key's origins. Other answers have the same CORS lines for every request.
"""

from gateway.web.head import Head

EXPOSED = (
    "Age, Allow, Cache-Status, ETag, Idempotent-Replayed, Link, Location, RateLimit, "
    "RateLimit-Policy, Retry-After, Server-Timing, WWW-Authenticate, X-Ignored-Fields, "
    "X-Request-Id, X-Total-Count"
)
METHODS = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
"""Allowed methods, including those without a route, so that pages can read the refusal."""
PREFLIGHT_SECONDS = 86_400

ANY_PROGRAM = [(b"vary", b"Origin")]
"""Header lines of an answer to a request without `Origin`."""

_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
ANY_PAGE = [
    _ANY_ORIGIN,
    (b"access-control-expose-headers", EXPOSED.encode("ascii")),
    (b"vary", b"Origin"),
]
"""Header lines of an answer to a page, whatever its origin."""

_METHOD_ASKED = b"access-control-request-method"
_HEADERS_ASKED = b"access-control-request-headers"
_FOR_PREFLIGHTS = [
    _ANY_ORIGIN,
    (b"access-control-allow-methods", METHODS.encode("ascii")),
    (b"access-control-max-age", b"%d" % PREFLIGHT_SECONDS),
    (b"vary", b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
]


def is_preflight(head: Head) -> bool:
    """True if this head of an `OPTIONS` request is a preflight."""
    return b"origin" in head.lines and _METHOD_ASKED in head.lines


def preflight_lines(head: Head) -> list[tuple[bytes, bytes]]:
    """Header lines for a preflight; they repeat the requested headers: `*` omits Authorization."""
    asked = head.lines.get(_HEADERS_ASKED, ())
    allowed = [(b"access-control-allow-headers", b", ".join(asked))] if asked else []
    return [*_FOR_PREFLIGHTS, *allowed]
