"""Requests made by hand, as a server would hand them over."""

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.types import Message, Scope

from gateway.settings.model import ApiSettings, ServerSettings
from gateway.web.parsing import Parsing
from gateway.web.state import State


def make_scope(
    method: str = "GET",
    path: str = "/v2/sheets/Cities",
    *,
    query: str = "",
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    settings: ServerSettings | None = None,
    api: ApiSettings | None = None,
) -> Scope:
    """An ASGI scope; `path` is raw, as on the wire."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("latin-1"),
        "root_path": "",
        "query_string": query.encode("latin-1"),
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs
        ],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 50_000),
        "state": {
            "server": settings or ServerSettings(),
            "api": api or ApiSettings(),
            "parsing": Parsing(),
        },
    }


class Sender:
    """A `receive` that hands a body over in chunks, and counts how many were taken."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = list(chunks) or [b""]
        self.taken = 0

    async def __call__(self) -> Message:
        chunk = self._chunks[self.taken]
        self.taken += 1
        more_body = self.taken < len(self._chunks)
        return {"type": "http.request", "body": chunk, "more_body": more_body}


def make_request(scope: Scope, *chunks: bytes) -> Request[State]:
    """A request of a scope and its body."""
    return Request(scope, Sender(chunks))
