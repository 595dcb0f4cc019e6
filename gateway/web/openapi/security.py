"""Security schemes and the operations that accept them."""

from collections.abc import Sequence

from gateway.web.openapi.node import Node, Nodes
from gateway.web.signature import KEY_PARAMETER

IN_HEADERS: Nodes = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "`Authorization: Bearer KEY`; the bare key does as well.",
    },
    "apiKeyHeader": {"type": "apiKey", "in": "header", "name": "API-Key"},
    "xApiKeyHeader": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
IN_URL: Nodes = {
    "apiKeyQuery": {
        "type": "apiKey",
        "in": "query",
        "name": KEY_PARAMETER,
        "description": "To read alone. URLs end up in logs and histories: prefer a header.",
    },
}
SCHEMES: Nodes = {**IN_HEADERS, **IN_URL}


def security(*, is_write: bool) -> Sequence[Node]:
    """The alternatives of an operation."""
    return [{name: []} for name in (IN_HEADERS if is_write else SCHEMES)]
