"""CORS: who may read what, without keys in cookies."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from gateway.web.cors import EXPOSED
from gateway.web.middleware import RequestFrame


async def vary(_: Request) -> Response:
    return PlainTextResponse("x", headers={"Vary": "Accept"})


@pytest.fixture
def client() -> TestClient:
    """An application that pages may read."""
    routes = [Route("/", vary, methods=["GET", "POST", "OPTIONS"])]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(RequestFrame)]))


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "DELETE"])
@pytest.mark.parametrize("origin", ["https://page.example", "null", ""])
def test_answers_are_open_to_pages(client: TestClient, method: str, origin: str) -> None:
    """Pages of any origin may read answers and our headers, without credentials."""
    answer = client.request(method, "/", headers={"Origin": origin})

    assert answer.headers.get_list("access-control-allow-origin") == ["*"]
    assert answer.headers.get_list("access-control-expose-headers") == [EXPOSED]
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_programs_get_no_lines_for_pages(client: TestClient, method: str) -> None:
    """Without an origin there is nothing to open, but caches learn that there might be."""
    answer = client.request(method, "/")

    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert answer.headers["vary"] == "Accept, Origin"
