"""Error responses: the only module that turns an error into a response."""

from collections.abc import Collection

from gateway import errors
from gateway.telemetry.events import RequestEvent, upstream_failed
from gateway.web.answers import ALONE, Answer, header_lines, json_answer, shaped
from gateway.web.form_pages import error_page, is_browser_form
from gateway.web.idempotency import REPLAYED
from gateway.web.media_types import JSON_TEXT, PROBLEM_JSON, PROBLEM_JSON_TEXT
from gateway.web.request import Request
from gateway.web.state import State

ERROR_TYPE = "SheetsonError"
"""Value of `type` in every error, which clients compare."""

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_UPDATES = (
    "To update one row, put its rowIndex into the path. To update several rows, send PATCH with "
    "where and a JSON object, or with a JSON list of objects that each have a rowIndex."
)
_MENDS = {
    "DELETE": "This key cannot delete rows. Ask the gateway's operator for a key with this "
    "right, on a plan with deletes, or update the fields to null.",
    "PATCH": _UPDATES,
    "PUT": _UPDATES,
}
"""Advice by method, for a path that does not support the method."""
_NO_ROUTE = (
    "There is nothing at this path. Rows are at /v2/sheets/{sheetName} and "
    "/v2/sheets/{sheetName}/{rowIndex}; /docs lists all paths."
)
_BACKSLASH = "\\"
_TWO_SLASHES = " The path has two slashes in a row. Send only one."


def error_answer(request: Request, error: errors.GatewayError) -> Answer:
    """Return the answer to a failed request. Sets the error code of the request's log line."""
    event = request.event
    event.code = error.code
    if error.__cause__ is not None and error.status >= 500:
        upstream_failed(error)
    if is_browser_form(request):
        return error_page(request, error, _headers(error))
    members = error_members(error, event, request.state)
    as_problem = PROBLEM_JSON in (request.head.first(b"accept") or "").lower()
    if as_problem:
        members |= {
            "title": error.name,
            "detail": members["message"],
            "instance": f"/{event.path.removeprefix('/').replace(_BACKSLASH, '%5C')}#{event.id}",
        }
    return json_answer(
        members,
        status=error.status,
        headers=_headers(error),
        media_type=PROBLEM_JSON_TEXT if as_problem else JSON_TEXT,
    )


def error_members(
    error: errors.GatewayError, event: RequestEvent, state: State
) -> dict[str, object]:
    """Return the members of an error's JSON object, by name."""
    outcome = None if event.method in _READING else errors.write_outcome(error)
    members: dict[str, object] = {
        "type": ERROR_TYPE,
        "name": error.name,
        "code": error.code,
        # The message can quote a client's text with a lone surrogate, which UTF-8 cannot encode.
        "message": error.message.encode("utf-8", "replace").decode("utf-8"),
        "status": error.status,
        "requestId": event.id,
        "retryable": error.retryable
        and (outcome in (None, "not_applied") or isinstance(error, errors.RowsUnsettled)),
    }
    if error.problems:
        members["errors"] = [
            {"pointer": each.pointer, "detail": each.detail} for each in error.problems
        ]
    if not error.is_without_sheet:
        if isinstance(error, errors.PreconditionFailed):
            members["existing"] = shaped(error.existing, state["api"].empty_cell)
        if isinstance(error, errors.HeaderChanged | errors.RowsMoved):
            members["rowIndex"] = error.row
        if isinstance(error, errors.RowsMoved):
            for name, record in (("expected", error.expected), ("met", error.met)):
                members[name] = record and shaped(record, state["api"].empty_cell)
    if outcome is not None:
        members["outcome"] = outcome
    return members


def _headers(error: errors.GatewayError) -> dict[str, str]:
    headers = {"Cache-Control": "no-store", "Vary": "Accept"}
    if error.is_alone:
        headers["Cache-Status"] = ALONE
    if error.is_replayed:
        headers |= REPLAYED
    if isinstance(error, errors.Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, errors.PreconditionFailed):
        headers["ETag"] = error.tag
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, errors.TooManyAuthFailures):
        headers["RateLimit"] = f'"failed-keys";r=0;t={error.retry_after_seconds}'
        headers["RateLimit-Policy"] = f'"failed-keys";q={error.per_minute};w=60'
    if error.allowed_methods:
        headers["Allow"] = ", ".join(error.allowed_methods)
    return headers


def missing_method(request: Request, methods: Collection[str]) -> Answer:
    """Return the answer to `OPTIONS`. Raises MethodNotAllowed for every other method.

    `methods` are the supported methods, without `OPTIONS` and `HEAD`.
    """
    allowed = sorted({"OPTIONS", *methods, *(["HEAD"] if "GET" in methods else [])})
    method = request.event.method
    if method == "OPTIONS":
        return Answer(204, header_lines({"Allow": ", ".join(allowed)}))
    mend = _MENDS.get(method) if "POST" in methods else None
    raise errors.MethodNotAllowed(
        f"{method} is not supported at this path; allowed: "
        f"{', '.join(allowed)}.{f' {mend}' if mend else ''}",
        allowed_methods=allowed,
    )


def missing_route(request: Request) -> errors.RouteNotFound:
    """Return the error for an unknown path."""
    hint = _TWO_SLASHES if b"//" in request.scope["raw_path"] else ""
    return errors.RouteNotFound(f"{_NO_ROUTE}{hint}")
