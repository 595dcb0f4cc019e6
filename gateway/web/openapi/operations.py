"""Operations of the document: the key's operations on rows, and health checks.

Rules: rights and parameters come from the table of operations. An operation here is a path with a
method, and so may have several lines there.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gateway.table.header import ROW_INDEX
from gateway.telemetry.events import RequestKind
from gateway.web.exports import ROWS_PER_REQUEST
from gateway.web.media_types import CSV, FORM, JSON, NDJSON
from gateway.web.openapi import parameters
from gateway.web.openapi.answers import (
    KINDS,
    OF_ALL,
    OF_CREATES,
    OF_LISTS,
    OF_MANY,
    OF_READS,
    OF_UPDATES,
    PAGE,
    WRITES,
    OperationKind,
    error_answer,
    error_name,
    error_references,
    header,
    header_references,
)
from gateway.web.openapi.reach import Place, Reach
from gateway.web.openapi.schemas import (
    MATCHES,
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

ANY_TAG, HEALTH_TAG, WORKSHEETS_TAG = "Rows", "Health", "Worksheets"
_VERBS: Mapping[tuple[OperationKind, str], str] = {
    ("schema", "GET"): "describe",
    ("update", "PUT"): "put",
    ("update", "PATCH"): "patch",
    ("delete_where", "DELETE"): "remove",
}
"""First words of names, where they differ from the operation."""
_LONGEST_EXAMPLE = 20

_IN_HEADERS: Nodes = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "`Authorization: Bearer KEY`; the key alone works, too.",
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
    "description": "The answer has not changed: its tag is in `If-None-Match`. No body.",
    "headers": header_references(OF_READS),
}

_FORMS = (
    "\n\nA key that may only create sends one object or one form. The answer is the sent fields; "
    "to a form as a browser sends it (the key in the URL, an `Accept` that prefers `text/html`) a "
    "303 to the next page, a page of thanks, or a page with the error."
)
_NEXT_PAGE: Node = {
    "description": "A form was stored: the browser goes to its `_next`, or the key's next page.",
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
                "description": "Number of accounts that Google refuses; absent if there is none.",
            },
            "redis": {
                "type": "string",
                "enum": ["available", "unavailable"],
                "description": "Only with several processes. The gateway is ready without Redis, "
                "too.",
            },
        },
        ["status"],
    ),
}


class _Described(NamedTuple):
    """An operation in words, with its answers by status, and the content of its body."""

    summary: str
    description: str
    answers: Node
    body: Node | None = None


def operations_of(reach: Reach) -> Mapping[OperationKind, Sequence[RequestKind]]:
    """The operations that a key has, each with its lines of the table of operations."""
    found = {kind: [line for line in lines if reach.has(line)] for kind, lines in KINDS.items()}
    return {kind: lines for kind, lines in found.items() if lines}


def paths_of(place: Place) -> Nodes:
    """The paths of a worksheet: its rows, one row, and reports of changes."""
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
    """The path of a spreadsheet, which lists its worksheets."""
    worksheets = _answer("The worksheets.", OF_READS, ref(WORKSHEETS))
    operation: Node = {
        "operationId": "worksheets",
        "summary": "List worksheets",
        "description": "Worksheets in the order of their tabs, with their fields and types, and "
        "what the key may do there. At most a minute old.",
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
    about = "Rows in the order of the worksheet, or as `order` says, page by page."
    export = (
        "\n\nWith `format`, or an `Accept` that prefers CSV or JSON lines, it is an export: all "
        "rows that match, without `count`. It counts as one request, and another for each "
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
    # Without the form: openapi-python-client fails at run time if a list is one of several types.
    body = _json({"oneOf": [row, list_of(row)]}, example=_create_example(place))
    about = (
        "Appends a row after the last one, or several at once, all or none: send an object, a list "
        "of objects, or a form."
    )
    upsert = (
        "\n\nWith `on_conflict` it is an upsert: existing rows with the same values in these "
        "fields are updated, the others are created. It counts as "
        f"{OPERATIONS['upsert'].price} requests."
    )
    upserted = _answer(
        "The rows of an upsert in the order of the body; some may be new.",
        (*OF_MANY, *place.ignored),
        ref(f"{place.stem}Upserts"),
        has_preference=True,
    )
    # Clients take the first schema that fits, so that the narrower one comes first.
    of_one = ["Fields"] if place.is_any else []
    names = ("Row", *(["Upserts"] if has_upsert else []), "Results", *of_one)
    created = _answer(
        "The new row, or the new rows in the order of the body."
        + (" With a key that may only create, the sent fields." if place.is_any else ""),
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
        "Writes the fields that are sent; all others stay. A value that the cell already has "
        "is not written, so a row can be sent back unchanged. POST, PUT and PATCH do the "
        "same.",
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
        "The rows of the list in its order, or the numbers of those that matched.",
        (*OF_MANY, *place.ignored),
        {"anyOf": [ref(MATCHES), updated]} if has_filter else updated,
        has_preference=has_filter,
    )
    by_filter = (
        "\n\nWith `where` it writes the fields of one object to all rows that match, or to none. "
        f"That counts as {OPERATIONS['update_where'].price} requests."
    )
    return _Described(
        "Update several rows",
        "Updates the rows of a list, all or none." + (by_filter if has_filter else ""),
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
    """The ways to send a key: in the URL on reads alone, and on submissions."""
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
    """An answer as JSON and as `others`, with headers of its `own` that not all answers expose."""
    preference = {PREFERENCE_APPLIED: _PREFERENCE} if has_preference else {}
    return {
        "description": about,
        "headers": {**header_references(headers), **preference, **own},
        "content": {**_json(schema), **others},
    }


_FIXED: Mapping[OperationKind, _Described] = {
    "schema": _Described(
        "Describe the fields",
        "Types of the typed records: from a native table, else from data validation, "
        "number formats, or the first cells. At most a minute old.",
        {
            "200": _answer(
                "The schema.", OF_READS, ref(SCHEMA), others={"text/plain": {"schema": TEXT}}
            ),
            "304": _UNCHANGED,
        },
    ),
    "delete": _Described(
        "Delete a row",
        "The rows below move up, so row numbers that you know may belong to other rows: send "
        "`If-Match`. Sent again, it deletes the next row, unless it has the same "
        "`Idempotency-Key`. The operator may have rows emptied instead, which keeps numbers.",
        {
            "204": {
                "description": "The row was deleted; no body.",
                "headers": header_references(OF_MANY),
            }
        },
    ),
    "delete_where": _Described(
        "Delete rows by filter",
        "Deletes all rows that match, or none. The rows below move up. It counts as "
        f"{OPERATIONS['delete_where'].price} requests.",
        {
            "200": _answer(
                "Number of rows that matched, and their row numbers.",
                OF_MANY,
                ref(MATCHES),
                has_preference=True,
            )
        },
    ),
    "refresh": _Described(
        "Report a change",
        "For a script in the spreadsheet: the next request rereads the rows. At most one "
        "report in 2 seconds has an effect at once. It counts as "
        f"{OPERATIONS['refresh'].price} requests.",
        {"202": {"description": "The next request rereads the rows."}},
    ),
}
"""Operations that are described alike for all worksheets and keys."""


def _create_example(place: Place) -> Node:
    """A row with a distinctive first field; the rest waits to be filled in."""
    if place.is_any:
        return {"name": "San Diego", "state": "California", "population": 1381162}
    first, *others = place.writable[:_LONGEST_EXAMPLE]
    return {first: "Example", **dict.fromkeys(others)}


def _update_example(place: Place) -> Node:
    """A single field: tools that generate a body would fill, and so overwrite, all of them."""
    return dict([*_create_example(place).items()][:1])


def health_paths() -> dict[str, Node]:
    """The paths that need no key."""
    schemas = (_HEALTH, error_name("health", 503))
    not_ready: Node = {
        **error_answer("health", 503),
        "description": "The key store does not answer, Google has accepted no account since the "
        "start, or the gateway takes no more requests.",
        "content": _json({"anyOf": [ref(name) for name in schemas]}),
    }
    paths: dict[str, Node] = {}
    for path, name, summary, schema, answers in (
        ("/livez", "isAlive", "Check that the gateway runs", _HEALTH, {}),
        ("/readyz", "isReady", "Check that it is ready to serve", _READINESS, {"503": not_ready}),
    ):
        yes = {"200": _answer("Yes.", OF_ALL, ref(schema))}
        about = {"operationId": name, "summary": summary, "tags": [HEALTH_TAG], "security": []}
        responses = {**yes, **error_references("health"), **answers}
        paths[path] = {"get": {**about, "responses": responses}}
    return paths
