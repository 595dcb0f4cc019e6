"""Pages of other origins: what they may ask, and what they may read."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused
from tests.journeys.raw import RawAnswer, send_raw

PAGE = "https://app.example.org"
"""The one origin of the key `pages`."""
PREFLIGHT_VARY = ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"]


def ask(api: Api, origins: Sequence[str], key: str = "pages", method: str = "GET") -> RawAnswer:
    """A request with a line for each of these origins."""
    sent = [("API-Key", api.keys[key]), ("X-Spreadsheet-Id", "demo")]
    return send_raw(
        api,
        method,
        "/v2/sheets/Cities/2",
        headers=[*sent, *(("Origin", origin) for origin in origins)],
    )


def preflight(api: Api, path: str = "Cities", **headers: str) -> Any:
    """A preflight as browsers send it: without a key."""
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "PUT", **headers}
    return api.send("OPTIONS", path, key=None, spreadsheet=None, headers=asked)


@pytest.mark.parametrize(
    "origins",
    [
        [PAGE, "https://evil.example"],
        ["https://evil.example", PAGE],
        [PAGE, "null"],
        [f"{PAGE}, https://evil.example"],
        [f"{PAGE} https://evil.example"],
        ["null"],
        [""],
        [PAGE, ""],
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_all_origins_of_a_request_must_be_the_keys(
    shared_api: Api, origins: Sequence[str], method: str
) -> None:
    """Each line counts; a sandboxed page (`null`) has no allowed origin."""
    answer = ask(shared_api, origins, method=method)

    assert refused(answer) == (403, 4031)
    assert [pair for pair in answer.pairs if pair[0] == "access-control-allow-origin"] == [
        ("access-control-allow-origin", "*")
    ]
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize(
    ("key", "origins"),
    [
        ("pages", [PAGE]),
        ("pages", [PAGE, PAGE]),
        ("pages", []),
        ("paid", ["null"]),
        ("paid", [""]),
        ("paid", ["https://a.example", "https://b.example"]),
    ],
    ids=repr,
)
def test_a_key_is_served_to_its_pages(shared_api: Api, key: str, origins: Sequence[str]) -> None:
    """One without origins is served to all pages, sandboxed ones too."""
    answer = ask(shared_api, origins, key)
    allowed = [value for name, value in answer.pairs if name == "access-control-allow-origin"]

    assert answer.status_code == 200
    assert allowed == (["*"] if origins else [])
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize("path", ["Cities", "Cities/2", "Nowhere", "/nowhere", "/v1/x", "%ff"])
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE", "ODD"])
def test_preflights_are_answered_alike(shared_api: Api, path: str, method: str) -> None:
    """The answer is the same for every path, header and origin."""
    headers = {"Access-Control-Request-Headers": "authorization,x-own"}
    answers = [
        preflight(shared_api, path, **headers),
        preflight(shared_api, path, **headers, **{"Access-Control-Request-Method": method}),
        preflight(shared_api, path, **headers, Origin="null"),
        preflight(shared_api, path, **headers, Authorization="Bearer x"),
    ]
    about_the_exchange = {"date", "x-request-id"}
    seen = {
        repr(sorted(pair for pair in answer.headers.items() if pair[0] not in about_the_exchange))
        for answer in answers
    }

    assert {(answer.status_code, answer.content) for answer in answers} == {(204, b"")}
    assert len(seen) == 1
    assert answers[0].headers["access-control-allow-headers"] == "authorization,x-own"
    assert answers[0].headers["vary"].split(", ") == PREFLIGHT_VARY
    assert int(answers[0].headers["access-control-max-age"]) > 0


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
