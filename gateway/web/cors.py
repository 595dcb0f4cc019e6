"""CORS: open to every page, without credentials; keys may restrict origins.

Rules: a preflight brings no key, so all are answered alike, whatever they ask for and wherever;
which pages may use a key is decided when it comes. All other answers get lines that are the same
for every request.
"""

from gateway.web.head import Head

EXPOSED = (
    "Age, Allow, Cache-Status, ETag, Idempotent-Replayed, Location, RateLimit, RateLimit-Policy, "
    "Retry-After, Server-Timing, WWW-Authenticate, X-Ignored-Fields, X-Request-Id"
)
METHODS = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
"""Also such as no route has: a page may read why it is refused."""
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
    """Whether `OPTIONS` with this head asks, in the name of a page, what it may send."""
    return b"origin" in head.lines and _METHOD_ASKED in head.lines


def preflight_lines(head: Head) -> list[tuple[bytes, bytes]]:
    """The answer to a preflight: the headers that it asks for, as `*` omits Authorization."""
    asked = head.lines.get(_HEADERS_ASKED, ())
    allowed = [(b"access-control-allow-headers", b", ".join(asked))] if asked else []
    return [*_FOR_PREFLIGHTS, *allowed]
