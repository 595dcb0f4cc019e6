"""The `Sheets` Protocol: what the gateway asks of Google Sheets.

`gateway.google.adapter` ends it on the real API (or the emulator), a guard wraps another
`Sheets`, and the tests bring a fake. Ranges are A1 text made by `gateway.table.a1` only.

Every method may raise
    SpreadsheetNotFound, SpreadsheetNotShared, UnsupportedDocument    the spreadsheet
    UpstreamRefusal                                                   400 INVALID_ARGUMENT
    QuotaSpent, UpstreamAuth, UpstreamError, UpstreamUnreachable      Google or the way to it
A read besides: UpstreamTimeout, SheetTooLarge. A write besides: WriteOutcomeUnknown; any other
error of a write carries `outcome="not_applied"`, as Google applies a request wholly or not at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

Value = str | int | float | bool | None
"""A cell on the wire. Written: None leaves the cell as it is, "" empties it."""

Column = tuple[Value, ...]
"""The cells of one column from its top, blank ones at the end left out."""


class Render(StrEnum):
    """How values come back: as the sheet displays them, or typed with dates as serial numbers."""

    DISPLAYED = "FORMATTED_VALUE"
    TYPED = "UNFORMATTED_VALUE"


@dataclass(frozen=True, kw_only=True)
class Values:
    """Cells that were read or written: the range as Google echoes it, and its cells by row.

    Blank cells at the end of a row and blank rows at the end are left out.
    """

    range: str
    cells: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """A whole worksheet in one rendering: its columns from A1, blank cells at their ends left out.

    `range` as Google echoes it; `digest` of Google's answer: equal digests, equal renderings;
    `byte_count`: about what the rendering takes in memory.
    """

    range: str
    columns: tuple[Column, ...]
    digest: bytes
    byte_count: int


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Cells to write, row by row, from the first cell of `range`."""

    range: str
    rows: Sequence[Sequence[Value]]


@dataclass(frozen=True, kw_only=True)
class WorksheetProperties:
    """One worksheet as `spreadsheets.get` lists it; rows and columns are the size of its grid."""

    sheet_id: int
    title: str
    rows: int
    columns: int


class Sheets(Protocol):
    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        """The cells of one range, row by row. 1 read."""
        ...

    async def read_columns(
        self, spreadsheet: str, range_: str, *, render: Render, known: bytes | None = None
    ) -> Rendering | None:
        """All cells of a range by column; None if the answer has the digest `known`. 1 read.

        Raises `SheetTooLarge` too if they would take more memory than is allowed.
        """
        ...

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> list[Values]:
        """The displayed cells of several ranges as of one moment, row by row, in order. 1 read."""
        ...

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        """All grid worksheets in the order of their tabs. 1 read."""
        ...

    async def append_rows(
        self, spreadsheet: str, anchor: str, rows: Sequence[Sequence[Value]]
    ) -> Values:
        """Insert the rows under the table at `anchor`, or at it if it is blank. 1 write.

        Gives where they are and what they display. Values are stored as they are (RAW), or as
        typed in by a person, whichever is set.
        """
        ...

    async def write_cells(self, spreadsheet: str, writings: Sequence[Writing]) -> list[Values]:
        """Write several ranges, all or none, and give what they display now. 1 write."""
        ...

    async def grow_grid(self, spreadsheet: str, sheet_id: int, rows: int) -> None:
        """Add so many blank rows at the end of a worksheet's grid. 1 write."""
        ...
