"""Waiting for Google's quota: calls of a test run are more than Google takes in a minute."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from gateway.errors import QuotaSpent
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

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

MOST_ATTEMPTS = 5
USUAL_WAIT_SECONDS = 60


async def patiently(call: Callable[[], Awaitable[T]], sleep: Sleep) -> T:
    """Call, and once more after the wait that is told whenever the quota is spent.

    Google refuses such a call before it does anything, so a write may be sent again too. Raises
    `QuotaSpent` if that is what the last attempt met.
    """
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return await call()
        except QuotaSpent as spent:
            await sleep(spent.retry_after_seconds or USUAL_WAIT_SECONDS)
    return await call()


@dataclass(frozen=True, kw_only=True)
class PatientSheets:
    """`Sheets` that waits for quota instead of failing for the lack of it."""

    inner: Sheets
    sleep: Sleep

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        read = partial(self.inner.read_values, render=render)
        return await patiently(lambda: read(spreadsheet, range_), self.sleep)

    async def read_columns(
        self, spreadsheet: str, range_: str, *, render: Render, known: bytes | None = None
    ) -> Rendering | None:
        read = partial(self.inner.read_columns, render=render, known=known)
        return await patiently(lambda: read(spreadsheet, range_), self.sleep)

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> list[Values]:
        return await patiently(lambda: self.inner.read_ranges(spreadsheet, ranges), self.sleep)

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        return await patiently(lambda: self.inner.list_worksheets(spreadsheet), self.sleep)

    async def read_sheet(self, spreadsheet: str, ranges: Sequence[str]) -> SheetView:
        return await patiently(lambda: self.inner.read_sheet(spreadsheet, ranges), self.sleep)

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        return await patiently(lambda: self.inner.apply(spreadsheet, batch), self.sleep)

    async def put_fence(self, spreadsheet: str, fence: Fence) -> None:
        await patiently(lambda: self.inner.put_fence(spreadsheet, fence), self.sleep)

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        await patiently(lambda: self.inner.delete_fences(spreadsheet, fences), self.sleep)

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        return await patiently(lambda: self.inner.fence_tokens(spreadsheet, fence_id), self.sleep)

    async def fence_ids(self, spreadsheet: str, key: str) -> Sequence[int]:
        return await patiently(lambda: self.inner.fence_ids(spreadsheet, key), self.sleep)

    async def append_rows(
        self, spreadsheet: str, anchor: str, rows: Sequence[Sequence[Value]]
    ) -> Values:
        return await patiently(
            lambda: self.inner.append_rows(spreadsheet, anchor, rows), self.sleep
        )

    async def write_cells(self, spreadsheet: str, writings: Sequence[Writing]) -> list[Values]:
        return await patiently(lambda: self.inner.write_cells(spreadsheet, writings), self.sleep)

    async def grow_grid(self, spreadsheet: str, sheet_id: int, rows: int) -> None:
        await patiently(lambda: self.inner.grow_grid(spreadsheet, sheet_id, rows), self.sleep)
