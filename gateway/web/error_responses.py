"""Error responses: the only place where an error becomes a response."""

from collections.abc import Sequence

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.errors import (
    GatewayError,
    HeaderChanged,
    MethodNotAllowed,
    PreconditionFailed,
    Problem,
    RouteNotFound,
    RowsMoved,
    RowsUnsettled,
    TooManyAuthFailures,
    Unauthorized,
    write_outcome,
)
from gateway.telemetry.events import current_event, upstream_failed
from gateway.web.answers import ALONE, shaped
from gateway.web.idempotency import REPLAYED
from gateway.web.media_types import JSON_TEXT, PROBLEM_JSON, PROBLEM_JSON_TEXT

ERROR_TYPE = "SheetsonError"
"""Clients of this API compare `type` with it."""

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_UPDATES = (
    "PUT and PATCH update a row: put its rowIndex into the path. To update several rows, send "
    "PATCH with where and an object, or with a JSON list of objects, each with its rowIndex."
)
_MENDS = {
    "DELETE": "Rows cannot be deleted with this key: ask the operator for one made with --delete, "
    "on a plan with deletes, or empty their cells with an update of nulls.",
    "PATCH": _UPDATES,
    "PUT": _UPDATES,
}
"""Alternatives to methods that are not row operations."""
_NO_ROUTE = (
    "There is nothing at this path. Rows are at /v2/sheets/{sheetName} and "
    "/v2/sheets/{sheetName}/{rowIndex}; /docs tells the rest."
)
_TWO_SLASHES = " This path has two slashes together, which stand for nothing: send one."


async def on_gateway_error(request: Request, error: Exception) -> Response:
    """Exception handler of the error tree."""
    if not isinstance(error, GatewayError):
        raise error
    return error_response(request, error)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Exception handler of the framework's refusals."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 405 and request.method == "OPTIONS":
        return Response(status_code=204, headers={"Allow": ", ".join(_allowed_methods(request))})
    return error_response(request, _from_framework(request, error))


def error_response(request: Request, error: GatewayError) -> Response:
    event = current_event()
    request_id = event.request_id if event else ""
    if event is not None:
        event.error_code = error.code
    if error.__cause__ is not None and error.status >= 500:
        upstream_failed(error)
    as_problem = PROBLEM_JSON in request.headers.get("accept", "").lower()
    outcome = None if request.method in _READING else write_outcome(error)
    # A client's text in the message may contain a lone surrogate.
    message = error.message.encode("utf-8", "replace").decode("utf-8")
    body: dict[str, object] = {
        "type": ERROR_TYPE,
        "name": error.name,
        "code": error.code,
        "message": message,
        "status": error.status,
        "requestId": request_id,
        "retryable": error.retryable
        and (outcome in (None, "not_applied") or isinstance(error, RowsUnsettled)),
    }
    if error.problems:
        body["errors"] = [_problem(problem) for problem in error.problems]
    if isinstance(error, PreconditionFailed):
        body["existing"] = shaped(error.existing, request.state["api"].empty_cell)
    if isinstance(error, HeaderChanged | RowsMoved):
        body["rowIndex"] = error.row
    if isinstance(error, RowsMoved):
        empty_cell = request.state["api"].empty_cell
        for name, record in (("expected", error.expected), ("met", error.met)):
            body[name] = record and shaped(record, empty_cell)
    if outcome is not None:
        body["outcome"] = outcome
    if as_problem:
        body |= {
            "title": error.name,
            "detail": message,
            "instance": _instance(request, request_id),
        }
    return Response(
        msgspec.json.encode(body),
        status_code=error.status,
        headers=_headers(error),
        media_type=PROBLEM_JSON_TEXT if as_problem else JSON_TEXT,
    )


def _instance(request: Request, request_id: str) -> str:
    return f"{request.url.path}#{request_id}"


def _problem(problem: Problem) -> dict[str, str]:
    return {"pointer": problem.pointer, "detail": problem.detail}


def _headers(error: GatewayError) -> dict[str, str]:
    headers = {"Cache-Control": "no-store", "Vary": "Accept"}
    if error.is_alone:
        headers["Cache-Status"] = ALONE
    if error.is_replayed:
        headers |= REPLAYED
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, PreconditionFailed):
        headers["ETag"] = error.tag
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, TooManyAuthFailures):
        headers["RateLimit"] = f'"failed-keys";r=0;t={error.retry_after_seconds}'
        headers["RateLimit-Policy"] = f'"failed-keys";q={error.per_minute};w=60'
    if error.allowed_methods:
        headers["Allow"] = ", ".join(error.allowed_methods)
    return headers


def _from_framework(request: Request, error: HTTPException) -> GatewayError:
    if error.status_code == 405:
        allowed = _allowed_methods(request)
        mend = _MENDS.get(request.method) if "POST" in allowed else None
        return MethodNotAllowed(
            f"{request.method} is not an operation here; allowed: {', '.join(allowed)}."
            f"{f' {mend}' if mend else ''}",
            allowed_methods=allowed,
        )
    if error.status_code == 404:
        hint = _TWO_SLASHES if b"//" in request.scope["raw_path"] else ""
        return RouteNotFound(f"{_NO_ROUTE}{hint}")
    raise error


def _allowed_methods(request: Request) -> Sequence[str]:
    """Methods of all listed routes of this path; the framework reports only the first route's."""
    methods = {"OPTIONS"}
    for route in request.app.routes:
        is_listed = isinstance(route, Route) and route.include_in_schema
        if is_listed and route.path_regex.match(request.scope["path"]):
            methods |= route.methods or set()
    return sorted(methods)
