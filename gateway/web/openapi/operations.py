"""Operations of the OpenAPI document, with their answers.

Rules
- Rights and parameters come from the table `OPERATIONS`. In this module an operation is a path with
  a method, for which the table can have several lines.
- Descriptions of errors come from their classes, examples from `gateway.web.error_responses`. Every
  error with a code is here, unless no operation of the document can return the error.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Literal, NamedTuple, cast, get_args

from gateway import errors
from gateway.errors import GatewayError, Outcome
from gateway.settings.model import ApiSettings
from gateway.table.header import ROW_INDEX
from gateway.telemetry.events import RequestEvent, RequestKind
from gateway.web.error_responses import ERROR_TYPE, error_members
from gateway.web.exports import ROWS_PER_REQUEST
from gateway.web.media_types import CSV, FORM, HTML, JSON, NDJSON, PROBLEM_JSON
from gateway.web.openapi import parameters
from gateway.web.openapi.reach import Place, Reach
from gateway.web.openapi.schemas import (
    COUNT,
    MATCHES,
    RECORD,
    SCHEMA,
    TEXT,
    WORKSHEETS,
    Node,
    Nodes,
    list_of,
    object_of,
    ref,
)
from gateway.web.operations import OPERATIONS
from gateway.web.prefer import PREFERENCE_APPLIED
from gateway.web.signature import KEY_PARAMETER
from gateway.web.state import State

OperationKind = RequestKind | Literal["health", "change"]
"""Names of the document's operations, one for each path and method."""
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
"""Names of the lines in the table `OPERATIONS` for each operation of the document."""

PAGE: Node = {HTML: {"schema": TEXT}}
"""Content of an HTML answer to a browser's form."""


def header(description: str, schema: Node = TEXT, **more: object) -> Node:
    return {"description": description, **more, "schema": schema}


HEADERS: Nodes = {
    "Age": header("Seconds since the rows were read from Google.", COUNT),
    "Allow": header("The methods that this path supports."),
    "Cache-Status": header(
        "Whether the rows came from the gateway's cache or from Google (RFC 9211)."
    ),
    "ETag": header(
        "Version of the answer or row. Send it in `If-None-Match` to read, or in `If-Match` to "
        "write.",
        {"type": "string", "pattern": '^(W/)?"[!#-~]*"$'},
    ),
    "Idempotent-Replayed": header(
        "`true`: an earlier request with this Idempotency-Key was carried out, and this is its "
        "answer.",
        {"const": "true"},
    ),
    "Link": header(
        'Relative URLs of other pages (RFC 8288): `<?…>; rel="next"`, with `skip` also `first` and '
        "`prev`."
    ),
    "Location": header("Path of the new row.", {"type": "string", "format": "uri-reference"}),
    "RateLimit": header(
        "Requests that the key can send now (`r`), and seconds until it can send more (`t`)."
    ),
    "RateLimit-Policy": header("Requests that the key can send (`q`) in a window of `w` seconds."),
    "Retry-After": header("Seconds to wait before the request is sent again.", COUNT),
    "Server-Timing": header("Duration of the calls to Google in milliseconds."),
    "WWW-Authenticate": header("The authentication scheme: `Bearer`."),
    "X-Ignored-Fields": header("Fields of the body that the worksheet does not have."),
    "X-Request-Id": header(
        "ID of this request in the gateway's log. An ID that you send is kept if it has 1 to "
        "64 letters, digits, `.`, `_` and `-`.",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
        required=True,
    ),
    "X-Total-Count": header("Number of matching rows, with `count=true` and on exports.", COUNT),
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
"""Additional headers of errors, by status."""


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
                "description": "True if the same request can be repeated safely, and can succeed.",
            },
            "errors": {
                "type": "array",
                "description": "Problems of the body, each with its position.",
                "items": ref(_MISTAKE),
            },
            "outcome": {
                "enum": [*get_args(Outcome)],
                "description": (
                    "Outcome of a write. With `unknown`, check the worksheet before you send "
                    "the write again."
                ),
            },
            "rowIndex": {
                "type": "integer",
                "description": "With codes 4091 and 4095, the number of the first written row.",
            },
            "existing": {"description": "With code 4120, the current row.", "allOf": [ref(RECORD)]},
            "expected": {
                "description": "With code 4095, the record that the gateway had read.",
                "allOf": [ref(RECORD)],
            },
            "met": {
                "description": (
                    "With code 4095, the record that the write changed or removed instead; null "
                    "if the gateway does not know it."
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
        {
            "pointer": {"type": "string", "description": "JSON pointer, such as `#/name`."},
            "detail": TEXT,
        }
    ),
    PROBLEM: {
        "description": "The error as in RFC 9457, for `Accept: application/problem+json`.",
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
"""Errors of each operation, in groups. Operations with the same groups share error answers."""
WRITES: frozenset[OperationKind] = frozenset(
    kind for kind, lines in KINDS.items() if "GET" not in OPERATIONS[lines[0]].methods
)
"""Operations that write. Their errors have the member `outcome`."""


@lru_cache(len(FAILURES))
def by_status(kind: OperationKind) -> Mapping[int, Sequence[type[GatewayError]]]:
    """Return the error classes of an operation, by status."""
    found = dict.fromkeys(chain.from_iterable(FAILURES[kind]))
    statuses = sorted({error.status for error in found})
    return {status: [each for each in found if each.status == status] for status in statuses}


def error_references(kind: OperationKind, *, has_pages: bool = False) -> Node:
    """Return references to the error answers of an operation, by status.

    With `has_pages`, the errors can also be HTML, because browsers can send forms.
    """
    return {
        str(status): ref(_answer_name(kind, status, has_pages), "responses")
        for status in by_status(kind)
    }


def error_name(kind: OperationKind, status: int) -> str:
    """Return the name of the schema for an operation's errors with this status."""
    return f"{_shared_by(kind, status).title().replace('_', '')}{status}Error"


def error_answer(kind: OperationKind, status: int, *, has_pages: bool = False) -> Node:
    """Return the answer component for errors with this status, with an example of each error.

    With `has_pages`, the errors can also be HTML.
    """
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
    """Return components of errors: `schemas`, `responses` and `examples`, each by name.

    With `has_pages`, errors of creates can also be HTML, because browsers can send forms.
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
    """Return the first operation that has the same errors with this status."""

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
    """Return an answer of the gateway with this error and a made-up request ID."""
    event = RequestEvent("0f3c6a1de8b2457f", "POST" if kind in WRITES else "GET", "")
    met = _DETAILED.get(error) or error()
    members = error_members(met, event, cast(State, {"api": ApiSettings()}))
    return {"summary": f"{error.code} {error.name}", "value": members}


ANY_TAG, HEALTH_TAG, WORKSHEETS_TAG = "Rows", "Health", "Worksheets"
_VERBS: Mapping[tuple[OperationKind, str], str] = {
    ("schema", "GET"): "describe",
    ("update", "PUT"): "put",
    ("update", "PATCH"): "patch",
    ("delete_where", "DELETE"): "remove",
}
"""First word of an operation ID, if it differs from the operation's name."""
_LONGEST_EXAMPLE = 20

_IN_HEADERS: Nodes = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "`Authorization: Bearer KEY`; `Authorization: KEY` works, too.",
    },
    "apiKeyHeader": {"type": "apiKey", "in": "header", "name": "API-Key"},
    "xApiKeyHeader": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
SECURITY_SCHEMES: Nodes = {
    **_IN_HEADERS,
    "apiKeyQuery": {
        "type": "apiKey",
        "in": "query",
        "name": KEY_PARAMETER,
        "description": "Only for reads, and for creates with a create-only key. URLs end up in "
        "logs and histories: prefer a header.",
    },
}
_PREFERENCE = header("The preference that was applied.")
_OF_EXPORTS: Node = {"Content-Disposition": header("Name of the file, for exports as CSV.")}
_UNCHANGED: Node = {
    "description": "The answer still has the `ETag` in `If-None-Match`. There is no body.",
    "headers": header_references(OF_READS),
}

_FORMS = (
    "\n\nA create-only key sends one object or one form. The answer has the sent fields. If a "
    "browser sends the form (with the key in the URL, and an `Accept` that prefers `text/html`), "
    "the answer is a 303 to the next page, a thank-you page, or an error page."
)
_NEXT_PAGE: Node = {
    "description": "The form was stored. The browser goes to `_next`, or to the next page of the "
    "key.",
    "headers": {
        **header_references(OF_MANY),
        "Location": header("The next page.", {"type": "string", "format": "uri"}, required=True),
    },
}

_HEALTH, _READINESS = "Health", "Readiness"
HEALTH_SCHEMAS: Nodes = {
    _HEALTH: object_of({"status": TEXT}),
    _READINESS: object_of(
        {
            "status": TEXT,
            "refused_accounts": {
                "type": "integer",
                "minimum": 1,
                "description": "Number of accounts that Google refuses; absent if it is 0.",
            },
            "redis": {
                "type": "string",
                "enum": ["available", "unavailable"],
                "description": "Only with several processes. The gateway is ready even if Redis is "
                "unavailable.",
            },
        },
        ["status"],
    ),
}


class _Described(NamedTuple):
    """Texts of an operation, its answers by status, and its body by media type."""

    summary: str
    description: str
    answers: Node
    body: Node | None = None


def operations_of(reach: Reach) -> Mapping[OperationKind, Sequence[RequestKind]]:
    """Return the operations that the key can use, with their lines of the table `OPERATIONS`."""
    found = {kind: [line for line in lines if reach.has(line)] for kind, lines in KINDS.items()}
    return {kind: lines for kind, lines in found.items() if lines}


def paths_of(place: Place) -> Nodes:
    """Return the path items of a worksheet, by path: rows, one row, reports of changes, schema."""
    items: dict[str, dict[str, object]] = {}
    for kind, lines in operations_of(place.reach).items():
        if kind in ("create", "update", "change") and not place.is_writable:
            continue
        row = OPERATIONS[lines[0]]
        if row.path == "spreadsheet":
            continue
        has_number = row.path == "row" and not row.row
        end = {"row": f"/{row.row or '{rowIndex}'}", "schema": "/schema"}.get(row.path, "")
        of_path = parameters.path_parameters(place, has_row=has_number)
        item = items.setdefault(f"{place.path}{end}", {"parameters": of_path})
        summary, description, answers, body = _FIXED.get(kind) or _OF_PLACES[kind](place)
        found = parameters.operation_parameters(place, lines)
        is_submission = kind == "create" and place.is_any
        responses: Node = {**answers, **error_references(kind, has_pages=is_submission)}
        for method in row.methods:
            noun = place.stem or ("Row" if has_number else "Rows")
            item[method.lower()] = {
                "operationId": f"{_VERBS.get((kind, method), kind)}{noun}",
                "summary": summary if place.is_any else f"{summary} of {place.title}",
                **({"description": description} if description else {}),
                "tags": [place.title or ANY_TAG],
                "security": security(is_write=kind in WRITES and not is_submission),
                **({"parameters": found} if found else {}),
                **({"requestBody": {"required": True, "content": body}} if body else {}),
                "responses": responses,
            }
    return items


def spreadsheet_paths(reach: Reach) -> dict[str, Node]:
    """Return the path item of `/v2/sheets`, which lists worksheets."""
    worksheets = _answer("The worksheets.", OF_READS, ref(WORKSHEETS))
    operation: Node = {
        "operationId": "worksheets",
        "summary": "List worksheets",
        "description": "Worksheets in the order of their tabs, with their fields, types and the "
        "rights of the key. The list is at most a minute old.",
        "tags": [WORKSHEETS_TAG],
        "security": security(is_write=False),
        "parameters": [ref("IfNoneMatch", "parameters")],
        "responses": {"200": worksheets, "304": _UNCHANGED, **error_references("worksheets")},
    }
    of_path = parameters.spreadsheet_parameters(reach)
    return {"/v2/sheets": {"parameters": of_path, "get": operation}}


def _list(place: Place) -> _Described:
    has_export = place.reach.has("export")
    page = _answer(
        "The rows.",
        OF_LISTS,
        ref(f"{place.stem}Page"),
        own=_OF_EXPORTS if has_export else {},
        others={each: {"schema": TEXT} for each in (CSV, NDJSON) if has_export},
    )
    about = "Returns a page of rows, in the order of the worksheet or of `order`."
    export = (
        "\n\nWith `format`, or an `Accept` that prefers CSV or JSON lines, the request is an "
        "export: it returns all matching rows, and takes no `count`. An export counts as one "
        "request, plus one for each "
        f"{ROWS_PER_REQUEST} rows."
    )
    about += export if has_export else ""
    return _Described("List rows", about, {"200": page, "304": _UNCHANGED})


def _read(place: Place) -> _Described:
    row = _answer("The row.", OF_READS, ref(f"{place.stem}Row"))
    return _Described("Read a row", "", {"200": row, "304": _UNCHANGED})


def _create(place: Place) -> _Described:
    has_upsert = place.reach.has("upsert")
    row = ref(f"{place.stem}Fields")
    # No form here: code of openapi-python-client fails if one of several types is a list.
    body = _json({"oneOf": [row, list_of(row)]}, example=_create_example(place))
    about = (
        "Appends one or several rows after the last row. Send an object, a form, or a list of "
        "objects. The rows of a list are created completely or not at all."
    )
    upsert = (
        "\n\nWith `on_conflict` the request is an upsert: a row is updated if an existing row has "
        "the same values in these fields, and created otherwise. An upsert counts as "
        f"{OPERATIONS['upsert'].price} requests."
    )
    upserted = _answer(
        "The rows of the upsert in the order of the body; at least one row existed.",
        (*OF_MANY, *place.ignored),
        ref(f"{place.stem}Upserts"),
        has_preference=True,
    )
    # Clients use the first schema that matches, so that narrower schemas come first.
    of_one = ["Fields"] if place.is_any else []
    names = ("Row", *(["Upserts"] if has_upsert else []), "Results", *of_one)
    created = _answer(
        "The new row, or the new rows in the order of the body."
        + (" With a create-only key, the sent fields." if place.is_any else ""),
        (*OF_CREATES, *place.ignored),
        {"anyOf": [ref(f"{place.stem}{name}") for name in names]},
        has_preference=has_upsert,
        others=PAGE if place.is_any else {},
    )
    return _Described(
        "Create rows",
        about + (upsert if has_upsert else "") + (_FORMS if place.is_any else ""),
        {
            **({"200": upserted} if has_upsert else {}),
            "201": created,
            **({"303": _NEXT_PAGE} if place.is_any else {}),
        },
        body,
    )


def _update(place: Place) -> _Described:
    about = "The fields that were sent, with their current values."
    row = ref(f"{place.stem}Row")
    return _Described(
        "Update a row",
        "Writes the fields that you send; other fields keep their values. A value that the cell "
        "already has is not written, so you can send a row back unchanged. POST, PUT and PATCH "
        "have the same effect.",
        {"200": _answer(about, (*OF_UPDATES, *place.ignored), row)},
        {
            **_json(ref(f"{place.stem}Fields"), example=_update_example(place)),
            FORM: {"schema": ref(f"{place.stem}Form")},
        },
    )


def _change(place: Place) -> _Described:
    has_filter = place.reach.has("update_where")
    rows = list_of(ref(f"{place.stem}Change"))
    body = {"oneOf": [rows, ref(f"{place.stem}Fields")]} if has_filter else rows
    updated = ref(f"{place.stem}Results")
    answer = _answer(
        "The rows in the order of the list, or the row numbers that the filter matched.",
        (*OF_MANY, *place.ignored),
        {"anyOf": [ref(MATCHES), updated]} if has_filter else updated,
        has_preference=has_filter,
    )
    by_filter = (
        "\n\nWith `where`, writes the fields of one object to all matching rows, or to none. "
        f"This counts as {OPERATIONS['update_where'].price} requests."
    )
    return _Described(
        "Update several rows",
        "Updates all rows of a list, or none." + (by_filter if has_filter else ""),
        {"200": answer},
        _json(body, example=[{ROW_INDEX: 2, **_update_example(place)}]),
    )


_OF_PLACES: Mapping[OperationKind, Callable[[Place], _Described]] = {
    "list": _list,
    "read": _read,
    "create": _create,
    "update": _update,
    "change": _change,
}


def security(*, is_write: bool) -> Sequence[Node]:
    """Return the ways to send a key. Writes cannot send the key in the URL."""
    return [{name: []} for name in (_IN_HEADERS if is_write else SECURITY_SCHEMES)]


def _json(schema: Node, **more: object) -> Node:
    return {JSON: {"schema": schema, **more}}


def _answer(
    about: str,
    headers: Sequence[str],
    schema: Node,
    *,
    has_preference: bool = False,
    own: Node = MappingProxyType({}),
    others: Node = MappingProxyType({}),
) -> Node:
    """Return an answer with the description `about` and a JSON body of this schema.

    `headers` are names of shared headers, `own` are further headers by name, `others` are further
    bodies by media type. With `has_preference`, the answer can have `Preference-Applied`.
    """
    preference = {PREFERENCE_APPLIED: _PREFERENCE} if has_preference else {}
    return {
        "description": about,
        "headers": {**header_references(headers), **preference, **own},
        "content": {**_json(schema), **others},
    }


_FIXED: Mapping[OperationKind, _Described] = {
    "schema": _Described(
        "Describe the fields",
        "Types of the fields with `values=typed`. They come from a table of the worksheet, or "
        "from data validation, number formats or the first cells, and are at most a minute old.",
        {
            "200": _answer(
                "The schema.", OF_READS, ref(SCHEMA), others={"text/plain": {"schema": TEXT}}
            ),
            "304": _UNCHANGED,
        },
    ),
    "delete": _Described(
        "Delete a row",
        "The rows below move up, so a row number that you know can belong to another row: send "
        "`If-Match`. A repeated request deletes the next row, unless it has the same "
        "`Idempotency-Key`. The gateway can be set to empty rows instead, which keeps numbers.",
        {
            "204": {
                "description": "The row was deleted; no body.",
                "headers": header_references(OF_MANY),
            }
        },
    ),
    "delete_where": _Described(
        "Delete rows by filter",
        "Deletes all matching rows, or none. The rows below move up. This counts as "
        f"{OPERATIONS['delete_where'].price} requests.",
        {
            "200": _answer(
                "Number of matching rows, and their row numbers.",
                OF_MANY,
                ref(MATCHES),
                has_preference=True,
            )
        },
    ),
    "refresh": _Described(
        "Report a change",
        "For a script in the spreadsheet: after a report, the next request rereads the rows. At "
        "most one report in 2 seconds takes effect immediately. A report counts as "
        f"{OPERATIONS['refresh'].price} requests.",
        {"202": {"description": "The next request rereads the rows."}},
    ),
}
"""Operations with the same description for all worksheets and keys."""


def _create_example(place: Place) -> Node:
    """Return an example of a new row: a value in the first field, null in the other fields."""
    if place.is_any:
        return {"name": "San Diego", "state": "California", "population": 1381162}
    first, *others = place.writable[:_LONGEST_EXAMPLE]
    return {first: "Example", **dict.fromkeys(others)}


def _update_example(place: Place) -> Node:
    """Return an example with one field. Without an example, tools would fill in all fields."""
    return dict([*_create_example(place).items()][:1])


def health_paths() -> dict[str, Node]:
    """Return the path items that need no key, by path: `/livez` and `/readyz`."""
    schemas = (_HEALTH, error_name("health", 503))
    not_ready: Node = {
        **error_answer("health", 503),
        "description": "The key store does not answer, Google has not accepted an account since "
        "the gateway started, or the gateway accepts no more requests.",
        "content": _json({"anyOf": [ref(name) for name in schemas]}),
    }
    paths: dict[str, Node] = {}
    for path, name, summary, schema, answers in (
        ("/livez", "isAlive", "Check that the gateway runs", _HEALTH, {}),
        ("/readyz", "isReady", "Check that the gateway is ready", _READINESS, {"503": not_ready}),
    ):
        yes = {"200": _answer("Yes.", OF_ALL, ref(schema))}
        about = {"operationId": name, "summary": summary, "tags": [HEALTH_TAG], "security": []}
        responses = {**yes, **error_references("health"), **answers}
        paths[path] = {"get": {**about, "responses": responses}}
    return paths
