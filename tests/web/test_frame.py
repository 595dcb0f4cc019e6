"""The ASGI frame of every request: request ID, log line, limits, and unexpected errors."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, MutableMapping
from typing import Any, NoReturn

import pytest
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient
from starlette.types import Message
from structlog.testing import capture_logs

from gateway.access.rates import KeyRates, RateLease
from gateway.errors import BodyTooLarge, TooManyInFlight
from gateway.settings.model import PlanSettings, ServerSettings
from gateway.storage.key_store import Grants
from gateway.telemetry.events import USE, tallies, upstream_called
from gateway.web.answers import Answer, json_answer
from gateway.web.error_responses import missing_route
from gateway.web.frame import CLIENT_GONE, Frame
from gateway.web.request import Request
from tests.callers import make_caller
from tests.clock import ManualClock
from tests.web.requests import make_scope, sent

SETTINGS = ServerSettings(max_url_bytes=300, max_head_bytes=1000)
SECRET = "what the database said"

Logs = list[MutableMapping[str, Any]]


async def respond(request: Request) -> Answer:
    """Answer or fail, as the path says."""
    match request.event.path.split("/")[1:]:
        case ["broken"]:
            raise RuntimeError(SECRET)
        case ["early"]:
            raise BodyTooLarge("too large")
        case ["sheets", title]:
            upstream_called("main", is_write=False, seconds=0.25)
            return json_answer(title, rows=3)
    raise missing_route(request)


@pytest.fixture
def client() -> TestClient:
    """Test client of an application in the frame. An exception that leaves the frame is raised."""
    return TestClient(Frame(respond, SETTINGS))


@pytest.fixture
def logs() -> Iterator[Logs]:
    """The log lines of the test."""
    with capture_logs() as lines:
        yield lines


@pytest.mark.parametrize("given", ["a", "A.b_c-9", "x" * 64])
def test_a_request_id_of_the_client_is_used(client: TestClient, logs: Logs, given: str) -> None:
    """A client's `X-Request-Id` is in the answer and in the log line."""
    response = client.get("/sheets/x", headers={"X-Request-Id": given})

    assert response.headers.get_list("x-request-id") == [given]
    assert logs[-1]["id"] == given


def test_every_answer_has_the_common_headers(client: TestClient) -> None:
    """Successful answers and errors have the security headers, `Server-Timing` and CORS headers."""
    answers = [
        client.get(path, headers={"Origin": "https://page.example"})
        for path in ("/sheets/x", "/broken", "/early", "/nowhere", "/sheets/x?" + "y" * 300)
    ]

    assert [response.status_code for response in answers] == [200, 500, 413, 404, 414]
    for response in answers:
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["server-timing"].startswith("google;dur=")
        assert response.headers["access-control-allow-origin"] == "*"
        assert "X-Request-Id" in response.headers["access-control-expose-headers"]


def test_a_request_is_one_log_line(client: TestClient, logs: Logs) -> None:
    """The log line has path, status and Google calls, but no query string and no header."""
    client.get("/sheets/x?apiKey=k1", headers={"Authorization": "Bearer k2"})

    (line,) = logs
    assert {name: line[name] for name in ("event", "method", "path", "status", "reads")} == {
        "event": "request",
        "method": "GET",
        "path": "/sheets/x",
        "status": 200,
        "reads": 1,
    }
    assert line["google_ms"] == 250
    assert "k1" not in str(line)
    assert "k2" not in str(line)


@pytest.mark.parametrize(("method", "rows"), [("GET", 3), ("HEAD", 0)])
def test_the_use_of_a_key_counts_answered_rows(client: TestClient, method: str, rows: int) -> None:
    """A GET adds the rows of its answer to the key's use; a HEAD adds no row."""
    tallies.use.clear()
    client.request(method, "/sheets/x")

    assert [counts[USE.index("rows")] for counts in tallies.use.values()] == [rows]


def test_a_url_over_its_limit_is_rejected(client: TestClient) -> None:
    """Path and query together can have 300 bytes; one more byte gets 414."""
    path = "/sheets/x?"

    answers = [client.get(path + "y" * (length - len(path))) for length in (300, 301)]

    assert [response.status_code for response in answers] == [200, 414]
    assert answers[1].json()["code"] == 4140
    assert "300 bytes" in answers[1].json()["message"]


@pytest.mark.parametrize(
    "headers", [{"X-Long": "y" * 1000}, {f"X-{n}": "y" * 9 for n in range(60)}]
)
def test_headers_over_their_limit_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    """One long header or many short headers over the size limit get 431."""
    response = client.get("/sheets/x", headers=headers)

    assert (response.status_code, response.json()["code"]) == (431, 4310)


def test_an_unexpected_error_is_hidden_from_the_client(client: TestClient, logs: Logs) -> None:
    """The client gets 500 and the request ID. The log gets the exception and its traceback."""
    response = client.get("/broken", headers={"X-Request-Id": "req-1"})

    body = response.json()
    assert (response.status_code, body["code"], body["requestId"]) == (500, 5000, "req-1")
    assert SECRET not in response.text
    assert "RuntimeError" not in response.text
    fault, line = logs
    assert (fault["event"], fault["log_level"], fault["id"]) == ("fault", "error", "req-1")
    assert str(fault["exc_info"]) == SECRET
    assert fault["exc_info"].__traceback__ is not None
    assert (line["event"], line["status"], line["code"]) == ("request", 500, 5000)


def test_an_unexpected_error_of_a_write_has_an_unknown_outcome(client: TestClient) -> None:
    """After an unexpected error, the outcome is `unknown`: the write could have been applied."""
    body = client.post("/broken").json()

    assert (body["outcome"], body["retryable"]) == ("unknown", False)


def test_gateway_errors_are_not_logged_as_faults(client: TestClient, logs: Logs) -> None:
    """A GatewayError that reaches the frame is answered with its own status and logs no fault."""
    response = client.get("/early")

    assert (response.status_code, response.json()["code"]) == (413, 4130)
    assert [line["event"] for line in logs] == ["request"]


async def test_a_disconnected_client_is_logged(logs: Logs) -> None:
    """If the client disconnects, nothing is sent, and the log line has the status `CLIENT_GONE`."""

    async def disconnected(_: Request) -> NoReturn:
        raise ClientDisconnect

    messages = await sent(Frame(disconnected, SETTINGS), make_scope())

    assert messages == []
    assert [(line["event"], line["status"]) for line in logs] == [("request", CLIENT_GONE)]


async def test_an_error_after_the_start_of_an_answer_is_only_logged(logs: Logs) -> None:
    """If sending fails after the answer has started, the log has a fault and no answer follows."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)
        raise RuntimeError(SECRET)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    await Frame(respond, SETTINGS)(make_scope(path="/sheets/x"), receive, send)

    assert [message["type"] for message in messages] == ["http.response.start"]
    assert [(line["event"], line.get("status")) for line in logs] == [
        ("fault", None),
        ("request", 200),
    ]


@pytest.mark.parametrize(
    ("method", "fails", "expected"),
    [
        pytest.param("GET", False, [b"a", b"b", b""], id="whole"),
        pytest.param("GET", True, [b"a", b"b"], id="fails"),
        pytest.param("HEAD", False, [b""], id="HEAD"),
    ],
)
async def test_a_streamed_body(logs: Logs, method: str, fails: bool, expected: list[bytes]) -> None:
    """Each part of a streamed body is one message; after a failure, no last message is sent."""

    async def made() -> AsyncGenerator[bytes]:
        yield b"a"
        yield b"b"
        if fails:
            raise RuntimeError(SECRET)

    async def streamed(_: Request) -> Answer:
        return Answer(200, (), made())

    messages = await sent(Frame(streamed, SETTINGS), make_scope(method=method))

    assert [message["body"] for message in messages[1:]] == expected
    assert [bool(message.get("more_body")) for message in messages[1:]].count(False) == (not fails)
    assert (logs[-1]["status"], logs[-1]["code"]) == (200, 5000 if fails else None)


async def test_an_interrupted_request_is_logged(logs: Logs) -> None:
    """A KeyboardInterrupt in a request is raised again after the log line is written."""

    async def cancelled(_: Request) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await sent(Frame(cancelled, SETTINGS), make_scope())

    assert [line["event"] for line in logs] == ["request"]


async def test_a_request_cancelled_at_shutdown_gets_503(logs: Logs) -> None:
    """A request that the server cancels at shutdown gets 503 with `Retry-After: 5`."""

    async def cancelled(_: Request) -> NoReturn:
        raise asyncio.CancelledError

    start, _ = await sent(Frame(cancelled, SETTINGS), make_scope())

    assert start["status"] == 503
    assert (b"retry-after", b"5") in start["headers"]
    assert [(line["event"], line["status"]) for line in logs] == [("request", 503)]


async def test_a_lifespan_is_not_logged(logs: Logs) -> None:
    """Startup and shutdown of the application write no request line to the log."""
    with TestClient(Frame(respond, SETTINGS)):
        pass

    assert logs == []


async def test_long_paths_are_cut_in_the_log(logs: Logs) -> None:
    """The log has the first 200 characters of a path, percent-encoded."""
    await sent(Frame(respond, SETTINGS), make_scope(path="/%0A" + "x" * 250))

    assert len(logs[0]["path"]) == 200
    assert "\n" not in logs[0]["path"]


def lease_of(plan: PlanSettings) -> RateLease:
    """Return the rate-limit lease of the first request of a key on this plan."""
    caller = make_caller(Grants(spreadsheets=None), plan)
    return KeyRates({"paid": plan}, ManualClock()).lease(caller)


async def framed_headers(lease: RateLease | None) -> dict[bytes, bytes]:
    """Return the headers of an answer to a request with this rate-limit lease."""

    async def respond(request: Request) -> Answer:
        request.lease = lease
        return json_answer("x")

    start, _ = await sent(Frame(respond, SETTINGS), make_scope())
    return dict(start["headers"])


async def test_an_answer_has_the_remaining_rate() -> None:
    """`RateLimit` has the remaining requests of a key, and `RateLimit-Policy` its limit."""
    lease = lease_of(PlanSettings(requests_per_minute=600))
    lease.charge(10)

    headers = await framed_headers(lease)

    assert headers[b"ratelimit"] == b'"default";r=50;t=1'
    assert headers[b"ratelimit-policy"] == b'"default";q=600;w=60'


async def test_no_ratelimit_header_without_a_rate() -> None:
    """Requests without a key, or on a plan without a rate, have no `RateLimit` header."""
    unlimited = lease_of(PlanSettings(requests_per_minute=0))

    for lease in (None, unlimited):
        assert b"ratelimit" not in await framed_headers(lease)


async def test_a_failed_request_ends_its_lease() -> None:
    """A request that fails no longer counts as concurrent, so the key can send the next request."""
    lease = lease_of(PlanSettings(max_concurrent=1))

    async def failing(request: Request) -> NoReturn:
        request.lease = lease
        lease.enter()
        with pytest.raises(TooManyInFlight):
            lease.enter()
        raise RuntimeError(SECRET)

    await sent(Frame(failing, SETTINGS), make_scope())
    lease.enter()

    with pytest.raises(TooManyInFlight):
        lease.enter()
