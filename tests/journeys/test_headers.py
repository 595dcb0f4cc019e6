"""Headers of answers: CORS, HEAD, the request id, and those that all answers have."""

import json
import re
from typing import Any

import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import is_open, refused
from tests.journeys.raw import send_raw

ORIGIN = {"Origin": "https://shop.example"}
EXPOSED = {
    *("ETag", "Age", "Cache-Status", "Location", "Allow", "Retry-After", "WWW-Authenticate"),
    *("X-Request-Id", "X-Ignored-Fields", "Idempotent-Replayed", "Server-Timing"),
    *("RateLimit", "RateLimit-Policy"),
}

# Method, path, options of the request, and the status that it gets.
ANSWERS = [
    pytest.param("GET", "Cities", {}, 200, id="list"),
    pytest.param("GET", "Cities/2", {}, 200, id="read"),
    pytest.param("PUT", "Cities/2", {"json": {"name": "New York"}}, 200, id="update"),
    pytest.param("OPTIONS", "Cities", {}, 204, id="options"),
    pytest.param("GET", "/livez", {}, 200, id="livez"),
    pytest.param("GET", "Cities", {"params": {"limit": "x"}}, 400, id="bad query"),
    pytest.param("POST", "Cities", {"content": b"{"}, 400, id="bad body"),
    pytest.param("GET", "Cities/0", {}, 400, id="bad path"),
    pytest.param("GET", "Cities", {"key": None}, 401, id="no key"),
    pytest.param("POST", "Cities", {"key": "x", "json": {}}, 401, id="bad key"),
    pytest.param("GET", "New", {"key": "cities"}, 403, id="not granted"),
    pytest.param("GET", "Cities", {"spreadsheet": "other"}, 404, id="spreadsheet"),
    pytest.param("GET", "Nowhere", {}, 404, id="worksheet"),
    pytest.param("GET", "/nowhere", {}, 404, id="route"),
    pytest.param("DELETE", "Cities/2", {}, 405, id="method"),
    pytest.param("POST", "Cities", {"key": "read-only", "json": {}}, 405, id="read-only key"),
    pytest.param("GET", "Empty", {}, 409, id="no header row"),
    pytest.param("GET", "/v1/sheets/Cities", {}, 410, id="version 1"),
    pytest.param("POST", "Cities", {"content": b"x" * 1_048_577}, 413, id="body too large"),
    pytest.param("GET", "Cities", {"params": {"x": "y" * 9000}}, 414, id="URL too long"),
    pytest.param("POST", "Cities", {"headers": {"Content-Type": "text/xml"}}, 415, id="type"),
    pytest.param("GET", "Cities", {"headers": {"X-Long": "y" * 20_000}}, 431, id="head"),
]

CACHING = {200: "private, no-cache", 204: None}
"""The rule for caches by status; what is not here is an error, which nobody may keep."""


@pytest.mark.parametrize(("method", "path", "options", "status"), ANSWERS)
def test_every_answer_has_the_common_headers(
    shared_api: Api, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    """A request id, no sniffing, no referrer, times, a rule for caches, and CORS for all pages."""
    headers = {**ORIGIN, **options.get("headers", {})}

    answer = shared_api.send(method, path, **{**options, "headers": headers})

    assert answer.status_code == status
    assert is_open(answer.headers)
    exposed = answer.headers["access-control-expose-headers"].split(", ")
    assert {name.lower() for name in EXPOSED} <= {name.lower() for name in exposed}
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", answer.headers["x-request-id"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert re.fullmatch(r"google;dur=[0-9.]+", answer.headers["server-timing"])
    assert answer.headers.get("cache-control") == CACHING.get(status, "no-store")
    assert "server" not in answer.headers
    assert "set-cookie" not in answer.headers
    if answer.content:
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert status == 200 or refused(answer)[0] == status


@pytest.mark.parametrize(
    "path",
    [
        *("/v2/sheets/Cities", "/v2/sheets/Cities?limit=3", "/v2/sheets/Cities/2", "/livez"),
        *("/v2/sheets/Cities/99", "/v2/sheets/Nowhere", "/v2/sheets/Cities?limit=x", "/nowhere"),
        *("/readyz", "/v2/sheets/Cities/2/", "/v2/sheets/Empty"),
    ],
)
def test_head_answers_as_get_does_without_the_body(shared_api: Api, path: str) -> None:
    """HEAD is there wherever GET is, with the same status and headers."""
    head, get = send_raw(shared_api, "HEAD", path), send_raw(shared_api, "GET", path)
    varying = {"date", "x-request-id", "server-timing", "ratelimit"}

    assert head.status_code == get.status_code
    assert head.content == b""
    assert {name: value for name, value in head.headers.items() if name not in varying} == {
        name: value for name, value in get.headers.items() if name not in varying
    }


def test_dropped_fields_are_named_in_a_header(open_gateway: OpenGateway) -> None:
    """Names of ignored fields are escaped in the header."""
    api = open_gateway({"api.unknown_fields": "ignore"})
    body = {"name": "x", "größe": 1, "a,b": 2, "line\nbreak": 3, "\U0001f3d9": 4}

    created = api.post("Cities", json=body)
    updated = api.send("PUT", "Cities/2", json={"name": "y", "nope": 1})

    assert created.json() == {"rowIndex": 12, "name": "x"}
    assert updated.headers["x-ignored-fields"] == '"nope"'
    named = created.headers["x-ignored-fields"]
    assert named == '"gr\\u00f6\\u00dfe", "a,b", "line\\nbreak", "\\ud83c\\udfd9"'
    assert json.loads(f"[{named}]") == ["größe", "a,b", "line\nbreak", "🏙"]
