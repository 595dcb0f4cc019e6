"""Guards: behaviour added to every call of a `Sheets` (retry, circuit breaker, quota, metrics).

A guard sees one Google call at a time and whether it writes, but not which operation it is.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from gateway.google.call_context import record_sent_at
from gateway.google.sheets import (
    Batch,
    Fence,
    Render,
    Rendering,
    Sheets,
    SheetView,
    Value,
    Values,
    WorksheetProperties,
    Writing,
)
from gateway.telemetry.events import upstream_called

T = TypeVar("T")


class Guard(Protocol):
    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        """Make the call once, several times or not at all, and return its result."""
        ...


class GuardedSheets:
    """A `Sheets` whose calls pass through `guards`, the outermost first."""

    def __init__(self, inner: Sheets, *guards: Guard) -> None:
        self._inner = inner
        self._guards = guards

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        return await self._read(lambda: self._inner.read_values(spreadsheet, range_, render=render))

    async def read_columns(
        self, spreadsheet: str, range_: str, *, render: Render, known: bytes | None = None
    ) -> Rendering | None:
        return await self._read(
            lambda: self._inner.read_columns(spreadsheet, range_, render=render, known=known)
        )

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> list[Values]:
        return await self._read(lambda: self._inner.read_ranges(spreadsheet, ranges))

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        return await self._read(lambda: self._inner.list_worksheets(spreadsheet))

    async def read_sheet(self, spreadsheet: str, ranges: Sequence[str]) -> SheetView:
        return await self._read(lambda: self._inner.read_sheet(spreadsheet, ranges))

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        return await self._write(lambda: self._inner.apply(spreadsheet, batch))

    async def put_fence(self, spreadsheet: str, fence: Fence) -> None:
        await self._write(lambda: self._inner.put_fence(spreadsheet, fence))

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        return await self._read(lambda: self._inner.fence_tokens(spreadsheet, fence_id))

    async def fence_ids(self, spreadsheet: str, key: str) -> Sequence[int]:
        return await self._read(lambda: self._inner.fence_ids(spreadsheet, key))

    async def append_rows(
        self, spreadsheet: str, anchor: str, rows: Sequence[Sequence[Value]]
    ) -> Values:
        return await self._write(lambda: self._inner.append_rows(spreadsheet, anchor, rows))

    async def write_cells(self, spreadsheet: str, writings: Sequence[Writing]) -> list[Values]:
        return await self._write(lambda: self._inner.write_cells(spreadsheet, writings))

    async def grow_grid(self, spreadsheet: str, sheet_id: int, rows: int) -> None:
        await self._write(lambda: self._inner.grow_grid(spreadsheet, sheet_id, rows))

    async def _read(self, call: Callable[[], Awaitable[T]]) -> T:
        return await self._guarded(call, is_write=False)

    async def _write(self, call: Callable[[], Awaitable[T]]) -> T:
        return await self._guarded(call, is_write=True)

    async def _guarded(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        for guard in reversed(self._guards):
            call = partial(guard, call, is_write=is_write)
        return await call()


class Counted:
    """Guard that counts and times each call for its request, and records when it is sent."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        started = self._clock()
        record_sent_at(started)
        error: BaseException | None = None
        try:
            return await call()
        except BaseException as raised:
            error = raised
            raise
        finally:
            seconds = self._clock() - started
            upstream_called(is_write=is_write, seconds=seconds, error=error)
