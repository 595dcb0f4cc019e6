"""Google Sheets as the gateway's `Sheets`: each method makes a call and sends it.

Rules of joined reads
- Complete reads of several worksheets of one spreadsheet in one rendering become one call, if they
  begin together or while the first of them waits for the quota. Worksheets that were not read
  before, or are read by their ids, are read alone, so that an error of one of them, such as a wrong
  title, does not affect the others.
- If Google refuses a joined call, or its answer is too large, each worksheet is read alone, and the
  reads of this spreadsheet are not joined for `APART_SECONDS`.
- The call is for the keys of all its reads, and is sent at the earliest of their turns.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from gateway.errors import SheetTooLarge, UpstreamRefusal
from gateway.google.calls import (
    Apply,
    Call,
    ChangeFences,
    FindFences,
    JoinedRead,
    ListWorksheets,
    ReadArea,
    ReadColumns,
    ReadRanges,
    ReadSeveral,
    ReadSheet,
    ReadSpreadsheet,
    ReadValues,
)
from gateway.google.sheets import (
    Batch,
    Beneficiaries,
    Detail,
    Fence,
    KnownRange,
    Render,
    Rendering,
    SentAt,
    SheetArea,
    SheetView,
    SpreadsheetView,
    Values,
    WorksheetProperties,
    current_call_context,
    in_call_context,
)

T = TypeVar("T")

APART_SECONDS = 300.0

MAX_RANGE_BYTES = 4_000
"""Maximum size of the ranges of a joined call, which are part of its URL."""


class Send(Protocol):
    """Function that sends a call, as one account or through the service's pipeline."""

    async def __call__(self, call: Call[T], /) -> T: ...


@dataclass(kw_only=True)
class _Joined:
    """Joined reads, each with its answer, and the callers that wait for them."""

    ranges: list[KnownRange] = field(default_factory=list)
    answers: list[asyncio.Future[Rendering | None]] = field(default_factory=list)
    beneficiaries: Beneficiaries = field(default_factory=Beneficiaries)
    sent_at: SentAt = field(default_factory=SentAt)
    byte_count: int = 0
    is_open: bool = True


class GoogleSheets:
    """Google Sheets through a `Send`: a `Sheets`."""

    def __init__(self, send: Send, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._send = send
        self._clock = clock
        self._joined: dict[tuple[str, Render], _Joined] = {}
        """Calls that further reads may join until they are sent, by spreadsheet and rendering."""
        self._apart_until: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        return await self._send(ReadValues(spreadsheet, range_, render))

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        if isinstance(range_, SheetArea):
            return await self._send(ReadArea(spreadsheet, range_, render, known))
        is_apart = self._apart_until.get(spreadsheet, 0.0) > self._clock()
        if known is not None and not is_apart:
            try:
                return await self._read_joined(spreadsheet, render, KnownRange(range_, known))
            except _Apart:
                pass
        return await self._send(ReadColumns(spreadsheet, range_, render, known))

    async def read_several(
        self, spreadsheet: str, ranges: Sequence[KnownRange], *, render: Render
    ) -> list[Rendering | None]:
        return await self._send(ReadSeveral(spreadsheet, ranges, render))

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> Sequence[Values]:
        return await self._send(ReadRanges(spreadsheet, ranges))

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        return await self._send(ListWorksheets(spreadsheet))

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, detail: Detail = Detail.VALUES
    ) -> SheetView:
        return await self._send(ReadSheet(spreadsheet, ranges, detail))

    async def read_spreadsheet(self, spreadsheet: str, ranges: Sequence[str]) -> SpreadsheetView:
        return await self._send(ReadSpreadsheet(spreadsheet, ranges))

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        return await self._send(Apply(spreadsheet, batch))

    async def put_fence(
        self, spreadsheet: str, *fences: Fence, forgotten: Sequence[int] = ()
    ) -> None:
        await self._send(ChangeFences(spreadsheet, fences[0].key, forgotten, fences))

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        ids = [each.id for each in fences]
        await self._send(ChangeFences(spreadsheet, fences[0].key, ids))

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        found = await self._send(FindFences(spreadsheet, id=fence_id))
        return [each.token for each in found]

    async def find_fences(self, spreadsheet: str, key: str | None = None) -> Sequence[Fence]:
        return await self._send(FindFences(spreadsheet, key))

    async def _read_joined(
        self, spreadsheet: str, render: Render, wanted: KnownRange
    ) -> Rendering | None:
        """Join the read to an unsent call, or begin one. Raises `_Apart` if that call fails."""
        context = current_call_context()
        answer: asyncio.Future[Rendering | None] = asyncio.get_running_loop().create_future()
        kind, byte_count = (spreadsheet, render), len(quote(wanted.range))
        joined = self._joined.get(kind)
        if joined is None or not joined.is_open or joined.byte_count + byte_count > MAX_RANGE_BYTES:
            joined = self._joined[kind] = _Joined()
            own = replace(context, beneficiaries=joined.beneficiaries, sent_at=joined.sent_at)
            with in_call_context(own):
                task = asyncio.create_task(self._read_parts(kind, joined))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        joined.ranges.append(wanted)
        joined.answers.append(answer)
        joined.byte_count += byte_count
        joined.beneficiaries.join_as(context)
        if context.sent_at is not None:
            joined.sent_at.outer.append(context.sent_at)
        return await answer

    async def _read_parts(self, kind: tuple[str, Render], joined: _Joined) -> None:
        spreadsheet, render = kind

        def close() -> Call[Any]:
            """End joining, and return the call for all joined reads."""
            joined.is_open = False
            if len(joined.ranges) > 1:
                return ReadSeveral(spreadsheet, joined.ranges, render)
            [(range_, known)] = joined.ranges
            return ReadColumns(spreadsheet, range_, render, known)

        error: Exception | None = None
        found: Any = None
        try:
            found = await self._send(JoinedRead(spreadsheet, close))
        except Exception as failure:
            error = failure
        finally:
            if self._joined.get(kind) is joined:
                del self._joined[kind]
        is_single = len(joined.ranges) == 1
        if isinstance(error, UpstreamRefusal | SheetTooLarge) and not is_single:
            now = self._clock()
            self._apart_until = {each: at for each, at in self._apart_until.items() if at > now}
            self._apart_until[spreadsheet] = now + APART_SECONDS
            error = _Apart()
        for number, answer in enumerate(joined.answers):
            if answer.done():  # cancelled
                continue
            if error is None:
                answer.set_result(found if is_single else found[number])
            else:
                answer.set_exception(error)


class _Apart(Exception):
    """A joined call failed, and its reads must be made one by one."""
