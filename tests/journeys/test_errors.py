"""Errors that requests cause: status, code and body of each."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
import pytest

from gateway.app import create_app
from gateway.google.sheets import Sheets
from gateway.server.running import GatewayServer, in_background
from gateway.server.sockets import bind
from gateway.settings.model import load_settings
from tests.error_tree import concrete_errors
from tests.journeys.conftest import Api, KeysOnDisk, OpenGateway
from tests.journeys.failure import NAMES, is_open, refused
from tests.journeys.raw import send_raw
from tests.stand_in import stand_in

CITY = {"json": {"name": "x"}}

# Status, code, method, path and options of a request that gets them.
TABLE = [
    (401, 4010, "GET", "Cities", {"key": None}),
    (401, 4011, "GET", "Cities", {"key": "unknown"}),
    (401, 4012, "POST", "Cities?apiKey={paid}", {"key": None, **CITY}),
    (400, 4001, "GET", "Cities", {"params": {"spreadsheetId": "other"}}),
    (400, 4002, "GET", "Cities", {"params": {"where": "{"}}),
    (400, 4003, "GET", "Cities/0", {}),
    (400, 4004, "POST", "Cities", {"headers": {"Idempotency-Key": "a b"}, **CITY}),
    (400, 101, "GET", "Cities", {"key": "two", "spreadsheet": None}),
    (400, 101, "GET", "Cities", {"spreadsheet": "a/b"}),
    (404, 101, "GET", "Cities", {"spreadsheet": "other"}),
    (404, 101, "GET", "Cities", {"spreadsheet": "unknown", "key": "any"}),
    (403, 101, "GET", "Cities", {"spreadsheet": "private", "key": "any"}),
    (409, 102, "GET", "Empty", {}),
    (409, 102, "GET", "NoHeader/2", {}),
    (409, 102, "POST", "Empty", CITY),
    (409, 102, "PUT", "NoHeader/2", CITY),
    (404, 103, "GET", "Cities/12", {}),
    (404, 103, "PUT", "Cities/12", CITY),
    (400, 104, "POST", "Cities", {"json": {"nope": 1}}),
    (404, 105, "GET", "Nowhere", {}),
    (403, 4031, "GET", "Cities", {"key": "pages", "headers": {"Origin": "https://x.example"}}),
    (403, 4032, "GET", "New", {"key": "cities"}),
    (403, 4034, "GET", "Cities", {"key": "free", "params": {"where": '{"name":"x"}'}}),
    (403, 4034, "GET", "Cities", {"key": "free", "params": {"order": "name"}}),
    (404, 4040, "GET", "/v2/rows", {}),
    (405, 4051, "DELETE", "Cities/2", {}),
    (405, 4050, "PUT", "Cities/2", {"key": "read-only", **CITY}),
    (410, 4100, "GET", "/v1/sheets/Cities", {}),
    (412, 4120, "PUT", "Cities/2", {"headers": {"If-Match": '"x"'}, **CITY}),
    (413, 4130, "POST", "Cities", {"content": b"{" + b" " * 1_048_576}),
    (414, 4140, "GET", "Cities", {"params": {"keys": "k" * 8192}}),
    (431, 4310, "GET", "Cities", {"headers": {"X-Long": "y" * 16_384}}),
    (415, 4150, "POST", "Cities", {"content": b"<a/>", "headers": {"Content-Type": "text/xml"}}),
]
ROWS = [
    pytest.param(*row, id=f"{row[1]} {row[2]} {row[3]} {position}")
    for position, row in enumerate(TABLE)
]
EXPOSED = {
    *("ETag", "Age", "Cache-Status", "Location", "Allow", "Retry-After", "WWW-Authenticate"),
    *("X-Request-Id", "X-Ignored-Fields", "Idempotent-Replayed", "Server-Timing"),
    *("RateLimit", "RateLimit-Policy"),
}
"""Headers that pages of other origins can read."""
OF_RFC_9457 = {"title", "detail", "instance"}


def check_headers(answer: httpx2.Response, rule: str | None) -> None:
    """Check the headers that all answers have, and the value of `Cache-Control`."""
    exposed = {*answer.headers["access-control-expose-headers"].split(", ")}
    assert is_open(answer.headers)
    assert exposed >= EXPOSED
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", answer.headers["x-request-id"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert re.fullmatch(r"google;dur=[0-9.]+", answer.headers["server-timing"])
    assert answer.headers.get("cache-control") == rule
    assert not {"server", "set-cookie"} & set(answer.headers)


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("GET", "Cities", {}),
        ("GET", "Cities/2", {}),
        ("PUT", "Cities/2", {"json": {"name": "New York"}}),
        ("OPTIONS", "Cities", {}),
        ("GET", "/livez", {}),
    ],
)
def test_each_success_has_the_common_headers(
    shared_api: Api, method: str, path: str, options: dict[str, Any]
) -> None:
    """A success has request ID, security, timing, cache and CORS headers."""
    answer = shared_api.send(method, path, headers={"Origin": "https://page.example"}, **options)

    assert answer.is_success
    check_headers(answer, None if method == "OPTIONS" else "private, no-cache")
    if answer.content:
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert not {"type", "code"} & set(answer.json())


@pytest.mark.parametrize(("status", "code", "method", "path", "options"), ROWS)
def test_each_error_has_its_status_code_and_shape(
    shared_api: Api, status: int, code: int, method: str, path: str, options: dict[str, Any]
) -> None:
    """Each error has exactly the contract's JSON shape and the headers of all answers.

    Errors of writes say `not_applied`.
    """
    before = shared_api.emulator.everything()
    headers = {"Origin": "https://page.example", **options.get("headers", {})}
    path = path.format_map(shared_api.keys)

    answer = shared_api.send(method, path, **{**options, "headers": headers})

    assert refused(answer) == (status, code)
    check_headers(answer, "no-store")
    body = answer.json()
    assert body["retryable"] is False
    assert body.get("outcome") == (None if method == "GET" else "not_applied")
    assert ("errors" in body) == (code == 104)
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert ("allow" in answer.headers) == (status == 405)
    assert shared_api.emulator.everything() == before


@pytest.mark.parametrize(("status", "code", "method", "path", "options"), ROWS)
@pytest.mark.parametrize(
    "accept",
    ["Application/Problem+JSON", "application/json;q=0.5, application/problem+json"],
    ids=["alone", "in a list"],
)
def test_problem_json_adds_members_to_an_error(
    shared_api: Api,
    accept: str,
    status: int,
    code: int,
    method: str,
    path: str,
    options: dict[str, Any],
) -> None:
    """`Accept: application/problem+json` adds the members of RFC 9457 to the usual members."""
    path = path.format_map(shared_api.keys)
    plain = shared_api.send(method, path, **options).json()
    headers = {**options.get("headers", {}), "Accept": accept}

    answer = shared_api.send(method, path, **{**options, "headers": headers})

    problem = answer.json()
    assert answer.status_code == problem["status"] == status
    assert answer.headers["content-type"] == "application/problem+json; charset=utf-8"
    assert set(problem) == set(plain) | OF_RFC_9457
    assert {**problem, "requestId": plain["requestId"]} == plain | {
        name: problem[name] for name in OF_RFC_9457
    }
    assert problem["title"] == plain["name"]
    assert problem["detail"] == plain["message"]
    assert problem["requestId"] in problem["instance"]


def test_the_names_of_all_codes_are_fixed() -> None:
    """The codes and names of errors never change. A new error is added to `NAMES`."""
    kinds = {error.code: error.name for error in concrete_errors()}

    assert kinds == NAMES


def test_an_unshared_spreadsheet_names_the_address_to_share_with(shared_api: Api) -> None:
    """The 403 of a granted spreadsheet that is not shared names the account to share it with."""
    account = json.loads(shared_api.emulator.credentials.read_text())["client_email"]

    answers = [
        shared_api.send(method, path, key="any", spreadsheet="private", json={"name": "x"})
        for method, path in [
            ("GET", "Cities"),
            ("GET", "Cities/2"),
            ("POST", "Cities"),
            ("PATCH", "Cities/2"),
        ]
    ]

    assert [refused(answer) for answer in answers] == [(403, 101)] * 4
    assert all(account in answer.json()["message"] for answer in answers)
    assert shared_api.emulator.calls()[1] == 0


LIMITS = [
    pytest.param(
        {"server.max_body_bytes": 20}, "POST", "/v2/sheets/Cities", b'{"name":"xxxxxxxxxxx"}', 4130
    ),
    pytest.param({"server.max_url_bytes": 24}, "GET", "/v2/sheets/Cities?limit=1", None, 4140),
    pytest.param({"server.max_head_bytes": 100}, "GET", "/v2/sheets/Cities", None, 4310),
    pytest.param({"google.max_answer_bytes": 100}, "GET", "/v2/sheets/Cities", None, 4132),
]


@pytest.mark.parametrize(
    ("settings", "method", "target", "body", "code"), LIMITS, ids=["body", "URL", "head", "sheet"]
)
def test_limits_are_settings(
    open_gateway: OpenGateway,
    settings: Mapping[str, object],
    method: str,
    target: str,
    body: bytes | None,
    code: int,
) -> None:
    api = open_gateway(settings)

    answer = send_raw(api, method, target, body=body)

    assert refused(answer) == ({4140: 414, 4310: 431}.get(code, 413), code)
    assert api.emulator.calls()[1] == 0


@pytest.mark.parametrize("length", ["9" * 30, "1048577"])
def test_a_content_length_over_the_limit_is_refused_at_once(shared_api: Api, length: str) -> None:
    """A `Content-Length` over the limit is refused before the body arrives."""
    sent = [("Authorization", shared_api.keys["paid"]), ("Content-Length", length)]

    answer = send_raw(shared_api, "POST", "/v2/sheets/Cities", headers=sent)

    assert answer.status_code in (400, 413)
    assert length != "1048577" or refused(answer) == (413, 4130)


def test_a_chunked_body_over_the_limit_is_refused(shared_api: Api) -> None:
    """A body without `Content-Length` gets 413 when its size exceeds the limit."""
    pieces = (b" " * 65_536 for _ in range(20))

    answer = shared_api.post("Cities", content=pieces)

    assert refused(answer) == (413, 4130)


@asynccontextmanager
async def broken_sheets() -> AsyncIterator[Sheets]:
    """A `Sheets` object that raises on every use."""
    yield cast(Sheets, object())


def test_an_internal_error_shows_no_detail(
    access: KeysOnDisk, capfd: pytest.CaptureFixture[str]
) -> None:
    """An internal error is 500 without details; the log has the traceback with the request ID."""
    settings = load_settings(None, {}, {"access.database": str(access[0])})
    server = GatewayServer(create_app(settings, stand_in(broken_sheets)), settings.server)
    headers = {
        "Origin": "https://shop.example",
        "X-Request-Id": "traced",
        "API-Key": access[1]["paid"],
    }
    with in_background(server, bind("127.0.0.1", 0)) as url:
        answer = httpx2.post(
            f"{url}/v2/sheets/Cities", json={"name": "x"}, headers=headers, timeout=30.0
        )

    assert refused(answer) == (500, 5000)
    assert answer.json()["outcome"] == "unknown"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert not re.search("object|attribute|traceback|error:", answer.text, re.IGNORECASE)
    log = capfd.readouterr()
    assert "traced" in log.out + log.err
    assert "has no attribute" in log.out + log.err


def test_full_queue_gives_a_retry_time(open_gateway: OpenGateway) -> None:
    """Writes over the limit of the worksheet's queue get 503; queued writes are carried out."""
    api = open_gateway({"writes.max_waiting_rows": 1})
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "times": 9, "delay_ms": 200})

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda n: api.post("New", json={"name": str(n)}), range(6)))

    late = [answer for answer in answers if answer.status_code != 201]
    assert 1 <= len(late) <= 5
    assert {refused(answer) for answer in late} == {(503, 5031)}
    assert {answer.json()["outcome"] for answer in late} == {"not_applied"}
    assert {answer.json()["retryable"] for answer in late} == {True}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in late)
    assert len(api.emulator.texts("New")) == 1 + len(answers) - len(late)
