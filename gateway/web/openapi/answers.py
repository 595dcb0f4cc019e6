"""Answers in the document: response headers, and the errors of each operation.

Rules: descriptions of errors come from their classes, examples from `gateway.web.error_responses`.
Every error with a code is here, unless no operation of the document can return it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Literal, cast, get_args

from gateway import errors
from gateway.errors import GatewayError, Outcome
from gateway.settings.model import ApiSettings
from gateway.telemetry.events import RequestEvent, RequestKind
from gateway.web.error_responses import ERROR_TYPE, error_members
from gateway.web.media_types import HTML, PROBLEM_JSON
from gateway.web.openapi.schemas import COUNT, RECORD, TEXT, Node, Nodes, object_of, ref
from gateway.web.operations import OPERATIONS
from gateway.web.state import State

OperationKind = RequestKind | Literal["health", "change"]
"""Operations of the document: one for each path and method, with all forms of the operation."""
KINDS: Mapping[OperationKind, Sequence[RequestKind]] = {
    "list": ["list", "export"],
    "read": ["read"],
    "create": ["create", "upsert"],
    "update": ["update"],
    "change": ["update_rows", "update_where"],
    "delete": ["delete"],
    "delete_where": ["delete_where"],
    "refresh": ["refresh"],
    "worksheets": ["worksheets"],
    "schema": ["schema"],
}
"""Lines of the table of operations."""

PAGE: Node = {HTML: {"schema": TEXT}}
"""Content of an answer to a form as a browser sends it."""


def header(description: str, schema: Node = TEXT, **more: object) -> Node:
    return {"description": description, **more, "schema": schema}


HEADERS: Nodes = {
    "Age": header("Seconds since the rows were read from Google.", COUNT),
    "Allow": header("The methods that this path supports."),
    "Cache-Status": header(
        "Whether the rows came from memory or were read from Google (RFC 9211)."
    ),
    "ETag": header(
        "Tag of this state of the answer or row. Send it back in `If-None-Match` or `If-Match`.",
        {"type": "string", "pattern": '^(W/)?"[!#-~]*"$'},
    ),
    "Idempotent-Replayed": header(
        "`true`: an earlier request with this Idempotency-Key was carried out, and this is its "
        "answer.",
        {"const": "true"},
    ),
    "Link": header(
        'Other pages of the list, relative to it: `<?…>; rel="next"`, with `skip` also `first` and '
        "`prev` (RFC 8288)."
    ),
    "Location": header("Path of the new row.", {"type": "string", "format": "uri-reference"}),
    "RateLimit": header(
        "Requests that the key may send now (`r`), and seconds until it may send more (`t`)."
    ),
    "RateLimit-Policy": header("Requests that the key may send (`q`) in a window of `w` seconds."),
    "Retry-After": header("Seconds to wait before the request is sent again.", COUNT),
    "Server-Timing": header("Milliseconds that Google took."),
    "WWW-Authenticate": header("How keys are sent: `Bearer`."),
    "X-Ignored-Fields": header("Fields of the body that the worksheet does not have."),
    "X-Request-Id": header(
        "ID of this request in the gateway's log. An ID that you send is kept if it has 1 to "
        "64 letters, digits, `.`, `_` and `-`.",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
        required=True,
    ),
    "X-Total-Count": header("How many rows match: with `count=true`, and of exports.", COUNT),
}
OF_ALL = ("X-Request-Id", "Server-Timing")
OF_KEYS = (*OF_ALL, "RateLimit", "RateLimit-Policy")
OF_READS = (*OF_KEYS, "ETag", "Age", "Cache-Status")
OF_LISTS = (*OF_READS, "Link", "X-Total-Count")
OF_UPDATES = (*OF_KEYS, "ETag", "Idempotent-Replayed")
OF_CREATES = (*OF_UPDATES, "Location")
OF_MANY = (*OF_KEYS, "Idempotent-Replayed")
_OF_STATUSES: Mapping[int, Sequence[str]] = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    412: ("ETag",),
    **dict.fromkeys((409, 429, 503, 504), ("Retry-After",)),
}
"""Additional headers of errors."""


def header_references(names: Iterable[str]) -> Node:
    return {name: ref(name, "headers") for name in names}


ERROR, PROBLEM, _MISTAKE = "Error", "Problem", "Mistake"
_SCHEMAS: Nodes = {
    ERROR: object_of(
        {
            "type": {"const": ERROR_TYPE},
            "name": TEXT,
            "code": {"type": "integer"},
            "message": TEXT,
            "status": {"type": "integer", "description": "The status of the answer."},
            "requestId": {
                "type": "string",
                "description": "ID of the request in the gateway's log: give it to the operator.",
            },
            "retryable": {
                "type": "boolean",
                "description": "Whether the same request may safely be repeated, and may succeed.",
            },
            "errors": {
                "type": "array",
                "description": "Errors of the body, each with its place.",
                "items": ref(_MISTAKE),
            },
            "outcome": {
                "enum": [*get_args(Outcome)],
                "description": (
                    "Outcome of a write. With `unknown`, look at the worksheet before "
                    "you send it again."
                ),
            },
            "rowIndex": {
                "type": "integer",
                "description": "With codes 4091 and 4095, the first row written.",
            },
            "existing": {"description": "With code 4120, the current row.", "allOf": [ref(RECORD)]},
            "expected": {
                "description": "With code 4095, the record that the gateway looked at.",
                "allOf": [ref(RECORD)],
            },
            "met": {
                "description": (
                    "With code 4095, the record that was changed or removed; null if it is not "
                    "known."
                ),
                "anyOf": [ref(RECORD), {"type": "null"}],
            },
            "title": TEXT,
            "detail": TEXT,
            "instance": TEXT,
        },
        ["type", "name", "code", "message", "status", "requestId", "retryable"],
        about="An error. Programs should use `code`, which never changes its meaning; `message` "
        "says what is wrong and how to correct it.",
    ),
    _MISTAKE: object_of(
        {"pointer": {"type": "string", "description": "A JSON pointer: `#/name`."}, "detail": TEXT}
    ),
    PROBLEM: {
        "description": "The error in the form of RFC 9457, for `Accept: application/problem+json`.",
        "allOf": [ref(ERROR)],
        "required": ["title", "detail", "instance"],
    },
}

_Errors = tuple[type[GatewayError], ...]
_OF_HTTP: _Errors = (
    *(errors.InvalidRequest, errors.RequestTimeout, errors.UriTooLong, errors.HeadersTooLarge),
    *(errors.InternalError, errors.QueueFull, errors.ShuttingDown),
)
_OF_KEYS: _Errors = (
    *(errors.MissingApiKey, errors.InvalidApiKey, errors.AmbiguousCredentials),
    *(errors.InvalidSpreadsheetId, errors.InvalidPath, errors.RouteNotFound),
    *(errors.OriginNotAllowed, errors.NotGranted, errors.PlanLimit, errors.CreateOnlyKey),
    *(errors.SpreadsheetNotFound, errors.SpreadsheetNotShared, errors.UnsupportedDocument),
    *(errors.WorksheetNotFound, errors.NoHeaderRow, errors.SheetTooLarge),
    *(errors.RateLimited, errors.TooManyInFlight, errors.TooManyAuthFailures),
    errors.KeysUnavailable,
)
_OF_GOOGLE: _Errors = (
    *(errors.UpstreamError, errors.UpstreamRefusal, errors.UpstreamUnreachable),
    *(errors.UpstreamAuth, errors.QuotaSpent, errors.CircuitOpen, errors.UpstreamTimeout),
)
_OF_ROWS = (_OF_HTTP, _OF_KEYS, _OF_GOOGLE)
_OF_READS: _Errors = (errors.InvalidQuery, errors.NotFresh)
_OF_ROW: _Errors = (errors.RowNotFound,)
_OF_WRITERS: _Errors = (errors.KeyNotAllowedInUrl, errors.ReadOnlyKey)
_OF_BODIES: _Errors = (errors.InvalidBody, errors.BodyTooLarge, errors.UnsupportedMediaType)
_OF_RECORDS: _Errors = (
    *(errors.InvalidIdempotencyKey, errors.IdempotencyInProgress, errors.IdempotencyKeyReused),
    *(errors.HeaderChanged, errors.RowNumberUnknown, errors.ProtectedCells),
    *(errors.WriteOutcomeUnknown, errors.RecordsUnavailable, errors.LookOutdated),
    *(errors.RowsUnsettled, errors.MetadataFull, errors.WriteTooLarge, errors.StorageFull),
)
_OF_WRITES = (_OF_WRITERS, _OF_BODIES, _OF_RECORDS)
_OF_MOVES: _Errors = (errors.RowsMoved,)
_OF_CONDITIONS: _Errors = (errors.PreconditionFailed, errors.PreconditionRequired)
_OF_UPSERTS: _Errors = (errors.InvalidQuery, errors.DuplicateKey)
_OF_FORMS: _Errors = (errors.ChallengeFailed, errors.ChallengeUnavailable)
_OF_FILTERS: _Errors = (
    *(errors.InvalidQuery, errors.UnknownField, errors.TooManyRowsAffected),
    *(errors.QueryTooCostly, errors.PreconditionRequired),
)
_OF_DELETES = (_OF_WRITERS, _OF_RECORDS, (errors.MethodNotAllowed, errors.RowNotRemovable))
_OF_PARAMETERS: _Errors = (errors.InvalidQuery,)

FAILURES: Mapping[OperationKind, Sequence[_Errors]] = {
    "health": (_OF_HTTP,),
    "list": (*_OF_ROWS, _OF_READS, (errors.UnknownField, errors.QueryTooCostly, errors.CursorLost)),
    "read": (*_OF_ROWS, _OF_READS, _OF_ROW),
    "create": (
        *(*_OF_ROWS, *_OF_WRITES, _OF_UPSERTS, _OF_MOVES, _OF_FORMS),
        (errors.PreconditionRequired,),
    ),
    "update": (*_OF_ROWS, _OF_ROW, *_OF_WRITES, _OF_CONDITIONS, _OF_MOVES, _OF_PARAMETERS),
    "change": (*_OF_ROWS, _OF_ROW, *_OF_WRITES, _OF_FILTERS, _OF_MOVES, (errors.MethodNotAllowed,)),
    "delete": (*_OF_ROWS, _OF_ROW, *_OF_DELETES, _OF_CONDITIONS, _OF_MOVES, _OF_PARAMETERS),
    "delete_where": (*_OF_ROWS, *_OF_DELETES, _OF_FILTERS, _OF_MOVES),
    "refresh": (_OF_HTTP, _OF_KEYS, _OF_PARAMETERS),
    **dict.fromkeys(("worksheets", "schema"), (*_OF_ROWS, _OF_PARAMETERS)),
}
"""Groups of errors. Operations with the same groups for a status have one answer for it."""
WRITES: frozenset[OperationKind] = frozenset(
    kind for kind, lines in KINDS.items() if "GET" not in OPERATIONS[lines[0]].methods
)
"""Operations whose errors have an outcome."""


@lru_cache(len(FAILURES))
def by_status(kind: OperationKind) -> Mapping[int, Sequence[type[GatewayError]]]:
    """The errors of an operation by status."""
    found = dict.fromkeys(chain.from_iterable(FAILURES[kind]))
    statuses = sorted({error.status for error in found})
    return {status: [each for each in found if each.status == status] for status in statuses}


def error_references(kind: OperationKind, *, has_pages: bool = False) -> Node:
    """The error answers of an operation, by status."""
    return {
        str(status): ref(_answer_name(kind, status, has_pages), "responses")
        for status in by_status(kind)
    }


def error_name(kind: OperationKind, status: int) -> str:
    """The schema's name of errors with this status."""
    return f"{_shared_by(kind, status).title().replace('_', '')}{status}Error"


def error_answer(kind: OperationKind, status: int, *, has_pages: bool = False) -> Node:
    """The answer with a status: its possible codes, and an example of each."""
    found = by_status(kind)[status]
    headers = (
        *(OF_ALL if kind == "health" else OF_KEYS),
        *_OF_STATUSES.get(status, ()),
        *(["Idempotent-Replayed"] if kind in WRITES else []),
    )
    examples = {error.__name__: ref(_example_name(kind, error), "examples") for error in found}
    return {
        "description": "\n".join(f"- `{error.code}` {error.description()}" for error in found),
        "headers": header_references(headers),
        "content": {
            "application/json": {"schema": ref(error_name(kind, status)), "examples": examples},
            PROBLEM_JSON: {"schema": ref(PROBLEM)},
            **(PAGE if has_pages else {}),
        },
    }


@lru_cache(4)
def error_components(
    kinds: tuple[OperationKind, ...], *, has_pages: bool = False
) -> Mapping[str, Nodes]:
    """Schemas, responses and examples of the errors of these operations.

    `has_pages`: creates may be forms, whose errors are pages.
    """
    schemas, responses, examples = {**_SCHEMAS}, dict[str, Node](), dict[str, Node]()
    for kind in kinds:
        is_form = has_pages and kind == "create"
        for status, found in by_status(kind).items():
            examples |= {_example_name(kind, each): _example(kind, each) for each in found}
            name = _answer_name(kind, status, is_form)
            if name not in responses:
                responses[name] = error_answer(kind, status, has_pages=is_form)
                names, codes = {error.name for error in found}, {error.code for error in found}
                values: dict[str, Sequence[object]] = {"name": sorted(names), "code": sorted(codes)}
                values["status"] = [status]
                sure: Node = {"properties": {key: {"enum": each} for key, each in values.items()}}
                outcome = {"required": ["outcome"]} if kind in WRITES else {}
                schemas[error_name(kind, status)] = {"allOf": [ref(ERROR), {**sure, **outcome}]}
    return {"schemas": schemas, "responses": responses, "examples": examples}


@lru_cache(None)
def _shared_by(kind: OperationKind, status: int) -> OperationKind:
    """The first operation with the same answer for this status."""

    def groups(kind: OperationKind) -> tuple[bool, Sequence[_Errors]]:
        have = [group for group in FAILURES[kind] if any(each.status == status for each in group)]
        return kind in WRITES, have

    if kind == "health":
        return kind
    return next(each for each in FAILURES if each != "health" and groups(each) == groups(kind))


def _answer_name(kind: OperationKind, status: int, has_pages: bool) -> str:
    return f"{'submit' if has_pages else _shared_by(kind, status)}{status}"


def _example_name(kind: OperationKind, error: type[GatewayError]) -> str:
    return f"{error.__name__}{'OfWrite' if kind in WRITES else ''}"


_BO: Node = {"rowIndex": 7, "nickname": "Bo"}
_DETAILED: Mapping[type[GatewayError], GatewayError] = {
    type(error): error
    for error in (
        errors.SpreadsheetNotFound(),
        errors.CreateOnlyKey(),
        errors.UpstreamRefusal(""),
        errors.LookOutdated(),
        errors.UnknownField(parameter="where"),
        errors.InvalidBody(
            problems=[errors.Problem("#/nickname", "The worksheet has no such field.")]
        ),
        errors.HeaderChanged(row=7),
        errors.RowsUnsettled(outcome="applied"),
        errors.RowsMoved(row=7, expected=_BO, met={"rowIndex": 7, "nickname": "Al"}),
        errors.PreconditionFailed(_BO, tag='"MCG4Q9Mz6dBvSVhY"'),
    )
}


def _example(kind: OperationKind, error: type[GatewayError]) -> Node:
    """The gateway's answer with this error, with a made-up request ID."""
    event = RequestEvent("0f3c6a1de8b2457f", "POST" if kind in WRITES else "GET", "")
    met = _DETAILED.get(error) or error()
    members = error_members(met, event, cast(State, {"api": ApiSettings()}))
    return {"summary": f"{error.code} {error.name}", "value": members}
