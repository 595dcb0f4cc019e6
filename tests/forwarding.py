"""Base class of `Sheets` that forward every call, for wrappers that add behaviour."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeVar

from gateway.google.sheets import (
    Batch,
    Detail,
    Fence,
    KnownRange,
    Render,
    Rendering,
    SheetArea,
    Sheets,
    SheetView,
    SpreadsheetView,
    Values,
    WorksheetProperties,
)

T = TypeVar("T")

Kind = Literal[
    "read_values",
    "read_columns",
    "read_several",
    "read_ranges",
    "list_worksheets",
    "read_sheet",
    "read_spreadsheet",
    "apply",
    "put_fence",
    "delete_fences",
    "fence_tokens",
    "find_fences",
]
WRITES: frozenset[Kind] = frozenset({"apply", "put_fence", "delete_fences"})

Call = Callable[[Sheets], Awaitable[T]]
"""Function that makes one call of a `Sheets`."""


class ForwardingSheets(ABC):
    """`Sheets` whose subclasses implement `forward`."""

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        return await self.forward(
            spreadsheet,
            lambda sheets: sheets.read_values(spreadsheet, range_, render=render),
            kind="read_values",
        )

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        return await self.forward(
            spreadsheet,
            lambda sheets: sheets.read_columns(spreadsheet, range_, render=render, known=known),
            kind="read_columns",
        )

    async def read_several(
        self, spreadsheet: str, ranges: Sequence[KnownRange], *, render: Render
    ) -> list[Rendering | None]:
        return await self.forward(
            spreadsheet,
            lambda sheets: sheets.read_several(spreadsheet, ranges, render=render),
            kind="read_several",
        )

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> Sequence[Values]:
        return await self.forward(
            spreadsheet, lambda sheets: sheets.read_ranges(spreadsheet, ranges), kind="read_ranges"
        )

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        return await self.forward(
            spreadsheet, lambda sheets: sheets.list_worksheets(spreadsheet), kind="list_worksheets"
        )

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, detail: Detail = Detail.VALUES
    ) -> SheetView:
        return await self.forward(
            spreadsheet,
            lambda sheets: sheets.read_sheet(spreadsheet, ranges, detail=detail),
            kind="read_sheet",
        )

    async def read_spreadsheet(self, spreadsheet: str, ranges: Sequence[str]) -> SpreadsheetView:
        return await self.forward(
            spreadsheet,
            lambda sheets: sheets.read_spreadsheet(spreadsheet, ranges),
            kind="read_spreadsheet",
        )

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        return await self.forward(
            spreadsheet, lambda sheets: sheets.apply(spreadsheet, batch), kind="apply"
        )

    async def put_fence(
        self, spreadsheet: str, *fences: Fence, forgotten: Sequence[int] = ()
    ) -> None:
        await self.forward(
            spreadsheet,
            lambda sheets: sheets.put_fence(spreadsheet, *fences, forgotten=forgotten),
            kind="put_fence",
        )

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        await self.forward(
            spreadsheet,
            lambda sheets: sheets.delete_fences(spreadsheet, fences),
            kind="delete_fences",
        )

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        return await self.forward(
            spreadsheet,
            lambda sheets: sheets.fence_tokens(spreadsheet, fence_id),
            kind="fence_tokens",
        )

    async def find_fences(self, spreadsheet: str, key: str | None = None) -> Sequence[Fence]:
        return await self.forward(
            spreadsheet, lambda sheets: sheets.find_fences(spreadsheet, key), kind="find_fences"
        )

    @abstractmethod
    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        """Make the call on the wrapped `Sheets`."""
