"""CORS: who may read what, without keys in cookies."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from gateway.web.cors import EXPOSED, METHODS, PREFLIGHT_SECONDS
from gateway.web.middleware import RequestFrame

ORIGIN = {"Origin": "https://page.example"}


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


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "ODD"])
@pytest.mark.parametrize("origin", ["https://page.example", "null"])
def test_a_preflight_allows_what_it_asks_for(client: TestClient, method: str, origin: str) -> None:
    """It never comes to a route, and may be remembered for a day."""
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization, x-spreadsheet-id",
    }

    answer = client.options("/", headers=asked)

    assert (answer.status_code, answer.text) == (204, "")
    assert answer.headers.get_list("access-control-allow-origin") == ["*"]
    assert answer.headers["access-control-allow-methods"] == METHODS
    assert answer.headers["access-control-allow-headers"] == "authorization, x-spreadsheet-id"
    assert answer.headers["access-control-max-age"] == str(PREFLIGHT_SECONDS)
    assert answer.headers["vary"].split(", ") == [
        *("Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers")
    ]
    assert "access-control-allow-credentials" not in answer.headers


def test_preflight_without_headers(client: TestClient) -> None:
    """Headers that were not requested need not be allowed."""
    answer = client.options("/", headers={**ORIGIN, "Access-Control-Request-Method": "PUT"})

    assert answer.status_code == 204
    assert "access-control-allow-headers" not in answer.headers
