"""Windows: the few rows of a large worksheet that a page or a row needs.

Rules
- Only worksheets that were seen to be large are read so; filters, sorts and totals need all rows.
- A window is read with its header in one call. Where its last rows are blank, one more call tells
  whether anything follows them: after the last row that is not blank nothing is listed.
- Windows are joined, kept for the ttl and served stale as snapshots are, and no write is missed:
  what began before a write ended is not served after it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cachetools import LRUCache

from gateway.errors import (
    GatewayError,
    RowNotFound,
    SheetTooLarge,
    UpstreamRefusal,
)
from gateway.google.call_context import recording_sent_at
from gateway.google.sheets import Sheets
from gateway.settings.model import CacheSettings
from gateway.table import a1
from gateway.table.header import Header, parse_header
from gateway.table.record import text_at
from gateway.table.table import Table
from gateway.worksheets.freshness import Freshness
from gateway.worksheets.header_cache import HeaderCache
from gateway.worksheets.loader import check_names
from gateway.worksheets.reading import NO_CACHE_SECONDS
from gateway.worksheets.refreshing import LOST
from gateway.worksheets.refusal import explain
from gateway.worksheets.single_flight import SingleFlight
from gateway.worksheets.stale_if_error import DEGRADING, not_fresh, reason_for
from gateway.worksheets.worksheet_id import WorksheetId, own_area

CELL_BYTES = 65
"""About what a cell takes beside its characters."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """Rows as they display, from `first_row` on; blank ones at the worksheet's end left out."""

    header: Header
    first_row: int
    rows: Sequence[Sequence[str]]
    has_next: bool

    @property
    def byte_count(self) -> int:
        return CELL_BYTES + sum(CELL_BYTES * len(row) + sum(map(len, row)) for row in self.rows)


class WindowRead(NamedTuple):
    """The window that answers, and how fresh it is."""

    window: Window
    freshness: Freshness


class _Kept(NamedTuple):
    window: Window
    began_seconds: float
    moment: int


_Key = tuple[WorksheetId, int, int]


class Windows:
    """`last_written` gives the moment of the last write to a worksheet."""

    def __init__(
        self,
        sheets: Sheets,
        header_cache: HeaderCache,
        *,
        settings: CacheSettings,
        clock: Callable[[], float],
        last_written: Callable[[WorksheetId], int],
    ) -> None:
        self._sheets = sheets
        self._header_cache = header_cache
        self._settings = settings
        self._clock = clock
        self._last_written = last_written
        self._large: LRUCache[WorksheetId, bool] = LRUCache(settings.max_worksheets)
        self._forced: LRUCache[WorksheetId, float] = LRUCache(settings.max_worksheets)
        self._flights: dict[_Key, tuple[int, SingleFlight[Window]]] = {}
        self._kept: LRUCache[_Key, _Kept] = LRUCache(
            settings.max_bytes // 8, getsizeof=lambda kept: kept.window.byte_count
        )

    def is_large(self, worksheet: WorksheetId) -> bool:
        return self._large.get(worksheet, False)

    def note_large(self, worksheet: WorksheetId) -> None:
        self._large[worksheet] = True

    def note_size(self, worksheet: WorksheetId, table: Table) -> None:
        """Remember whether a worksheet that was read whole is large."""
        self._large[worksheet] = sum(map(len, table.displayed)) > self._settings.window_above_cells

    async def read(
        self, worksheet: WorksheetId, first_row: int, count: int, *, no_cache: bool
    ) -> WindowRead:
        """So many rows from one on, and whether there are more. 0 to 2 reads."""
        key = (worksheet, first_row, count)
        kept, now = self._known(key), self._clock()
        is_forced = no_cache and now - self._forced.get(worksheet, -math.inf) >= NO_CACHE_SECONDS
        if is_forced:
            self._forced[worksheet] = now
        if kept is not None and not is_forced:
            freshness = self._freshness(kept.began_seconds, is_hit=True)
            if freshness.ttl_seconds > 0:
                return WindowRead(kept.window, freshness)
        flight = self._flight(key)
        try:
            window = await flight.outcome()
        except DEGRADING as error:
            if no_cache:
                raise not_fresh(error) from error
            spare = self._spare(key, reason_for(error))
            if spare is None:
                raise
            return spare
        return WindowRead(window, self._freshness(flight.began_seconds, is_hit=False))

    def _spare(self, key: _Key, reason: str) -> WindowRead | None:
        kept = self._known(key)
        if kept is None:
            return None
        freshness = self._freshness(kept.began_seconds, is_hit=True)
        if freshness.age_seconds > self._settings.max_stale_seconds:
            return None
        left = min(freshness.ttl_seconds, 0.0)
        return WindowRead(kept.window, freshness._replace(ttl_seconds=left, reason=reason))

    def _freshness(self, began_seconds: float, *, is_hit: bool) -> Freshness:
        age = self._clock() - began_seconds
        left = self._settings.rows_ttl_seconds - age
        return Freshness(age, left if is_hit else max(left, 0.0), is_hit)

    def _known(self, key: _Key) -> _Kept | None:
        kept = self._kept.get(key)
        return kept if kept is not None and kept.moment > self._last_written(key[0]) else None

    def _flight(self, key: _Key) -> SingleFlight[Window]:
        moment, under_way = self._flights.get(key, (-1, None))
        if under_way is not None and moment > self._last_written(key[0]):
            return under_way
        moment = self._header_cache.moment()
        flight = SingleFlight(self._fly(key, moment), self._clock())
        self._flights[key] = moment, flight
        return flight

    async def _fly(self, key: _Key, moment: int) -> Window:
        began = self._clock()
        try:
            with recording_sent_at() as sent_at:
                window = await self._look(*key, moment)
            began = sent_at.at_seconds or began
        except LOST:
            for lost in [each for each in self._kept if each[0] == key[0]]:
                del self._kept[lost]
            raise
        finally:
            if self._flights.get(key, (-1, None))[0] == moment:
                del self._flights[key]
        if window.byte_count <= self._kept.maxsize:
            self._kept[key] = _Kept(window, began, moment)
        return window

    async def _look(
        self, worksheet: WorksheetId, first_row: int, count: int, moment: int
    ) -> Window:
        last_row = first_row + count  # one more than asked for: does anything follow?
        ranges = [
            a1.header_range(worksheet.title),
            a1.rows_between(worksheet.title, first_row, last_row),
        ]
        try:
            top, found = await self._sheets.read_ranges(worksheet.spreadsheet, ranges)
        except UpstreamRefusal as refusal:
            error = await explain(self._sheets, worksheet, refusal, row=first_row)
            if isinstance(error, RowNotFound):
                return _nothing(first_row)
            raise error from refusal
        header = parse_header(top.cells[0] if top.cells else ())
        area = own_area(worksheet, found.range)
        self._header_cache.compare(worksheet, header, as_of=moment)
        check_names(header)
        rows = [[text_at(line, column) for column in range(len(line))] for line in found.cells]
        filled = 1 + max((at for at, texts in enumerate(rows) if any(texts)), default=-1)
        has_next = filled > count
        if not has_next and area.last_row == last_row:
            has_next = await self._goes_on(worksheet, last_row + 1)
        rows = [*rows, *[[] for _ in range(count - len(rows))]] if has_next else rows[:filled]
        return Window(header=header, first_row=first_row, rows=rows[:count], has_next=has_next)

    async def _goes_on(self, worksheet: WorksheetId, row: int) -> bool:
        """Whether a row from this one on is not blank. 1 read, 2 past the end of the grid."""
        try:
            (below,) = await self._sheets.read_ranges(
                worksheet.spreadsheet, [a1.rows_from(worksheet.title, row)]
            )
        except SheetTooLarge:
            return True
        except UpstreamRefusal as refusal:
            error: GatewayError = await explain(self._sheets, worksheet, refusal, row=row)
            if isinstance(error, RowNotFound):
                return False
            raise error from refusal
        return any(map(any, below.cells))


def _nothing(first_row: int) -> Window:
    return Window(header=parse_header(()), first_row=first_row, rows=(), has_next=False)
