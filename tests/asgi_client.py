"""Requests to an ASGI application in this process, with any bytes in targets and headers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message

Pairs = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Request. Header names are in lower case, as servers pass them to applications."""

    method: str
    target: bytes
    headers: Pairs = ()
    body: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Response. `problems` has violations of ASGI."""

    status_code: int
    pairs: Pairs
    content: bytes = field(repr=False)
    problems: Sequence[str] = ()

    @property
    def headers(self) -> Mapping[str, str]:
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.pairs}

    @property
    def said(self) -> bytes:
        """Headers and body."""
        return b"\n".join([*(b": ".join(pair) for pair in self.pairs), self.content])

    def json(self) -> Any:
        return json.loads(self.content)


async def send(app: ASGIApp, state: Mapping[str, Any], request: Request) -> Answer:
    """Send a request to the application, and return its answer."""
    path, _, query = request.target.partition(b"?")
    messages: list[Message] = []
    arriving = [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> Message:
        return arriving.pop() if arriving else {"type": "http.disconnect"}

    async def keep(message: Message) -> None:
        messages.append(message)

    length = [(b"content-length", str(len(request.body)).encode())] if request.body else []
    named = any(name == b"host" for name, _ in request.headers)
    host = [] if named else [(b"host", b"gateway.example")]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [*host, *request.headers, *length],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8000),
        "state": dict(state),
    }
    await app(scope, receive, keep)
    return _answer(messages)


def _answer(messages: Sequence[Message]) -> Answer:
    starts = [each for each in messages if each["type"] == "http.response.start"]
    bodies = [each for each in messages if each["type"] == "http.response.body"]
    problems = []
    if len(starts) != 1 or not messages or messages[0] is not starts[0]:
        problems.append(f"{len(starts)} starts of an answer")
    if not bodies or bodies[-1].get("more_body", False):
        problems.append("an answer without an end")
    return Answer(
        status_code=starts[0]["status"] if starts else 0,
        pairs=[(bytes(name), bytes(value)) for name, value in starts[0]["headers"]]
        if starts
        else (),
        content=b"".join(each.get("body", b"") for each in bodies),
        problems=problems,
    )
