"""Paths that need no key."""

from collections.abc import Iterator

from gateway.web.openapi.error_answers import error_answer, error_name, error_references
from gateway.web.openapi.headers import EVERYWHERE, header_references
from gateway.web.openapi.node import Node, json_content, schema_reference

TAG = "Health"
HEALTH, READINESS = "Health", "Readiness"

_TEXT: Node = {"type": "string"}
HEALTH_SCHEMA: Node = {
    "type": "object",
    "properties": {"status": _TEXT},
    "required": ["status"],
    "additionalProperties": False,
}
READINESS_SCHEMA: Node = {
    **HEALTH_SCHEMA,
    "properties": {
        "status": _TEXT,
        "refused_accounts": {
            "type": "integer",
            "minimum": 1,
            "description": "Number of accounts that Google refuses; absent if there is none.",
        },
        "redis": {
            "type": "string",
            "enum": ["available", "unavailable"],
            "description": "With several processes only. Without Redis the gateway is ready, too.",
        },
    },
}


def health_paths() -> Iterator[tuple[str, Node]]:
    yield "/livez", {"get": _health("isAlive", "Whether the gateway lives", HEALTH, {})}
    either = (HEALTH, error_name("health", 503))
    schema: Node = {"anyOf": [schema_reference(name) for name in either]}
    not_ready: Node = {
        **error_answer("health", 503),
        "description": "The key store does not answer, Google has accepted no account since the "
        "start, or the gateway takes no more requests.",
        "content": json_content(schema),
    }
    answers = {"503": not_ready}
    yield "/readyz", {"get": _health("isReady", "Whether it is ready to serve", READINESS, answers)}


def _health(name: str, summary: str, schema: str, answers: Node) -> Node:
    return {
        "operationId": name,
        "summary": summary,
        "tags": [TAG],
        "security": [],
        "responses": {
            "200": {
                "description": "Yes.",
                "headers": header_references(EVERYWHERE),
                "content": json_content(schema_reference(schema)),
            },
            **error_references("health"),
            **answers,
        },
    }
