"""Google's side of the reads: when it was called, and for which worksheet.

Rules
- Nothing of an exchange is changed, and `receive` goes on as it is: the emulator closes connections
  by it.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

TITLE = re.compile(r"Reads\d+")
CALLS = "/v4/"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call; `at` is in seconds of the monotonic clock, `title` "" where it names no worksheet."""

    at: float
    title: str


@dataclass(kw_only=True)
class Watch:
    """The emulator's application, and the calls that came to it."""

    app: ASGIApp
    calls: list[Call] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(CALLS):
            asked = unquote(scope["path"] + "?" + scope["query_string"].decode("latin-1"))
            found = TITLE.search(asked)
            self.calls.append(Call(at=time.monotonic(), title=found[0] if found else ""))
        await self.app(scope, receive, send)

    def between(self, start: float, end: float) -> Sequence[Call]:
        """The calls of a time, in their order."""
        return [call for call in self.calls if start <= call.at < end]
