"""Reads of several worksheets of a spreadsheet in one call.

Rules
- Reads of all cells of worksheets of one spreadsheet in one rendering are one call, if they begin
  together or while the first of them waits for the quota. Worksheets that were not read before, or
  are read by their ids, are read alone: what is wrong with one of them, such as its title, must not
  concern the others.
- If Google refuses such a call, or its answer is too large, each worksheet is read alone, and those
  of this spreadsheet stay apart for `APART_SECONDS`.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

from gateway.errors import SheetTooLarge, UpstreamRefusal
from gateway.google.call_context import Beneficiaries, current_call_context, record_sent_at
from gateway.google.forwarding import Call, ForwardingSheets
from gateway.google.sheets import KnownRange, Render, Rendering, SheetArea, Sheets

T = TypeVar("T")

APART_SECONDS = 300.0

MAX_RANGE_BYTES = 4_000
"""The ranges of a call go into its URL."""


@dataclass(kw_only=True)
class _Part:
    """A read; `context` is that of its request."""

    wanted: KnownRange
    answer: asyncio.Future[Rendering | None]
    context: Context = field(default_factory=copy_context)


@dataclass(kw_only=True)
class _Merged:
    """Reads that go together; `beneficiaries` are the keys for which the first one waits."""

    parts: list[_Part]
    beneficiaries: Beneficiaries | None
    byte_count: int


class MergingSheets(ForwardingSheets):
    def __init__(self, inner: ForwardingSheets, *, clock: Callable[[], float]) -> None:
        self._inner = inner
        self._clock = clock
        self._open: dict[tuple[str, Render], _Merged] = {}
        """Calls that are not sent yet."""
        self._apart_until: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        is_apart = self._apart_until.get(spreadsheet, 0.0) > self._clock()
        if known is None or is_apart or isinstance(range_, SheetArea):
            return await self._inner.read_columns(spreadsheet, range_, render=render, known=known)
        part = _Part(
            wanted=KnownRange(range_, known), answer=asyncio.get_running_loop().create_future()
        )
        self._join((spreadsheet, render), part)
        try:
            return await part.answer
        except _Apart:
            return await self._inner.read_columns(spreadsheet, range_, render=render, known=known)

    async def forward(self, spreadsheet: str, call: Call[T], *, is_write: bool) -> T:
        return await self._inner.forward(spreadsheet, call, is_write=is_write)

    def _join(self, kind: tuple[str, Render], part: _Part) -> None:
        """Add a read to the call of its kind that is not sent yet, or begin one."""
        merged, byte_count = self._open.get(kind), len(quote(part.wanted.range))
        call_context = current_call_context()
        if merged is not None and merged.byte_count + byte_count <= MAX_RANGE_BYTES:
            merged.parts.append(part)
            merged.byte_count += byte_count
            if merged.beneficiaries and call_context.beneficiaries:
                call_context.beneficiaries.follow(merged.beneficiaries.join)
            return
        merged = self._open[kind] = _Merged(
            parts=[part], beneficiaries=call_context.beneficiaries, byte_count=byte_count
        )
        task = asyncio.get_running_loop().create_task(self._read(kind, merged))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, kind: tuple[str, Render], merged: _Merged) -> None:
        spreadsheet, render = kind
        error: Exception | None = None
        answers: list[Rendering | None] = []

        async def send(sheets: Sheets) -> list[Rendering | None]:
            """Read what has joined by now: the quota has come."""
            self._close(kind, merged)
            for part in merged.parts:
                part.context.run(record_sent_at, self._clock())
            ranges = [part.wanted for part in merged.parts]
            if len(ranges) > 1:
                return await sheets.read_several(spreadsheet, ranges, render=render)
            (only,) = ranges
            return [
                await sheets.read_columns(spreadsheet, only.range, render=render, known=only.known)
            ]

        try:
            answers = await self._inner.forward(spreadsheet, send, is_write=False)
        except Exception as failure:
            error = failure
        finally:
            self._close(kind, merged)
        if isinstance(error, UpstreamRefusal | SheetTooLarge) and len(merged.parts) > 1:
            self._keep_apart(spreadsheet)
            error = _Apart()
        for number, part in enumerate(merged.parts):
            if part.answer.done():  # cancelled
                continue
            if error is None:
                part.answer.set_result(answers[number])
            else:
                part.answer.set_exception(error)

    def _close(self, kind: tuple[str, Render], merged: _Merged) -> None:
        if self._open.get(kind) is merged:
            del self._open[kind]

    def _keep_apart(self, spreadsheet: str) -> None:
        now = self._clock()
        self._apart_until = {each: at for each, at in self._apart_until.items() if at > now}
        self._apart_until[spreadsheet] = now + APART_SECONDS


class _Apart(Exception):
    """The reads of a call have to be made one by one."""
