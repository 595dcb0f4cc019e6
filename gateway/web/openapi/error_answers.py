"""Error responses of the document: one schema, and the codes of each operation."""

from collections.abc import Iterable
from typing import cast, get_args

from gateway.errors import GatewayError, Outcome
from gateway.settings.model import ApiSettings
from gateway.telemetry.events import RequestEvent
from gateway.web.error_responses import ERROR_TYPE, error_members
from gateway.web.media_types import PROBLEM_JSON
from gateway.web.openapi.failures import (
    FAILURES,
    WRITES,
    OperationKind,
    by_status,
    codes_of,
    names_of,
)
from gateway.web.openapi.headers import EVERYWHERE, OF_ERRORS, OF_KEYS, header_references
from gateway.web.openapi.node import Node, Nodes, reference, schema_reference
from gateway.web.openapi.row_schemas import RECORD
from gateway.web.state import State

ERROR, PROBLEM, _MISTAKE = "Error", "Problem", "Mistake"

_TEXT: Node = {"type": "string"}
_REQUEST_ID = "0f3c6a1de8b2457f"

ERROR_SCHEMA: Node = {
    "type": "object",
    "description": (
        "What went wrong. Tell cases apart by `code`, which never changes its meaning; `message` "
        "says what is wrong and how to mend it."
    ),
    "properties": {
        "type": {"const": ERROR_TYPE},
        "name": _TEXT,
        "code": {"type": "integer"},
        "message": _TEXT,
        "status": {"type": "integer", "description": "The status of the answer."},
        "requestId": {
            "type": "string",
            "description": "What the gateway's log knows the request by: tell it to the operator.",
        },
        "retryable": {
            "type": "boolean",
            "description": "Whether the same request may succeed later, and does no harm.",
        },
        "errors": {
            "type": "array",
            "description": "The places of the body that are wrong.",
            "items": schema_reference(_MISTAKE),
        },
        "outcome": {
            "enum": [*get_args(Outcome)],
            "description": "What became of a write: with `unknown`, look before you send it again.",
        },
        "rowIndex": {
            "type": "integer",
            "description": "With codes 4091 and 4095, the first row written.",
        },
        "existing": {
            "description": "With code 4120, the row as it is now.",
            "allOf": [schema_reference(RECORD)],
        },
        "expected": {
            "description": "With code 4095, the record that the gateway looked at.",
            "allOf": [schema_reference(RECORD)],
        },
        "met": {
            "description": "With code 4095, the record that was changed or removed; null if it is "
            "not known.",
            "anyOf": [schema_reference(RECORD), {"type": "null"}],
        },
        "title": _TEXT,
        "detail": _TEXT,
        "instance": _TEXT,
    },
    "required": ["type", "name", "code", "message", "status", "requestId", "retryable"],
    "additionalProperties": False,
}

_MISTAKE_SCHEMA: Node = {
    "type": "object",
    "properties": {
        "pointer": {"type": "string", "description": "A JSON pointer: `#/name`."},
        "detail": _TEXT,
    },
    "required": ["pointer", "detail"],
    "additionalProperties": False,
}
PROBLEM_SCHEMA: Node = {
    "description": "The same as RFC 9457 has it, for `Accept: application/problem+json`.",
    "allOf": [schema_reference(ERROR)],
    "required": ["title", "detail", "instance"],
}


def error_references(kind: OperationKind) -> Node:
    """The error answers of an operation, by status."""
    return {str(status): reference("responses", _name(kind, status)) for status in by_status(kind)}


def error_responses(kinds: Iterable[OperationKind]) -> Nodes:
    return {
        _name(kind, status): error_answer(kind, status)
        for kind in kinds
        for status in by_status(kind)
        if _kind_of(kind, status) == kind
    }


def error_answer(kind: OperationKind, status: int) -> Node:
    """The answer with a status: its possible codes, and an example of each."""
    errors = by_status(kind)[status]
    common = EVERYWHERE if kind == "health" else OF_KEYS
    return {
        "description": "\n".join(f"- `{error.code}` {error.message}" for error in errors),
        "headers": header_references((*common, *OF_ERRORS.get(status, ()), *_of_writes(kind))),
        "content": {
            "application/json": {
                "schema": schema_reference(error_name(kind, status)),
                "examples": {
                    type(error).__name__: reference("examples", _example_name(kind, error))
                    for error in errors
                },
            },
            PROBLEM_JSON: {"schema": schema_reference(PROBLEM)},
        },
    }


def error_examples(kinds: Iterable[OperationKind]) -> Nodes:
    """Examples of each error for reads and for writes."""
    return {name: _EXAMPLES[name] for kind in kinds for name in _example_names(kind)}


def error_schemas(kinds: Iterable[OperationKind]) -> Nodes:
    """Schemas of errors: of all, and of each operation by status."""
    return {
        ERROR: ERROR_SCHEMA,
        _MISTAKE: _MISTAKE_SCHEMA,
        PROBLEM: PROBLEM_SCHEMA,
        **{
            error_name(kind, status): _error_schema(kind, status)
            for kind in kinds
            for status in by_status(kind)
            if _kind_of(kind, status) == kind
        },
    }


def error_name(kind: OperationKind, status: int) -> str:
    """The schema's name of errors with this status."""
    words = _kind_of(kind, status).title().replace("_", "")
    return f"{words}{status}Error"


def _error_schema(kind: OperationKind, status: int) -> Node:
    errors = by_status(kind)[status]
    sure = {
        "name": {"enum": names_of(errors)},
        "code": {"enum": codes_of(errors)},
        "status": {"enum": [status]},
    }
    told = {"required": ["outcome"]} if kind in WRITES else {}
    return {"allOf": [schema_reference(ERROR), {"properties": sure, **told}]}


def _of_writes(kind: OperationKind) -> tuple[str, ...]:
    return ("Idempotent-Replayed",) if kind in WRITES else ()


def _kind_of(kind: OperationKind, status: int) -> OperationKind:
    """The first kind with the same answers of this status."""
    errors, is_write = by_status(kind)[status], kind in WRITES
    alike = (
        other
        for other in FAILURES
        if other != "health" and (other in WRITES) == is_write
        if by_status(other).get(status) == errors
    )
    return kind if kind == "health" else next(alike, kind)


def _name(kind: OperationKind, status: int) -> str:
    return f"{_kind_of(kind, status)}{status}"


def _example_names(kind: OperationKind) -> Iterable[str]:
    return (_example_name(kind, error) for errors in by_status(kind).values() for error in errors)


def _example_name(kind: OperationKind, error: GatewayError) -> str:
    return f"{type(error).__name__}{'OfWrite' if kind in WRITES else ''}"


def _example(kind: OperationKind, error: GatewayError) -> Node:
    """The gateway's answer with this error, without its request ID."""
    event = RequestEvent(_REQUEST_ID, "POST" if kind in WRITES else "GET", "")
    members = error_members(error, event, cast(State, {"api": ApiSettings()}))
    return {"summary": f"{error.code} {error.name}", "value": members}


_EXAMPLES: Nodes = {
    _example_name(kind, error): _example(kind, error)
    for kind in FAILURES
    for errors in by_status(kind).values()
    for error in errors
}
