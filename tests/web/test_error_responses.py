"""Error responses: members of the body and headers."""

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
    """Return the response to a request that failed with `error`."""
    request = make_request(make_scope(method, headers=headers or {}))
    return as_response(error_answer(request, error))


def body_of(response: Response) -> dict[str, Any]:
    """Return the JSON object in the body of a response."""
    decoded = json.loads(bytes(response.body))
    assert isinstance(decoded, dict)
    return decoded


@by_class
def test_a_failed_read_has_the_contracts_members(error: GatewayError) -> None:
    """An error of a read has the contract's members in order, and the error's own status."""
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
def test_a_failed_write_has_an_outcome(error: GatewayError) -> None:
    """An error of a write has `outcome`, and is retryable only if that is `not_applied`."""
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
    """A failed write is not retryable if its outcome is `applied` or `unknown`."""
    body = body_of(answer(UpstreamError("failed", outcome=outcome), method))

    assert (body["outcome"], body["retryable"]) == (outcome, retryable)


def test_a_repeat_whose_rows_are_unsettled_is_retryable() -> None:
    """RowsUnsettled is retryable, because the same Idempotency-Key gets the answer later."""
    error = RowsUnsettled("later", outcome="applied", retry_after_seconds=10)

    body = body_of(answer(error, "POST"))

    assert (body["outcome"], body["retryable"]) == ("applied", True)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_read_has_no_outcome(method: str) -> None:
    """An error of a read has no `outcome`, even if the exception has one."""
    body = body_of(answer(UpstreamError("failed", outcome="not_applied"), method))

    assert "outcome" not in body
    assert body["retryable"] is True


def test_problems_of_a_body_are_listed() -> None:
    """`errors` lists each problem of a body with its JSON pointer and detail."""
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
def test_problem_json_adds_the_members_of_rfc_9457(error: GatewayError, accept: str) -> None:
    """`Accept: application/problem+json` adds `title`, `detail` and `instance` to the error."""
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
    """`WWW-Authenticate` comes only with 401, `ETag` only with 412, and no error is stored."""
    headers = answer(error).headers

    assert headers.get("www-authenticate") == ("Bearer" if error.status == 401 else None)
    assert headers["cache-control"] == "no-store"
    assert "Accept" in headers["vary"]
    assert ("etag" in headers) is isinstance(error, PreconditionFailed)
    assert not {"retry-after", "allow"} & set(headers)


def test_missing_and_wrong_keys_have_two_codes() -> None:
    """A missing key has code 4010, and a wrong key has code 4011."""
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
def test_errors_set_headers(error: GatewayError, header: str, value: str) -> None:
    """Waiting times, rate limits and allowed methods of an error are sent as headers."""
    assert answer(error).headers[header] == value


def test_messages_of_google_are_not_answered() -> None:
    """The text with which Google refused a call is not in the answer."""
    assert b"secret" not in bytes(answer(UpstreamRefusal("secret"), "POST").body)


@pytest.mark.parametrize("accept", ["*/*", "application/problem+json"])
def test_a_lone_surrogate_in_a_message_is_replaced(accept: str) -> None:
    """A lone surrogate in the client's text becomes `?` in the error message."""
    response = answer(InvalidBody("no field \ud800 here"), headers={"Accept": accept})

    assert body_of(response)["message"] == "no field ? here"


def test_the_request_event_has_the_error_code() -> None:
    """The event of a request, which becomes its log line, has the code of the error."""
    request = make_request(make_scope())
    error_answer(request, InvalidBody("bad"))

    assert request.event.code == 104


@pytest.mark.parametrize(
    ("error", "is_told"),
    [(UpstreamAuth("refused"), True), (InvalidBody("bad"), False)],
    ids=["upstream", "client"],
)
def test_the_cause_of_an_upstream_error_is_logged(error: GatewayError, is_told: bool) -> None:
    """The log has the cause of an error of Google. A client's mistake is not logged."""
    error.__cause__ = OSError("no route")

    with capture_logs() as logs:
        answer(error)

    told = [line for line in logs if line["event"] == "upstream-failed"]
    assert bool(told) is is_told


def test_a_replayed_error_is_marked() -> None:
    """Only an error that repeats an earlier answer has `Idempotent-Replayed: true`."""
    replayed = InvalidBody("what to do")
    replayed.is_replayed = True

    assert answer(replayed, "POST").headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in answer(InvalidBody("what to do"), "POST").headers
