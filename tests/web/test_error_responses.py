"""Errors as responses: the contract's members, headers and nothing else."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.responses import Response
from structlog.testing import capture_logs

from gateway.errors import (
    CreateOnlyKey,
    GatewayError,
    HeaderChanged,
    InternalError,
    InvalidApiKey,
    InvalidBody,
    LookOutdated,
    MethodNotAllowed,
    MissingApiKey,
    Outcome,
    PreconditionFailed,
    Problem,
    QuotaSpent,
    RowNumberUnknown,
    RowsMoved,
    RowsUnsettled,
    SpreadsheetNotFound,
    TooManyAuthFailures,
    UnknownField,
    UpstreamAuth,
    UpstreamError,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.web.error_responses import error_answer
from tests.error_tree import concrete_errors
from tests.web.requests import as_response, make_request, make_scope

GUESSER = TooManyAuthFailures("wait", retry_after_seconds=3, per_minute=20)
MEMBERS = ["type", "name", "code", "message", "status", "requestId", "retryable"]


EXISTING = {"rowIndex": 2, "name": "Boston", "state": None}

OWN_WORDS: Mapping[type[GatewayError], GatewayError] = {
    PreconditionFailed: PreconditionFailed(EXISTING, tag='"now"'),
    LookOutdated: LookOutdated(retry_after_seconds=None),
    RowsMoved: RowsMoved("what to do", row=2, expected=EXISTING, met=None),
    SpreadsheetNotFound: SpreadsheetNotFound(),
    CreateOnlyKey: CreateOnlyKey(),
    UnknownField: UnknownField("what to do", parameter="order"),
    UpstreamRefusal: UpstreamRefusal("Invalid value at A1: secret"),
}
ERRORS = [OWN_WORDS.get(error) or error("what to do") for error in concrete_errors()]
by_class = pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)


def answer(
    error: GatewayError, method: str = "GET", headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to a request that met this error."""
    request = make_request(make_scope(method, headers=headers or {}))
    return as_response(error_answer(request, error))


def body_of(response: Response) -> dict[str, Any]:
    """The JSON object of a response."""
    decoded = json.loads(bytes(response.body))
    assert isinstance(decoded, dict)
    return decoded


@by_class
def test_a_failed_read_has_the_contracts_members(error: GatewayError) -> None:
    """Every error has the same members in the same order, and its own status."""
    response = answer(error)

    body = body_of(response)
    existing: dict[str, object] = {}
    if isinstance(error, PreconditionFailed):
        existing = {"existing": EXISTING}
    elif isinstance(error, HeaderChanged):
        existing = {"rowIndex": error.row}
    elif isinstance(error, RowsMoved):
        existing = {"rowIndex": 2, "expected": EXISTING, "met": None}
    assert list(body) == [*MEMBERS, *existing]
    assert body == existing | {
        "type": "SheetsonError",
        "name": error.name,
        "code": error.code,
        "message": error.message,
        "status": error.status,
        "requestId": "req-1",
        "retryable": error.retryable,
    }
    assert response.status_code == error.status
    assert response.headers["content-type"] == "application/json; charset=utf-8"


@by_class
def test_a_failed_write_tells_its_outcome(error: GatewayError) -> None:
    """A write's error says whether it was applied, and is retryable only if it was not."""
    expected = "not_applied"
    if isinstance(error, InternalError | WriteOutcomeUnknown):
        expected = "unknown"
    elif isinstance(error, HeaderChanged | RowNumberUnknown | RowsMoved):
        expected = "applied"

    body = body_of(answer(error, "POST"))

    own = ("existing", "rowIndex", "expected", "met")
    assert [name for name in body if name not in own] == [*MEMBERS, "outcome"]
    assert body["outcome"] == expected
    assert body["retryable"] is (error.retryable and expected == "not_applied")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("outcome", "retryable"), [("not_applied", True), ("applied", False), ("unknown", False)]
)
def test_an_outcome_decides_whether_a_write_is_retryable(
    method: str, outcome: Outcome, retryable: bool
) -> None:
    """Writes that were or may have been applied must not be repeated."""
    body = body_of(answer(UpstreamError("failed", outcome=outcome), method))

    assert (body["outcome"], body["retryable"]) == (outcome, retryable)


def test_a_repeat_whose_rows_are_unsettled_is_retryable() -> None:
    """Its write was applied, and the same Idempotency-Key gets the answer later."""
    error = RowsUnsettled("later", outcome="applied", retry_after_seconds=10)

    body = body_of(answer(error, "POST"))

    assert (body["outcome"], body["retryable"]) == ("applied", True)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_read_has_no_outcome(method: str) -> None:
    """Errors of reads have no outcome, even those that know one."""
    body = body_of(answer(UpstreamError("failed", outcome="not_applied"), method))

    assert "outcome" not in body
    assert body["retryable"] is True


def test_places_are_listed() -> None:
    """Each problem of a body has its pointer and detail."""
    problems = [Problem("#/a", "wrong"), Problem("#/b", "also")]

    body = body_of(answer(InvalidBody("bad", problems=problems), "POST"))

    assert list(body) == [*MEMBERS, "errors", "outcome"]
    assert body["errors"] == [
        {"pointer": "#/a", "detail": "wrong"},
        {"pointer": "#/b", "detail": "also"},
    ]


@pytest.mark.parametrize(
    "accept", ["application/problem+json", "application/json, application/problem+json;q=0.9"]
)
@by_class
def test_problem_json_is_given_to_who_asks(error: GatewayError, accept: str) -> None:
    """RFC 9457's members come on top, under its content type."""
    response = answer(error, headers={"Accept": accept})

    body = body_of(response)
    members = [name for name in body if name not in ("existing", "rowIndex", "expected", "met")]
    assert members == [*MEMBERS, "title", "detail", "instance"]
    assert (body["title"], body["detail"]) == (error.name, error.message)
    assert body["instance"] == "/v2/sheets/Cities#req-1"
    assert body["type"] == "SheetsonError"
    assert response.headers["content-type"] == "application/problem+json; charset=utf-8"


@by_class
def test_headers_follow_the_error(error: GatewayError) -> None:
    """A challenge comes with 401 only, nothing is stored, and no empty header is sent."""
    headers = answer(error).headers

    assert headers.get("www-authenticate") == ("Bearer" if error.status == 401 else None)
    assert headers["cache-control"] == "no-store"
    assert "Accept" in headers["vary"]
    assert ("etag" in headers) is isinstance(error, PreconditionFailed)
    assert not {"retry-after", "allow"} & set(headers)


def test_the_two_401_differ() -> None:
    """A missing and a wrong key have codes of their own."""
    codes = [body_of(answer(error))["code"] for error in (MissingApiKey("m"), InvalidApiKey("i"))]

    assert codes == [4010, 4011]


@pytest.mark.parametrize(
    ("error", "header", "value"),
    [
        (QuotaSpent("later", retry_after_seconds=30), "retry-after", "30"),
        (QuotaSpent("now", retry_after_seconds=0), "retry-after", "0"),
        (WriteOutcomeUnknown("?", retry_after_seconds=185), "retry-after", "185"),
        (GUESSER, "retry-after", "3"),
        (GUESSER, "ratelimit", '"failed-keys";r=0;t=3'),
        (GUESSER, "ratelimit-policy", '"failed-keys";q=20;w=60'),
        (MethodNotAllowed("no", allowed_methods=["GET", "POST"]), "allow", "GET, POST"),
    ],
    ids=["wait", "no wait", "unknown outcome", "guesser", "spent", "policy", "methods"],
)
def test_what_an_error_brings_becomes_a_header(
    error: GatewayError, header: str, value: str
) -> None:
    """Waiting times and allowed methods stand in their headers."""
    assert answer(error).headers[header] == value


def test_google_s_own_words_stay_inside() -> None:
    """A refusal of Google's is in the log, not in the answer."""
    assert b"secret" not in bytes(answer(UpstreamRefusal("secret"), "POST").body)


@pytest.mark.parametrize("accept", ["*/*", "application/problem+json"])
def test_a_message_may_contain_a_lone_surrogate(accept: str) -> None:
    """A client's own text cannot keep its error from being written."""
    response = answer(InvalidBody("no field \ud800 here"), headers={"Accept": accept})

    assert body_of(response)["message"] == "no field ? here"


def test_the_event_notes_the_code() -> None:
    """The line of the request has the code of its error."""
    request = make_request(make_scope())
    error_answer(request, InvalidBody("bad"))

    assert request.event.code == 104


@pytest.mark.parametrize(
    ("error", "is_told"),
    [(UpstreamAuth("refused"), True), (InvalidBody("bad"), False)],
    ids=["upstream", "client"],
)
def test_the_log_keeps_what_lies_behind(error: GatewayError, is_told: bool) -> None:
    """The cause of an upstream's error is logged; a client's mistake is not."""
    error.__cause__ = OSError("no route")

    with capture_logs() as logs:
        answer(error)

    told = [line for line in logs if line["event"] == "upstream-failed"]
    assert bool(told) is is_told


def test_an_error_given_again_is_marked() -> None:
    """Only that one."""
    replayed = InvalidBody("what to do")
    replayed.is_replayed = True

    assert answer(replayed, "POST").headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in answer(InvalidBody("what to do"), "POST").headers
