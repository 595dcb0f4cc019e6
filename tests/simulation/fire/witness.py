"""Google's side of the matter: which rows it left their writers in the dark about.

Rules
- Nothing of an exchange is changed, and `receive` goes on with its `__self__`: the emulator closes
  connections by it.
- An append that got no answer in time tells nothing of its rows; nor does, about the last append
  to a worksheet, a read of that worksheet that failed.
"""

import re
import time
from collections.abc import Set
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.exchanges import Hearing

NUMBER = re.compile(rb'"id:(\d+)"')
WORKSHEET = re.compile(rb"Fire\d+")
FAILURES = 500


@dataclass(kw_only=True)
class Speech:
    """A `send` that records the status of the answer, 0 before it."""

    send: Send
    status: int = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self.send(message)


@dataclass(kw_only=True)
class Witness:
    """The emulator's application, and the numbers of the rows that may be `unknown`."""

    app: ASGIApp
    patience_seconds: float
    appends: int = 0
    lost: set[int] = field(default_factory=set)
    last: dict[bytes, Set[int]] = field(default_factory=dict)
    """The rows of the last append to each worksheet."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: bytes = (scope.get("raw_path") or b"") + scope.get("query_string", b"")
        found = WORKSHEET.search(path)
        if scope["type"] != "http" or found is None:
            await self.app(scope, receive, send)
            return
        is_append = scope["path"].endswith(":append")
        hearing, speech = Hearing(receive=receive), Speech(send=send)
        began = time.monotonic()
        try:
            await self.app(scope, hearing, speech)
        except ClientDisconnect:
            return  # the gateway was killed while it sent this
        finally:
            is_late = time.monotonic() - began >= self.patience_seconds
            is_lost = is_late or not speech.status
            if is_append:
                self.appends += 1
                self.last[found[0]] = {int(number) for number in NUMBER.findall(hearing.heard)}
            if is_lost or (not is_append and speech.status >= FAILURES):
                self.lost |= self.last.get(found[0], set())
