"""Pages of other origins: what they may ask, and what they may read."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.journeys.conftest import PAGE, Api, OpenGateway
from tests.journeys.failure import refused


def preflight(api: Api, path: str = "Cities", **headers: str) -> Any:
    """A preflight as browsers send it: without a key."""
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "PUT", **headers}
    return api.send("OPTIONS", path, key=None, spreadsheet=None, headers=asked)


def test_preflights_are_no_requests_of_a_key(open_gateway: OpenGateway) -> None:
    """They are neither charged nor counted as failures, and work when nothing else does."""
    api = open_gateway({"plans.paid.requests_per_minute": 1, "access.failures_per_minute": 1})
    for _ in range(20):
        assert preflight(api, Authorization=api.keys["paid"]).status_code == 204
    for _ in range(10):
        assert api.get("Cities").status_code == 200

    assert refused(api.get("Cities")) == (429, 4290)
    assert preflight(api).status_code == 204
    assert refused(api.get("Cities", key="x")) == (401, 4011)


@pytest.mark.parametrize(
    ("options", "status"),
    [({}, 429), ({"key": "x"}, 429), ({"spreadsheet": "other"}, 429), ({"key": None}, 401)],
    ids=["rate", "wrong key", "not granted", "no key"],
)
def test_a_page_can_read_how_long_to_wait(
    open_gateway: OpenGateway, options: Mapping[str, Any], status: int
) -> None:
    """Pages can read refusals and their rate headers."""
    api = open_gateway({"plans.paid.requests_per_minute": 1, "access.failures_per_minute": 1})
    for _ in range(10):
        api.get("Cities")
    api.get("Cities", key="x")
    answer = api.get("Cities", headers={"Origin": "null"}, **options)
    exposed = answer.headers["access-control-expose-headers"].split(", ")

    assert answer.status_code == status
    assert answer.headers["access-control-allow-origin"] == "*"
    assert {"Accept", "Origin"} <= set(answer.headers["vary"].split(", "))
    assert {"RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"} <= set(exposed)
    assert "access-control-allow-credentials" not in answer.headers


def test_what_differs_by_origin_says_so(shared_api: Api) -> None:
    """A cache keeps the answer to a program apart from that to a page, errors included."""
    for path in ("Cities", "Cities/99", "/nowhere", "/livez"):
        for headers in ({}, {"Origin": PAGE}):
            answer = shared_api.get(path, headers=headers)

            assert "Origin" in answer.headers["vary"].split(", ")
            assert ("access-control-allow-origin" in answer.headers) == bool(headers)
