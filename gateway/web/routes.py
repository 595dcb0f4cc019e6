"""Routes: every path and its methods."""

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.errors import Gone
from gateway.settings.model import ServerSettings
from gateway.web.health import livez, readyz
from gateway.web.middleware import Endpoint, ErrorNet, Handler, RequestFrame
from gateway.web.openapi.document import describe
from gateway.web.pages import docs, docs_file, home
from gateway.web.refresh import post_row
from gateway.web.rows import (
    delete_row,
    delete_where,
    list_rows,
    patch_rows,
    post_rows,
    read_row,
    update_row,
)
from gateway.web.state import State


async def gone(_: Request[State]) -> Response:
    raise Gone(
        "Version 1 is not served. The same rows are at /v2/sheets/{sheetName}, with a key of this "
        "gateway: ask its operator for one, and send it as 'Authorization: Bearer KEY'."
    )


def _extension(path: str, handle: Handler, method: str) -> Route:
    """A route that `Allow` does not list: whether there is one depends on the key or the body."""
    return Route(path, Endpoint(handle), methods=[method], include_in_schema=False)


ROUTES: list[BaseRoute] = [
    Route("/v2/sheets/{title}", Endpoint(list_rows), methods=["GET"]),
    Route("/v2/sheets/{title}", Endpoint(post_rows), methods=["POST"]),
    Route("/v2/sheets/{title}/{row}", Endpoint(read_row), methods=["GET"]),
    Route("/v2/sheets/{title}/{row}", Endpoint(update_row), methods=["PUT", "PATCH"]),
    Route("/v2/sheets/{title}/{row}", Endpoint(post_row), methods=["POST"]),
    _extension("/v2/sheets/{title}", patch_rows, "PATCH"),
    _extension("/v2/sheets/{title}", delete_where, "DELETE"),
    _extension("/v2/sheets/{title}/{row}", delete_row, "DELETE"),
    Route("/v1", gone, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    Route("/v1/{rest:path}", gone, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    Route("/livez", livez, methods=["GET"]),
    Route("/readyz", readyz, methods=["GET"]),
    Route("/openapi.json", Endpoint(describe), methods=["GET"]),
    Route("/", Endpoint(home), methods=["GET"]),
    Route("/docs", Endpoint(docs), methods=["GET"]),
    Route("/docs/{file}", Endpoint(docs_file), methods=["GET"]),
]


def middleware(settings: ServerSettings) -> list[Middleware]:
    """Middleware of every request, outermost first."""
    return [
        Middleware(RequestFrame),
        Middleware(ErrorNet, settings=settings),
    ]
