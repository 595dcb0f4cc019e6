"""CORS: open to every page, without credentials; keys may restrict origins.

Rules: a preflight brings no key, so all are answered alike, whatever they ask for and wherever;
which pages may use a key is decided when it comes. All other answers get lines that are the same
for every request.
"""

from collections.abc import Iterable, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.web.head import head_of

EXPOSED = (
    "Age, Allow, Cache-Status, ETag, Idempotent-Replayed, Location, RateLimit, RateLimit-Policy, "
    "Retry-After, Server-Timing, WWW-Authenticate, X-Ignored-Fields, X-Request-Id"
)
METHODS = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
"""Also such as no route has: a page may read why it is refused."""
PREFLIGHT_SECONDS = 86_400

_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
_FOR_PROGRAMS = [(b"vary", b"Origin")]
_FOR_PAGES = [
    _ANY_ORIGIN,
    (b"access-control-expose-headers", EXPOSED.encode("ascii")),
    (b"vary", b"Origin"),
]
_METHOD_ASKED = b"access-control-request-method"
_HEADERS_ASKED = b"access-control-request-headers"
_FOR_PREFLIGHTS = [
    _ANY_ORIGIN,
    (b"access-control-allow-methods", METHODS.encode("ascii")),
    (b"access-control-max-age", b"%d" % PREFLIGHT_SECONDS),
    (b"vary", b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
]


class OpenCors:
    """Lets pages of all origins read all answers, those of errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = head_of(scope)
        if b"origin" not in head.lines:
            await self._app(scope, receive, _with_lines(send, _FOR_PROGRAMS))
        elif scope["method"] == "OPTIONS" and _METHOD_ASKED in head.lines:
            await _answer_preflight(send, head.lines.get(_HEADERS_ASKED, ()))
        else:
            await self._app(scope, receive, _with_lines(send, _FOR_PAGES))


async def _answer_preflight(send: Send, asked: Sequence[bytes]) -> None:
    """Allow the headers that are asked for: `*` would leave out Authorization."""
    allowed = [(b"access-control-allow-headers", b", ".join(asked))] if asked else []
    headers = [*_FOR_PREFLIGHTS, *allowed]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _with_lines(send: Send, lines: Iterable[tuple[bytes, bytes]]) -> Send:
    async def send_with_lines(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *lines]
        await send(message)

    return send_with_lines
