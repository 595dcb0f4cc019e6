"""Google's side of a kill: calls stop at an instant until the gateway is dead.

Rules
- While an instant is set, calls of the worksheets stop there; afterwards all calls pass.
- A call that stopped as `sent` is carried out later, without anybody who hears its answer, as a
  call that was on its way when its sender died.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.exchanges import Hearing

Instant = Literal["looking", "sent", "applied", "answered"]
"""At its look, when its batch arrived, when it took effect, when its answer was sent."""
FENCE = b"createDeveloperMetadata"
SHEET = re.compile(rb'"sheetId":\s*(\d+)')
FENCE_ID = re.compile(
    rb'(createDeveloperMetadata":\s*\{"developerMetadata":\s*\{"metadataId":\s*)\d+'
)
PAUSE_SECONDS = 0.01


@dataclass(kw_only=True)
class Gate:
    """The emulator's application; threads other than its own set `instant` and `lands`."""

    app: ASGIApp
    has_new_ids: bool = False
    """A late copy has a fence with an id of its own."""
    instant: Instant | None = None
    stopped: set[int] = field(default_factory=set)
    """Ids of the worksheets whose batches stopped; 0 for a look."""
    landed: int = 0
    lands: bool = False
    """Batches that stopped as sent may take effect."""
    _ids: Iterator[int] = field(default_factory=lambda: count(1))
    _late: set["asyncio.Task[None]"] = field(default_factory=set)

    def stop_at(self, instant: Instant) -> None:
        self.stopped.clear()
        self.landed, self.lands = 0, False
        self.instant = instant

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        instant = self.instant
        if instant is None or scope["type"] != "http" or not scope["path"].startswith("/v4/"):
            await self.app(scope, receive, send)
            return
        body = await _body(receive)
        sheet = SHEET.search(body) if FENCE in body else None
        if instant == "sent" and self.has_new_ids:
            body = FENCE_ID.sub(rb"\g<1>%d" % next(self._ids), body, count=1)
        again = _Again(body=body, __self__=getattr(receive, "__self__", None))
        if instant == "looking" and sheet is None:
            self.stopped.add(0)
            await _until(lambda: self.instant is None)
        elif sheet is None or instant == "looking":
            await self.app(scope, again, send)
        else:
            await _AT[instant](self, scope, again, send)
            self.stopped.add(int(sheet[1]))
            if instant != "answered":
                await _until(lambda: self.instant is None)

    async def sent(self, scope: Scope, receive: Receive, _: Send) -> None:
        async def land() -> None:
            await _until(lambda: self.lands)
            await self.app(scope, receive, _unheard)
            self.landed += 1

        self._late.add(asyncio.create_task(land()))

    async def applied(self, scope: Scope, receive: Receive, _: Send) -> None:
        await self.app(scope, receive, _unheard)

    async def answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


Stop = Callable[[Gate, Scope, Receive, Send], Awaitable[None]]
_AT: Mapping[str, Stop] = {
    "sent": Gate.sent,
    "applied": Gate.applied,
    "answered": Gate.answered,
}


@dataclass(kw_only=True)
class _Again:
    """A `receive` with a body that was read before."""

    body: bytes
    __self__: Any = None

    async def __call__(self) -> Message:
        body, self.body = self.body, b""
        return {"type": "http.request", "body": body, "more_body": False}


async def _body(receive: Receive) -> bytes:
    hearing = Hearing(receive=receive)
    while (await hearing()).get("more_body", False):
        pass
    return hearing.heard


async def _unheard(_: Message) -> None:
    """Nobody is there any more."""


async def _until(is_so: Callable[[], bool]) -> None:
    """Wait for what another thread changes."""
    while not is_so():  # noqa: ASYNC110 - an event is not of two threads
        await asyncio.sleep(PAUSE_SECONDS)
