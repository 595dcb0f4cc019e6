"""The API at a glance: every path and its methods."""

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.config import ServerSettings
from gateway.errors import Gone
from gateway.web.health import livez, readyz
from gateway.web.middleware import ErrorNet, RequestFrame
from gateway.web.rows import create_rows, list_rows, read_row, update_row
from gateway.web.state import State

_EXPOSED = (
    "Age, Allow, Cache-Status, ETag, Idempotent-Replayed, Location, RateLimit, RateLimit-Policy, "
    "Retry-After, Server-Timing, WWW-Authenticate, X-Ignored-Fields, X-Request-Id"
)
_PREFLIGHT_SECONDS = 86_400


async def gone(_: Request[State]) -> Response:
    raise Gone("Version 1 is not served. The same rows are at /v2/sheets/{sheetName}.")


ROUTES: list[BaseRoute] = [
    Route("/v2/sheets/{title}", list_rows, methods=["GET"]),
    Route("/v2/sheets/{title}", create_rows, methods=["POST"]),
    Route("/v2/sheets/{title}/{row}", read_row, methods=["GET"]),
    Route("/v2/sheets/{title}/{row}", update_row, methods=["POST", "PUT", "PATCH"]),
    Route("/v1", gone, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    Route("/v1/{rest:path}", gone, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    Route("/livez", livez, methods=["GET"]),
    Route("/readyz", readyz, methods=["GET"]),
]


def middleware(settings: ServerSettings) -> list[Middleware]:
    """What every request passes, from the outside in; CORS is open, without credentials."""
    return [
        Middleware(RequestFrame),
        Middleware(
            CORSMiddleware,
            allow_origins=["*"],
            allow_methods=["*"],
            allow_headers=["*"],  # answers a preflight with the headers it asked for
            expose_headers=_EXPOSED.split(", "),
            max_age=_PREFLIGHT_SECONDS,
        ),
        Middleware(ErrorNet, settings=settings),
    ]
