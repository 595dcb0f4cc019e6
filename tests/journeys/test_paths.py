"""Targets and methods that depend on the server; all others are in tests/surfaces."""

import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import refused
from tests.journeys.raw import send_raw

ROW = b'{"name":"written"}'


@pytest.mark.parametrize(
    "target",
    [
        *("*", "//v2/sheets/Cities", "/v2/sheets/New/../Cities", "/v2/sheets/../../livez"),
        *("/./v2/sheets/Cities", "/v2/x/../sheets/Cities", "/v2/sheets//2", "/V2/sheets/Cities"),
    ],
)
def test_target_is_not_normalised(shared_api: Api, target: str) -> None:
    """The server passes dot segments and double slashes to the router unchanged."""
    answers = [send_raw(shared_api, method, target, body=ROW) for method in ("GET", "POST")]

    assert [refused(answer) for answer in answers] == [(404, 4040)] * 2
    assert shared_api.emulator.stats()["calls"] == {}


def test_absolute_form_of_a_target(shared_api: Api) -> None:
    """For `GET http://host/path` the gateway uses the path and ignores the host."""
    answer = send_raw(shared_api, "GET", "http://elsewhere.example/v2/sheets/Cities/2")

    assert (answer.status_code, answer.json()["name"]) == (200, "New York")


@pytest.mark.parametrize(
    "path",
    [
        *("/v2/sheets/Cities", "/v2/sheets/Cities?limit=3", "/v2/sheets/Cities/2", "/livez"),
        *("/v2/sheets/Cities/99", "/v2/sheets/Nowhere", "/v2/sheets/Cities?limit=x", "/nowhere"),
        *("/readyz", "/v2/sheets/Cities/2/", "/v2/sheets/Empty"),
    ],
)
def test_head_answers_as_get_does_without_the_body(shared_api: Api, path: str) -> None:
    """HEAD has the status and headers of GET on every path."""
    head, get = send_raw(shared_api, "HEAD", path), send_raw(shared_api, "GET", path)
    varying = {"date", "x-request-id", "server-timing", "ratelimit"}

    assert head.status_code == get.status_code
    assert head.content == b""
    assert {name: value for name, value in head.headers.items() if name not in varying} == {
        name: value for name, value in get.headers.items() if name not in varying
    }
