"""Fixtures that start a GatewayServer with an application that echoes requests."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gateway.errors import GatewayError
from gateway.server.running import GatewayServer, in_background
from gateway.server.sockets import bind
from gateway.settings.model import ServerSettings
from gateway.web.error_responses import error_answer
from tests.web.requests import as_response, make_request

METHODS = ["GET", "POST", "OPTIONS"]
LARGE_BYTES = 20_000_000


async def echo(request: Request) -> Response:
    """Answer with path, body and header names as JSON. Does not read the body for `/unread`."""
    body = b"" if request.url.path.startswith("/unread") else await request.body()
    return JSONResponse(
        {
            "path": request.url.path,
            "body": body.decode("latin-1"),
            "names": [name for name, _ in request.headers.items()],
        }
    )


async def slow(request: Request) -> Response:
    """Application that answers after 0.3 seconds."""
    await asyncio.sleep(0.3)
    return JSONResponse({"path": request.url.path})


async def large(request: Request) -> Response:
    """Application whose answer is larger than the socket buffers."""
    return Response(b"x" * LARGE_BYTES)


async def refused(request: Request, error: Exception) -> Response:
    """Application that answers with a GatewayError of the server."""
    assert isinstance(error, GatewayError)
    return as_response(error_answer(make_request(request.scope), error))


def echo_app() -> Starlette:
    return Starlette(
        routes=[
            Route("/slow", slow),
            Route("/large", large),
            Route("/{rest:path}", echo, methods=METHODS),
        ],
        exception_handlers={GatewayError: refused},
    )


ServeEcho = Callable[..., str]


@pytest.fixture
def serve_echo() -> Iterator[ServeEcho]:
    """Function that starts a server with the given settings, and returns the server's base URL."""
    with ExitStack() as stack:

        def start(**settings: object) -> str:
            server = GatewayServer(echo_app(), ServerSettings.model_validate(settings))
            return stack.enter_context(in_background(server, bind("127.0.0.1", 0)))

        yield start


@pytest.fixture(scope="module")
def echo_url() -> Iterator[str]:
    """Base URL of a server with default settings, shared by all tests of a module."""
    server = GatewayServer(echo_app(), ServerSettings())
    with in_background(server, bind("127.0.0.1", 0)) as url:
        yield url
