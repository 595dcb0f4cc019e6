"""Rate limits of keys, and of invalid keys per address."""

import asyncio
import re
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from gateway.access.keys import mint_key
from gateway.storage.key_store import KeyStore
from tests.journeys.conftest import Api, KeysOnDisk, OpenGateway
from tests.journeys.failure import refused
from tests.journeys.waiting import until

SLOW = {"plans.paid.requests_per_minute": 20}
"""A burst of ten requests, then one every three seconds."""
RATE = re.compile(r'"default";r=(\d+);t=(\d+)')

# Method, path, options of the request, and its status.
KNOWN = [
    pytest.param("GET", "Cities", {}, 200, id="list"),
    pytest.param("HEAD", "Cities/2", {}, 200, id="head"),
    pytest.param("GET", "Cities/2", {"headers": {"If-None-Match": "*"}}, 304, id="not modified"),
    pytest.param("POST", "Cities", {"json": {"name": "x"}}, 201, id="create"),
    pytest.param("PUT", "Cities/2", {"json": {"name": "x"}}, 200, id="update"),
    pytest.param("GET", "Cities", {"params": {"limit": "x"}}, 400, id="bad query"),
    pytest.param("GET", "Cities/x", {}, 400, id="bad row"),
    pytest.param("GET", "%ff", {}, 400, id="bad worksheet"),
    pytest.param("POST", "Cities", {"content": b"{"}, 400, id="bad body"),
    pytest.param("GET", "Cities", {"spreadsheet": "other"}, 404, id="not granted"),
    pytest.param("GET", "Nowhere", {}, 404, id="no worksheet"),
    pytest.param("POST", "Cities", {"key": "read-only", "json": {}}, 405, id="read-only key"),
    pytest.param(
        "GET", "Cities", {"key": "pages", "headers": {"Origin": "null"}}, 403, id="origin"
    ),
]
UNKNOWN = [
    pytest.param("GET", "Cities", {"key": None}, 401, id="no key"),
    pytest.param("GET", "Cities", {"key": "x"}, 401, id="bad key"),
    pytest.param("GET", "Cities", {"key": "expired"}, 401, id="expired key"),
    pytest.param("GET", "/nowhere", {}, 404, id="no route"),
    pytest.param("GET", "/livez", {}, 200, id="livez"),
]


def standing(answer: httpx2.Response) -> tuple[int, int]:
    """Remaining requests and seconds until the reset in a `RateLimit` header."""
    match = RATE.fullmatch(answer.headers["ratelimit"])
    assert match is not None, answer.headers["ratelimit"]
    return int(match[1]), int(match[2])


def spend(api: Api, count: int, **options: Any) -> Sequence[int]:
    """Send this many requests and return their statuses."""
    return [api.get("Cities", **options).status_code for _ in range(count)]


@pytest.mark.parametrize(("method", "path", "options", "status"), KNOWN)
def test_every_answer_to_a_known_key_has_the_remaining_rate(
    looking_api: Api, method: str, path: str, options: Mapping[str, Any], status: int
) -> None:
    """Successes and errors have the `RateLimit` headers of the IETF draft."""
    answer = looking_api.send(method, path, **options)

    assert answer.status_code == status
    assert answer.headers["ratelimit-policy"] == '"default";q=1000000;w=60'
    assert standing(answer)[0] <= 100_000


@pytest.mark.parametrize(("method", "path", "options", "status"), UNKNOWN)
def test_answers_without_a_valid_key_have_no_rate(
    looking_api: Api, method: str, path: str, options: Mapping[str, Any], status: int
) -> None:
    """Answers without a valid key have no `RateLimit` headers."""
    answer = looking_api.send(method, path, **options)

    assert answer.status_code == status
    assert not [name for name in answer.headers if name.startswith("ratelimit")]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_key_over_its_rate_gets_a_retry_time(open_gateway: OpenGateway, method: str) -> None:
    """A key over its rate gets 429 code 4290 with `Retry-After`, without a Google call.

    Other keys are served.
    """
    api = open_gateway(SLOW)
    left = [standing(api.get("Cities")) for _ in range(10)]
    calls = api.emulator.calls()
    answer = api.send(method, "Cities", content=b"{", headers={"Origin": "https://a.example"})

    assert [each[0] for each in left] == list(range(9, -1, -1))
    assert refused(answer) == (429, 4290)
    assert answer.headers["retry-after"] == "3"
    assert answer.headers["ratelimit"] == '"default";r=0;t=3'
    assert answer.headers["ratelimit-policy"] == '"default";q=20;w=60'
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.json()["retryable"] is True
    assert answer.json().get("outcome") == (None if method == "GET" else "not_applied")
    assert api.emulator.calls() == calls
    assert api.get("Cities", key="two").status_code == 200


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("Cities", {"spreadsheet": "other"}),
        ("Cities/x", {}),
        ("%ff", {}),
        ("Cities", {"params": {"limit": "x"}}),
        ("Nowhere", {}),
    ],
    ids=["not granted", "bad row", "bad worksheet", "bad query", "no worksheet"],
)
def test_refused_requests_are_charged(
    open_gateway: OpenGateway, path: str, options: Mapping[str, Any]
) -> None:
    api = open_gateway(SLOW)
    for _ in range(10):
        assert 400 <= api.get(path, **options).status_code < 429

    assert refused(api.get("Cities")) == (429, 4290)


@pytest.mark.parametrize("path", ["Cities", "Cities/2"])
@pytest.mark.parametrize(
    "options",
    [{"params": {"no-cache": "true"}}, {"headers": {"Cache-Control": "no-cache"}}],
    ids=["parameter", "header"],
)
def test_fresh_data_costs_five_requests(
    open_gateway: OpenGateway, path: str, options: Mapping[str, Any]
) -> None:
    """Two requests for fresh data spend a burst of ten requests."""
    api = open_gateway(SLOW)
    answers = [api.get(path, **options) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [standing(answer)[0] for answer in answers] == [5, 0, 0]


@pytest.mark.parametrize(
    "options",
    [{"params": {"no-cache": "true"}}, {"headers": {"Cache-Control": "no-cache"}}],
    ids=["parameter", "header"],
)
@pytest.mark.parametrize(("used", "wait"), [(8, 9), (10, 15)], ids=["some left", "none left"])
def test_refused_fresh_data_has_the_wait_for_the_whole_price(
    open_gateway: OpenGateway, options: Mapping[str, Any], used: int, wait: int
) -> None:
    """`Retry-After` of refused fresh data is the time for five requests; the refusal
    costs nothing.
    """
    api = open_gateway(SLOW)
    spend(api, used)
    answers = [api.get("Cities", **options) for _ in range(3)]

    assert [refused(answer) for answer in answers] == [(429, 4290)] * 3
    assert {answer.headers["retry-after"] for answer in answers} == {str(wait)}
    assert [standing(answer)[0] for answer in answers] == [10 - used] * 3
    assert spend(api, 3) == [200] * (10 - used) + [429] * (used - 7)


def test_a_key_has_a_limit_of_concurrent_requests(open_gateway: OpenGateway) -> None:
    """Requests over `max_concurrent` get 429 code 4291 at once; later requests are served."""
    api = open_gateway({"plans.paid.max_concurrent": 2})
    api.emulator.faults({"call": "*", "apply": True, "delay_ms": 400, "times": 20})
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: api.get("Cities"), range(6)))
    late = [answer for answer in answers if answer.status_code == 429]
    api.emulator.faults()

    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [429] * 4
    assert {refused(answer) for answer in late} == {(429, 4291)}
    assert {answer.headers["retry-after"] for answer in late} == {"1"}
    assert all(standing(answer) for answer in late)
    assert spend(api, 5) == [200] * 5


def test_every_error_releases_the_concurrency_slot(open_gateway: OpenGateway) -> None:
    """With `max_concurrent` 1, a request after errors of all kinds is served."""
    api = open_gateway({"plans.paid.max_concurrent": 1})
    api.emulator.faults({"call": "*", "status": 403, "times": 1})
    statuses = [
        api.send(method, path, **options).status_code
        for method, path, options in (
            ("GET", "Cities", {}),
            ("GET", "Cities/x", {}),
            ("POST", "Cities", {"content": b"{"}),
            ("POST", "Cities", {"content": b"x" * 1_048_577}),
            ("PUT", "Cities/99", {"json": {"name": "x"}}),
            ("GET", "Cities", {"params": {"where": "{"}}),
        )
    ]

    assert statuses == [403, 400, 400, 413, 404, 400]
    assert api.get("Cities").status_code == 200


def test_a_client_that_leaves_releases_the_concurrency_slot(open_gateway: OpenGateway) -> None:
    """After a client closes its connection, also within a body, the next request is served."""
    api = open_gateway({"plans.paid.max_concurrent": 1})
    for incomplete_body in (b"", b"Content-Length: 100\r\n\r\n{"):
        _leave(api, incomplete_body)
        assert until(lambda: api.get("Cities").status_code == 200)

    assert spend(api, 3) == [200] * 3


def _leave(api: Api, rest: bytes) -> None:
    """Send a request, whole or with an incomplete body, and close the connection."""
    url = urlsplit(api.url)
    method = b"POST" if rest else b"GET"
    with socket.create_connection((url.hostname or "", url.port or 0)) as client:
        client.sendall(
            method + b" /v2/sheets/Cities HTTP/1.1\r\nHost: x\r\nX-Spreadsheet-Id: demo\r\n"
            b"API-Key: " + api.keys["paid"].encode() + b"\r\n" + (rest or b"\r\n")
        )


def test_a_plan_can_have_no_limits(open_gateway: OpenGateway) -> None:
    """A limit of 0 means no limit, and answers have no rate headers."""
    api = open_gateway({"plans.paid.requests_per_minute": 0, "plans.paid.max_concurrent": 0})

    assert spend(api, 30) == [200] * 30
    assert "ratelimit" not in api.get("Cities").headers


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "Cities"), ("PUT", "Cities/2"), ("POST", "Cities/2")]
)
def test_a_plan_can_have_no_writes(open_gateway: OpenGateway, method: str, path: str) -> None:
    """With `writes = false`, writes get 403 code 4034 without a Google call; reads are served."""
    api = open_gateway({"plans.paid.writes": False})
    answer = api.send(method, path, json={"name": "x"})
    elsewhere = api.send(method, path, json={"name": "x"}, spreadsheet="other")

    assert refused(answer) == (403, 4034)
    assert answer.json()["outcome"] == "not_applied"
    assert "writes" in answer.json()["message"]
    assert refused(elsewhere) == (404, 101)
    assert api.emulator.stats()["calls"] == {}
    assert api.get("Cities").status_code == 200


WRONG = {"access.failures_per_minute": 5}


@pytest.mark.parametrize("kind", ["malformed", "unknown", "revoked", "expired"])
def test_an_address_with_too_many_wrong_keys_must_wait(
    open_gateway: OpenGateway, kind: str
) -> None:
    """After too many invalid keys, an address gets 429 code 4292; valid keys still work there."""
    api = open_gateway(WRONG)
    keys = {"malformed": "x", "unknown": mint_key()}
    answers = [api.get("Cities", key=keys.get(kind, kind)) for _ in range(7)]
    late = answers[-1]

    assert [refused(answer) for answer in answers] == [(401, 4011)] * 5 + [(429, 4292)] * 2
    assert 1 <= int(late.headers["retry-after"]) <= 12
    assert late.headers["ratelimit"] == f'"failed-keys";r=0;t={late.headers["retry-after"]}'
    assert late.headers["ratelimit-policy"] == '"failed-keys";q=5;w=60'
    assert spend(api, 20) == [200] * 20
    assert spend(api, 20, key="two") == [200] * 20
    assert refused(api.get("Cities", key="y")) == (429, 4292)
    assert refused(api.get("Cities", key=None)) == (401, 4010)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_forwarding_headers_of_clients_are_ignored(open_gateway: OpenGateway, header: str) -> None:
    """Without a trusted proxy, forwarding headers do not change the address of a client."""
    api = open_gateway(WRONG)

    assert _failures(api, header) == [401] * 5 + [429] * 5


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_forwarding_headers_of_a_trusted_proxy_are_used(
    open_gateway: OpenGateway, header: str
) -> None:
    """Behind a trusted proxy, failures count by the last address that the proxy added."""
    api = open_gateway({**WRONG, "access.trusted_proxies": "127.0.0.0/8"})

    assert _failures(api, header) == [401] * 10
    assert _failures(api, header, last="203.0.113.200") == [401] * 5 + [429] * 5


def _failures(api: Api, header: str, last: str = "") -> Sequence[int]:
    """Statuses of ten requests with a wrong key, each with another forwarded address."""
    form = "for={}" if header == "Forwarded" else "{}"
    hops = [[f"203.0.113.{number}", *([last] if last else [])] for number in range(10)]
    return [
        api.get("Cities", key="x", headers={header: ", ".join(map(form.format, each))}).status_code
        for each in hops
    ]


def test_the_last_use_of_a_key_is_stored(api: Api, access: KeysOnDisk) -> None:
    """The key store has the last use of a key, to the hour, soon after the request."""
    before = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    api.get("Cities", key="two")
    api.get("Cities", key="expired")
    database, _ = access
    assert until(lambda: _last_uses(database)["two"] is not None)
    uses = _last_uses(database)

    used_at = uses["two"]
    assert used_at is not None
    assert before <= used_at <= datetime.now(UTC)
    assert uses["expired"] is None


def _last_uses(database: Path) -> Mapping[str, datetime | None]:
    async def look() -> Mapping[str, datetime | None]:
        async with KeyStore.open(database) as store:
            return {record.name: record.last_used_at for record in await store.list()}

    return asyncio.run(look())
