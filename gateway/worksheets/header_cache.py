"""Header cache: header and extent of a worksheet, by its last read.

Rules
- It saves creates a read, and lists the wait for one; updates never trust it.
- It never replaces newer data by older.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from gateway.google.sheets import SheetView
from gateway.table.header import Header


@dataclass(frozen=True, kw_only=True)
class SheetExtent:
    """A worksheet's header and its end.

    `as_of` is the moment at which the last row was known: the start of the read or the end of our
    append, as counted by `Worksheet.moment`. `header_as_of` is when the header's read began, in
    seconds of the monotonic clock.
    """

    header: Header
    last_row: int
    """The last row that is not blank, or one above it; from 1."""
    is_end: bool = False
    """True if it was the last row when it was seen."""
    header_as_of: float
    as_of: int


class _SeenHeader(NamedTuple):
    """The cells of the header by its last read, which began at this moment."""

    cells: tuple[str, ...]
    as_of: int


def digest_of(header: Header) -> bytes:
    """A digest of a header's cells."""
    return hashlib.sha256("\0".join(header.cells).encode()).digest()


class HeaderCache:
    """`clock` is monotonic, in seconds; `moment` numbers the events of the worksheet."""

    def __init__(
        self, *, ttl_seconds: float, clock: Callable[[], float], moment: Callable[[], int]
    ) -> None:
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._moment = moment
        self._extent: SheetExtent | None = None
        self._as_of = -1
        """The moment of the extent, or of a change after which none is known."""
        self._seen: _SeenHeader | None = None
        self._sheet: tuple[int, float] | None = None
        self.frozen_rows = 0
        """The frozen rows, as last seen with the sheet id."""

    def seen_sheet(self, view: SheetView, seconds: float | None = None) -> float:
        """Keep the sheet id, seen at a time or now; returns the time."""
        seconds = self._clock() if seconds is None else seconds
        self._sheet = (view.sheet_id, seconds)
        self.frozen_rows = view.frozen_rows
        return seconds

    def fresh_sheet(self) -> int | None:
        """The sheet id, if it is as fresh as a header: a tab may be renamed while another takes
        its title."""
        if self._sheet is None or self._clock() - self._sheet[1] >= self._ttl_seconds:
            return None
        return self._sheet[0]

    def last_sheet(self) -> int | None:
        """The sheet id, however old."""
        return self._sheet and self._sheet[0]

    def fresh(self) -> SheetExtent | None:
        """The extent, if its header is fresh."""
        extent = self._extent
        if extent is None or self._clock() - extent.header_as_of >= self._ttl_seconds:
            return None
        return extent

    def last(self) -> SheetExtent | None:
        """The extent, however old, as a hint where to read."""
        return self._extent

    def keep(self, extent: SheetExtent) -> None:
        """Cache an extent, unless a newer one or a later change is known."""
        if self._seen is not None and self._seen.cells != extent.header.cells:
            return
        if self._as_of <= extent.as_of:
            self._extent, self._as_of = extent, extent.as_of

    def forget(self) -> None:
        """Discard everything read so far, including reads that are running."""
        self._extent, self._as_of, self._sheet = None, self._moment(), None

    def adopt(
        self, sheet_id: int | None, header_digest: bytes | None, last_row: int | None, *, as_of: int
    ) -> None:
        """Take over where the rows end after writes of another process, known at `as_of`.

        Keep what was read later. Forget everything if the other knew another tab or header.
        """
        extent, sheet = self._extent, self._sheet
        if extent is not None and extent.as_of > as_of:
            return
        if (
            extent is None
            or sheet is None
            or sheet[0] != sheet_id
            or last_row is None
            or digest_of(extent.header) != header_digest
        ):
            self.forget()
        else:
            self._as_of = self._moment()
            self._extent = replace(extent, last_row=last_row, is_end=False, as_of=self._as_of)

    def compare(self, header: Header, *, as_of: int) -> None:
        """Take in the header of a read that began at `as_of`.

        Forget an extent with another header, unless it is from a later read; and the sheet id: the
        header may be that of another tab, which has the title now.
        """
        if self._seen is not None and as_of < self._seen.as_of:
            return
        self._seen = _SeenHeader(header.cells, as_of)
        if self._extent is not None and self._extent.header.cells != header.cells:
            self._extent, self._as_of, self._sheet = None, max(as_of, self._as_of), None
