"""Paths that need no key."""

from collections.abc import Iterator

from gateway.web.openapi.error_answers import error_answer, error_references, error_schema
from gateway.web.openapi.headers import EVERYWHERE, header_references
from gateway.web.openapi.node import Node, json_content

TAG = "Health"

_STATUS: Node = {
    "type": "object",
    "properties": {"status": {"type": "string"}},
    "required": ["status"],
    "additionalProperties": False,
}


def health_paths() -> Iterator[tuple[str, Node]]:
    yield "/livez", {"get": _health("isAlive", "Whether the gateway lives", {})}
    schema: Node = {"anyOf": [_STATUS, error_schema("health", 503)]}
    not_ready: Node = {
        **error_answer("health", 503),
        "description": "The key store does not answer, Google has accepted no account since the "
        "start, or the gateway takes no more requests.",
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
                "content": json_content(_STATUS),
            },
            **error_references("health"),
            **answers,
        },
    }
