"""A server behind the edge with an application that echoes its requests."""

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
    """Echo of the request; the body is read unless the path says otherwise."""
    body = b"" if request.url.path.startswith("/unread") else await request.body()
    return JSONResponse(
        {
            "path": request.url.path,
            "body": body.decode("latin-1"),
            "names": [name for name, _ in request.headers.items()],
        }
    )


async def slow(request: Request) -> Response:
    """An answer that takes a moment."""
    await asyncio.sleep(0.3)
    return JSONResponse({"path": request.url.path})


async def large(request: Request) -> Response:
    """An answer larger than the socket buffers."""
    return Response(b"x" * LARGE_BYTES)


async def refused(request: Request, error: Exception) -> Response:
    """The answer to an error of the gateway's server."""
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
    """Starts such servers with settings of the test's choice; gives their base URLs."""
    with ExitStack() as stack:

        def start(**settings: object) -> str:
            server = GatewayServer(echo_app(), ServerSettings.model_validate(settings))
            return stack.enter_context(in_background(server, bind("127.0.0.1", 0)))

        yield start


@pytest.fixture(scope="module")
def echo_url() -> Iterator[str]:
    """One such server of default settings for all tests of a module."""
    server = GatewayServer(echo_app(), ServerSettings())
    with in_background(server, bind("127.0.0.1", 0)) as url:
        yield url
