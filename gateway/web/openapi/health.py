"""Paths that need no key."""

from collections.abc import Iterator

from gateway.web.openapi.error_answers import error_answer, error_name, error_references
from gateway.web.openapi.headers import EVERYWHERE, header_references
from gateway.web.openapi.node import Node, json_content, schema_reference

TAG = "Health"
HEALTH = "Health"

HEALTH_SCHEMA: Node = {
    "type": "object",
    "properties": {"status": {"type": "string"}},
    "required": ["status"],
    "additionalProperties": False,
}


def health_paths() -> Iterator[tuple[str, Node]]:
    yield "/livez", {"get": _health("isAlive", "Whether the gateway lives", {})}
    either = (HEALTH, error_name("health", 503))
    schema: Node = {"anyOf": [schema_reference(name) for name in either]}
    not_ready: Node = {
        **error_answer("health", 503),
        "description": "The key store does not answer, or the gateway takes no more requests.",
        "content": json_content(schema),
    }
    yield "/readyz", {"get": _health("isReady", "Whether it is ready to serve", {"503": not_ready})}


def _health(name: str, summary: str, answers: Node) -> Node:
    return {
        "operationId": name,
        "summary": summary,
        "tags": [TAG],
        "security": [],
        "responses": {
            "200": {
                "description": "Yes.",
                "headers": header_references(EVERYWHERE),
                "content": json_content(schema_reference(HEALTH)),
            },
            **error_references("health"),
            **answers,
        },
    }
