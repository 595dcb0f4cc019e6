"""Requests without a server: ASGI scopes, bodies in chunks, and the messages of the answer."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope

from gateway.settings.model import ApiSettings, ServerSettings
from gateway.telemetry.events import RequestEvent
from gateway.web.answers import Answer
from gateway.web.frame import ANY_PROGRAM
from gateway.web.head import head_of
from gateway.web.parsing import Parsing
from gateway.web.request import Request


def make_scope(
    method: str = "GET",
    path: str = "/v2/sheets/Cities",
    *,
    query: str = "",
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    settings: ServerSettings | None = None,
    api: ApiSettings | None = None,
) -> Scope:
    """Return an ASGI scope. `path` is the raw path, percent-encoded as sent by a client."""
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
    """ASGI `receive` that sends a body in chunks; `taken` is the number of chunks received."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = list(chunks) or [b""]
        self.taken = 0

    async def __call__(self) -> Message:
        chunk = self._chunks[self.taken]
        self.taken += 1
        more_body = self.taken < len(self._chunks)
        return {"type": "http.request", "body": chunk, "more_body": more_body}


def make_request(scope: Scope, *chunks: bytes, receive: Receive | None = None) -> Request:
    """Return a request with this scope and these body chunks."""
    event = RequestEvent("req-1", scope["method"], scope["path"])
    return Request(
        scope,
        receive or Sender(chunks),
        head_of(scope),
        event,
        scope["state"],
        cors=ANY_PROGRAM,
    )


def as_response(answer: Answer) -> Response:
    """Convert an answer of the gateway to a Starlette response, to read its headers by name."""
    if isinstance(answer.body, AsyncGenerator):
        raise TypeError("a body that is sent in parts")
    body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    response = Response(body, answer.status)
    response.raw_headers = [*answer.headers]
    return response


async def sent(app: ASGIApp, scope: Scope) -> list[Message]:
    """Return the ASGI messages that an application sends for a request without a body."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, Sender([]), send)
    return messages
