"""Behaviour added to a `Sheets` by wrapping it: each guard is itself a `Sheets`."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gateway.observe import upstream_called
from gateway.upstream.base import (
    Dimension,
    Render,
    Sheets,
    Value,
    Values,
    WorksheetProperties,
    Writing,
)


class CountedSheets:
    """Counts and times every call for the request that made it."""

    def __init__(self, inner: Sheets, clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._clock = clock

    async def read_values(
        self, spreadsheet: str, range_: str, *, render: Render, dimension: Dimension
    ) -> Values:
        with self._counted(is_write=False):
            return await self._inner.read_values(
                spreadsheet, range_, render=render, dimension=dimension
            )

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> list[Values]:
        with self._counted(is_write=False):
            return await self._inner.read_ranges(spreadsheet, ranges)

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        with self._counted(is_write=False):
            return await self._inner.list_worksheets(spreadsheet)

    async def append_rows(
        self, spreadsheet: str, anchor: str, rows: Sequence[Sequence[Value]]
    ) -> Values:
        with self._counted(is_write=True):
            return await self._inner.append_rows(spreadsheet, anchor, rows)

    async def write_cells(self, spreadsheet: str, writings: Sequence[Writing]) -> list[Values]:
        with self._counted(is_write=True):
            return await self._inner.write_cells(spreadsheet, writings)

    async def grow_grid(self, spreadsheet: str, sheet_id: int, rows: int) -> None:
        with self._counted(is_write=True):
            await self._inner.grow_grid(spreadsheet, sheet_id, rows)

    @contextmanager
    def _counted(self, *, is_write: bool) -> Iterator[None]:
        started = self._clock()
        try:
            yield
        finally:
            upstream_called(is_write=is_write, seconds=self._clock() - started)
