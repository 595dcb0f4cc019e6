"""Clients that read repeatedly, and record the answers."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2

from tests.simulation.reads.marks import Mark, read_mark

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Question:
    """A read: a worksheet or a row of it, and how it is asked for."""

    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Result of a request; `began` is in seconds of the monotonic clock."""

    path: str
    began: float
    seconds: float
    status: int
    """0: the connection failed."""
    code: int = 0
    """Of an error's body."""
    retry_after: str = ""
    mark: Mark | None = None

    @property
    def is_fresh(self) -> bool:
        return self.status == 200 and self.mark is not None and not self.mark.is_stale


@dataclass(kw_only=True)
class Visitor:
    """One client with a key, and the replies that it had."""

    client: httpx2.AsyncClient = field(repr=False)
    replies: list[Reply] = field(default_factory=list)

    async def ask(self, question: Question) -> Reply:
        """One read; the reply is kept, too."""
        began = time.monotonic()
        try:
            answer = await self.client.get(
                f"/v2/sheets/{question.path}",
                params=dict(question.parameters),
                headers=dict(question.headers),
            )
        except httpx2.TransportError:
            seconds = time.monotonic() - began
            reply = Reply(path=question.path, began=began, seconds=seconds, status=0)
        else:
            reply = _reply(question.path, began, answer)
        self.replies.append(reply)
        return reply

    async def poll(
        self, questions: Iterator[Question], *, every_seconds: float, wait_seconds: float = 0.0
    ) -> None:
        """Ask one question after the other at a steady pace, until cancelled."""
        due = time.monotonic() + wait_seconds
        for question in questions:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = max(due + every_seconds, time.monotonic())
            await self.ask(question)


@asynccontextmanager
async def visitor(url: str, key: str, spreadsheet: str) -> AsyncIterator[Visitor]:
    """A client with as many connections as it needs."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    headers = {"Authorization": f"Bearer {key}", "X-Spreadsheet-Id": spreadsheet}
    async with httpx2.AsyncClient(
        base_url=url, headers=headers, limits=limits, timeout=PATIENCE_SECONDS
    ) as client:
        yield Visitor(client=client)


def _reply(path: str, began: float, answer: httpx2.Response) -> Reply:
    return Reply(
        path=path,
        began=began,
        seconds=time.monotonic() - began,
        status=answer.status_code,
        code=0 if answer.is_success else answer.json()["code"],
        retry_after=answer.headers.get("retry-after", ""),
        mark=read_mark(answer.headers) if answer.is_success else None,
    )
