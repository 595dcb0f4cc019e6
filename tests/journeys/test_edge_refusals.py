"""Errors for malformed HTTP, which have the same JSON shape and log line as other errors."""

import json
from pathlib import Path

import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import is_open
from tests.journeys.process import running
from tests.journeys.unreachable_google import google_section
from tests.journeys.waiting import until
from tests.server.wire import WireAnswer, connected, exchange

START = b"GET /v2/sheets/Cities/2?apiKey=sgw_secretsecret HTTP/1.1\r\n"
REFUSED = {
    "no Host": START + b"\r\n",
    "broken line": START + b"Host: gateway\r\nX A: b\r\n\r\n",
    "path": "GET /v2/sheets/Städte HTTP/1.1\r\n".encode(),
    "head": START + b"Host: gateway\r\nX: " + b"x" * 40_000,
    "URL": b"GET /v2/sheets/" + b"x" * 40_000,
    "method": b"FETCH /v2/sheets/Cities HTTP/1.1\r\n",
    "tunnel": b"CONNECT gateway:443 HTTP/1.1\r\nHost: gateway\r\n\r\n",
}
STATUSES = dict(zip(REFUSED, (400, 400, 400, 431, 414, 400, 405), strict=True))
CODES = dict(zip(REFUSED, (4000, 4000, 4003, 4310, 4140, 4000, 4051), strict=True))


def is_contract_error(answer: WireAnswer) -> bool:
    """True if an error has the members and headers of all API errors."""
    return (
        answer.json["type"] == "SheetsonError"
        and answer.json["status"] == answer.status
        and answer.json["requestId"] == answer.headers["x-request-id"]
        and {"code", "name", "message", "retryable"} <= answer.json.keys()
        and answer.headers["content-type"] == "application/json; charset=utf-8"
        and is_open(answer.headers)
        and answer.headers["x-content-type-options"] == "nosniff"
        and answer.headers["cache-control"] == "no-store"
        and answer.headers["connection"] == "close"
        and "date" in answer.headers
    )


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_is_an_error_of_the_api(shared_api: Api, case: str) -> None:
    """A malformed request gets an API error with code, ID and CORS headers, without a
    Google call.
    """
    (answer,) = exchange(shared_api.url, REFUSED[case])

    assert (answer.status, answer.saw) == (STATUSES[case], CODES[case])
    assert is_contract_error(answer)
    assert "sgw_" not in json.dumps(answer.json)
    assert shared_api.emulator.calls() == (0, 0)


def test_an_error_uses_the_headers_before_the_fault(shared_api: Api) -> None:
    """Headers before the malformed line, such as `X-Request-Id` and `Accept`, take effect."""
    lines = b"X-Request-Id: mine\r\nAccept: application/problem+json\r\nX-B: c\r\nX A: b\r\n"
    (answer,) = exchange(shared_api.url, START + lines)

    assert (answer.headers["x-request-id"], answer.json["requestId"]) == ("mine", "mine")
    assert answer.headers["content-type"] == "application/problem+json; charset=utf-8"
    assert answer.json["instance"] == "/v2/sheets/Cities/2#mine"


def test_a_broken_preflight_is_refused(shared_api: Api) -> None:
    """A malformed preflight gets 400."""
    lines = b"Origin: https://a.example\r\nAccess-Control-Request-Method: POST\r\nX A: b\r\n"
    (answer,) = exchange(shared_api.url, START.replace(b"GET", b"OPTIONS") + lines)

    assert (answer.status, answer.saw) == (400, 4000)


def test_a_malformed_request_behind_a_refused_one(shared_api: Api) -> None:
    """A malformed request after a refused one on the same connection gets its own error."""
    wrong = b"GET /v2/sheets/Cities HTTP/1.1\r\nHost: gateway\r\nAPI-Key: x\r\n\r\n"
    answers = exchange(shared_api.url, wrong * 2 + REFUSED["broken line"])

    assert [answer.saw for answer in answers] == [4011, 4011, 4000]


def test_a_write_with_a_broken_body_is_not_made(shared_api: Api) -> None:
    """A chunked body that becomes invalid gets one error, and no row is written."""
    head = (
        "POST /v2/sheets/Cities HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n"
        f"Authorization: Bearer {shared_api.keys['paid']}\r\nX-Spreadsheet-Id: demo\r\n"
        "Content-Type: application/json\r\n\r\n"
    )
    answers = exchange(shared_api.url, head.encode(), b'f\r\n{"name": "kept"\r\n', b"zz\r\n")

    assert [(answer.saw, answer.json["outcome"]) for answer in answers] == [(4000, "not_applied")]
    assert shared_api.emulator.calls() == (0, 0)


def test_each_refusal_has_one_line_in_the_log(tmp_path: Path) -> None:
    """The log line of malformed HTTP has the method and path as far as they were read."""
    settings = f"[server]\nhead_timeout_seconds = 0.2\n{google_section(tmp_path)}"
    (tmp_path / "config.toml").write_text(settings)
    options = ("--port", "0", "--config", str(tmp_path / "config.toml"))
    with running(tmp_path / "log", "serve", *options) as gateway:
        for sent in (*REFUSED.values(), START):
            exchange(gateway.url, sent)
        with connected(gateway.url):
            text = gateway.log.read_text
            is_told = until(lambda: len(text().splitlines()) == 1 + len(REFUSED) + 1)
            start, *lines = [json.loads(line) for line in text().splitlines()]

    assert is_told
    assert start["event"] == "serving"
    assert {line["event"] for line in lines} == {"request"}
    assert [line["code"] for line in lines] == [*CODES.values(), 4080]
    assert [(line["method"], line["path"][:22]) for line in lines] == [
        ("GET", "/v2/sheets/Cities/2"),
        ("GET", "/v2/sheets/Cities/2"),
        ("", "/"),
        ("GET", "/v2/sheets/Cities/2"),
        ("GET", "/v2/sheets/" + "x" * 11),
        ("", "/"),
        ("CONNECT", "/"),
        ("GET", "/v2/sheets/Cities/2"),
    ]
    assert max(len(line["path"]) for line in lines) <= 200
    assert "sgw_" not in text()
