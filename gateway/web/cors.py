"""CORS: open to every page, without credentials; keys narrow it by their origins.

Rules: preflights are answered by Starlette, alike for all, whatever they ask for. All other
answers get lines that are the same for every request.
"""

from collections.abc import Iterable

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.web.head import head_of

EXPOSED = (
    "Age, Allow, Cache-Status, ETag, Idempotent-Replayed, Location, RateLimit, RateLimit-Policy, "
    "Retry-After, Server-Timing, WWW-Authenticate, X-Ignored-Fields, X-Request-Id"
)
PREFLIGHT_SECONDS = 86_400

_FOR_PROGRAMS = [(b"vary", b"Origin")]
_FOR_PAGES = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", EXPOSED.encode("ascii")),
    (b"vary", b"Origin"),
]


class OpenCors:
    """Lets pages of all origins read all answers, those of errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._with_preflights = CORSMiddleware(
            app,
            allow_origins=["*"],
            allow_methods=["*"],
            allow_headers=["*"],  # answers a preflight with the headers it asked for
            expose_headers=EXPOSED.split(", "),
            max_age=PREFLIGHT_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] == "OPTIONS":
            await self._with_preflights(scope, receive, send)
            return
        lines = _FOR_PAGES if b"origin" in head_of(scope).lines else _FOR_PROGRAMS
        await self._app(scope, receive, _with_lines(send, lines))


def _with_lines(send: Send, lines: Iterable[tuple[bytes, bytes]]) -> Send:
    async def send_with_lines(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *lines]
        await send(message)

    return send_with_lines
