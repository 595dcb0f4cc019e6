"""Wrap a `Sheets` so that every call goes through guards.

A guard sees one call to Google at a time, and whether it writes; not which call it is.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from gateway.google.sheets import (
    Render,
    Rendering,
    Sheets,
    Value,
    Values,
    WorksheetProperties,
    Writing,
)

T = TypeVar("T")


class Guard(Protocol):
    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        """Make the call, once, several times or not at all, and give what it gives."""
        ...


class GuardedSheets:
    """A `Sheets` whose calls pass guards, given from the outside in."""

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
