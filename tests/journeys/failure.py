"""Check that an error answer has the JSON shape that all errors have."""

import re
from collections.abc import Mapping
from typing import Any, Protocol

NAMES: Mapping[int, str] = {
    101: "SpreadsheetIdNotFound",
    102: "NoHeaderRow",
    103: "RowNotFound",
    104: "InvalidBody",
    105: "WorksheetNotFound",
    4000: "InvalidRequest",
    4001: "AmbiguousCredentials",
    4002: "InvalidQuery",
    4003: "InvalidPath",
    4004: "InvalidIdempotencyKey",
    4005: "TooManyRowsAffected",
    4006: "QueryTooCostly",
    4010: "MissingApiKey",
    4011: "InvalidApiKey",
    4012: "KeyNotAllowedInUrl",
    4031: "OriginNotAllowed",
    4032: "NotGranted",
    4033: "ProtectedCells",
    4034: "PlanLimit",
    4036: "CreateOnlyKey",
    4037: "ChallengeFailed",
    4040: "RouteNotFound",
    4050: "ReadOnlyKey",
    4051: "MethodNotAllowed",
    4080: "RequestTimeout",
    4090: "IdempotencyInProgress",
    4091: "HeaderChanged",
    4092: "DuplicateKey",
    4093: "RowNotRemovable",
    4094: "RowNumberUnknown",
    4095: "RowsMoved",
    4100: "Gone",
    4101: "CursorLost",
    4120: "PreconditionFailed",
    4130: "BodyTooLarge",
    4132: "SheetTooLarge",
    4133: "WriteTooLarge",
    4140: "UriTooLong",
    4150: "UnsupportedMediaType",
    4220: "IdempotencyKeyReused",
    4221: "UnsupportedDocument",
    4280: "PreconditionRequired",
    4290: "RateLimited",
    4291: "TooManyInFlight",
    4292: "TooManyAuthFailures",
    4310: "HeadersTooLarge",
    5000: "InternalError",
    5020: "UpstreamError",
    5021: "UpstreamError",
    5022: "UpstreamAuth",
    5030: "TemporarilyUnavailable",
    5031: "TemporarilyUnavailable",
    5032: "TemporarilyUnavailable",
    5034: "MetadataFull",
    5040: "UpstreamTimeout",
    5041: "WriteOutcomeUnknown",
    5070: "StorageFull",
}

_ALWAYS = {
    "type": str,
    "name": str,
    "code": int,
    "message": str,
    "status": int,
    "requestId": str,
    "retryable": bool,
}
_SOMETIMES = {"errors": list, "existing": dict, "rowIndex": int, "outcome": str}
_OUTCOMES = {None, "not_applied", "applied", "unknown"}


READABLE = {"X-Request-Id", "Retry-After", "RateLimit", "RateLimit-Policy", "ETag", "Location"}
"""Headers that pages of other origins may read."""


class Answer(Protocol):
    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes: ...
    def json(self) -> Any: ...


def refused(answer: Answer) -> tuple[int, int]:
    """Status and code of an error; fails if its body is not exactly of the contract's form."""
    body: dict[str, Any] = answer.json()
    form = {**_ALWAYS, **{name: _SOMETIMES[name] for name in _SOMETIMES if name in body}}
    code: int = body["code"]

    assert {name: type(value) for name, value in body.items()} == form
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert (body["type"], body["name"]) == ("SheetsonError", NAMES[code])
    assert body["status"] == answer.status_code
    assert body["requestId"] == answer.headers["x-request-id"]
    assert len(body["message"]) > 20
    assert body.get("outcome") in _OUTCOMES
    assert ("existing" in body) == (code == 4120)
    assert ("rowIndex" in body) == (code == 4091)
    for problem in body.get("errors", [{"pointer": "#", "detail": "none"}]):
        assert set(problem) == {"pointer", "detail"}
        assert problem["pointer"].startswith("#")
        assert problem["detail"]
    return answer.status_code, code


def anonymous(answer: Answer) -> bytes:
    """The body without its request id, to compare answers byte for byte."""
    return answer.content.replace(answer.headers["x-request-id"].encode(), b"")


def without_cursors(text: str) -> str:
    """A text with the lengths of its cursors, which are sealed for one key and worksheet."""
    return re.sub(r"cursor=([\w-]+)", lambda cursor: f"cursor of {len(cursor[1])}", text)


def is_open(headers: Any) -> bool:
    """True if a page of any origin may read the answer, and no cookie would be sent for it."""
    exposed = set(headers.get("access-control-expose-headers", "").split(", "))
    return (
        headers.get("access-control-allow-origin") == "*"
        and exposed >= READABLE
        and "Origin" in headers["vary"].split(", ")
        and "access-control-allow-credentials" not in headers
    )
