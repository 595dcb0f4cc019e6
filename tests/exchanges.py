"""Recorder of exchanges between a client and the emulator.

Rules: exchanges are not changed. `receive` keeps its `__self__`, through which the emulator closes
connections.

Only complete answers that the emulator computed are recorded, no answers replaced or truncated by a
fault. An exchange is recorded before its client has received the whole answer.

Only calls of the Sheets API are recorded, no tokens, control requests or calls of Drive.
"""

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sheets_emulator.faults import Faults

KEPT = "/v4/"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Request and answer. The path is encoded as sent, and bodies are the exact bytes."""

    method: str
    raw_path: str
    query: str = ""
    body: bytes = b""
    status: int = 200
    answer: bytes = b""
    is_page: bool = False
    """True if the answer is HTML."""


@dataclass(kw_only=True)
class Recorder:
    """Application `app` with a recorder. `faults` are the faults of `app`."""

    app: ASGIApp
    faults: Faults
    exchanges: list[Exchange] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(KEPT):
            await self.app(scope, receive, send)
            return
        before = self._faked()
        hearing = Hearing(receive=receive)

        def keep(start: Message, answer: bytes) -> None:
            if self._faked() == before:
                self.exchanges.append(_exchange(scope, hearing.heard, start, answer))

        await self.app(scope, hearing, Speaking(send=send, keep=keep))

    def take(self) -> list[Exchange]:
        """Return the exchanges since the last call, and forget them."""
        taken, self.exchanges = self.exchanges, []
        return taken

    def _faked(self) -> list[tuple[object, int]]:
        """Return the use counts of faults that replace an answer."""
        return [(each, each.used) for each in self.faults.pending if each.fault.is_failing]


@dataclass(kw_only=True)
class Hearing:
    """`receive` that records the body."""

    receive: Receive
    heard: bytes = b""
    __self__: object = None
    """Object whose method `receive` is."""

    def __post_init__(self) -> None:
        self.__self__ = getattr(self.receive, "__self__", None)

    async def __call__(self) -> Message:
        message = await self.receive()
        self.heard += message.get("body", b"")
        return message


@dataclass(kw_only=True)
class Speaking:
    """`send` that calls `keep` with start and body of a complete answer."""

    send: Send
    keep: Callable[[Message, bytes], None]
    start: Message = field(default_factory=dict)
    said: bytes = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.start = message
        if message["type"] == "http.response.body":
            self.said += message.get("body", b"")
            if not message.get("more_body", False):
                self.keep(self.start, self.said)
        await self.send(message)


def _exchange(scope: Scope, body: bytes, start: Message, answer: bytes) -> Exchange:
    headers = Headers(raw=start["headers"])
    is_zipped = headers.get("content-encoding") == "gzip"
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    return Exchange(
        method=scope["method"],
        raw_path=raw_path.partition(b"?")[0].decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        body=body,
        status=start["status"],
        answer=gzip.decompress(answer) if is_zipped else answer,
        is_page=headers.get("content-type", "").startswith("text/html"),
    )
