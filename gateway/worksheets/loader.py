"""Worksheet loader: all rows or a window for reads, header and end for appends.

Rules: each read updates the header cache. A window is read with its header in one call. If its last
rows are blank, one more call reads it with all that follows: lists end with the last row that is
not blank.

All rows for a write are read by sheet id, so that they are of the tab that is written to.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gateway.errors import NoHeaderRow, NotFound, RowNotFound, SheetTooLarge, UpstreamRefusal
from gateway.google.call_context import recording_sent_at
from gateway.google.sheets import Render, Rendering, SheetArea, Sheets, SheetView, Values
from gateway.table import a1
from gateway.table.header import Header, parse_header
from gateway.table.patch import Column
from gateway.table.record import text_at
from gateway.table.table import make_table
from gateway.telemetry.events import google_refused, header_trouble
from gateway.worksheets.answers import Encodings
from gateway.worksheets.header_cache import HeaderCache, SheetExtent
from gateway.worksheets.refusal import explain, explaining
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.sharing import SharedState
from gateway.worksheets.snapshot import Origin, RowSpan, Snapshot
from gateway.worksheets.window import Window
from gateway.worksheets.worksheet_id import WorksheetId, own_area, own_sheet


class OtherTab(Exception):
    """The title is not, or no more, that of the tab with this sheet id."""


@dataclass(frozen=True, kw_only=True)
class TypedRead:
    """The typed rendering as read; no rendering if it is the known one."""

    rendering: Rendering | None
    began_seconds: float


class Loader:
    """Reads one worksheet."""

    def __init__(
        self,
        worksheet: WorksheetId,
        header_cache: HeaderCache,
        *,
        sheets: Sheets,
        scheduler: Scheduler,
        clock: Callable[[], float],
        shared: SharedState | None,
    ) -> None:
        self._id = worksheet
        self._shared = shared
        self._header_cache = header_cache
        self._sheets = sheets
        self._scheduler = scheduler
        self._clock = clock

    async def displayed(
        self, known: Snapshot | None = None, *, sheet_id: int | None = None
    ) -> tuple[Snapshot, SheetExtent]:
        """The displayed worksheet, and its extent for appends. 1 read.

        If `known` has not changed it is returned, with its typed rendering if it has one. With a
        `sheet_id` it is read by that; raises `OtherTab`.
        """
        started, moment = self._clock(), self._header_cache.moment()
        digest = None if known is None else known.displayed.digest
        with recording_sent_at() as sent_at:
            rendering = await self._rendering(Render.DISPLAYED, digest, sheet_id)
        began = sent_at.at_seconds or started
        if rendering is None and known is not None:
            origin = replace(known.displayed, began_seconds=began)
            snapshot = replace(known, displayed=origin, is_expired=False)
        else:
            snapshot = self._snapshot(_present(rendering), began)
        table = snapshot.table
        self._header_cache.compare(table.header, as_of=moment)
        self._check_header(table.header)
        extent = SheetExtent(
            header=table.header,
            last_row=table.last_row,
            is_end=True,
            header_as_of=began,
            as_of=moment,
        )
        self._header_cache.keep(extent)
        return snapshot, extent

    async def typed(
        self, known: Snapshot | None = None, *, sheet_id: int | None = None
    ) -> TypedRead:
        """The typed rendering. 1 read. With a `sheet_id` it is read by that; raises `OtherTab`."""
        started = self._clock()
        origin = None if known is None else known.typed
        with recording_sent_at() as sent_at:
            rendering = await self._rendering(
                Render.TYPED, None if origin is None else origin.digest, sheet_id
            )
        return TypedRead(rendering=rendering, began_seconds=sent_at.at_seconds or started)

    async def paired(
        self, snapshot: Snapshot, typed: TypedRead, known: Snapshot | None = None
    ) -> Snapshot | None:
        """Both renderings as one snapshot; None if they show different states."""
        if typed.rendering is None and known is not None and snapshot.table is known.table:
            origin = _typed_origin(typed, known)
            return replace(known, displayed=snapshot.displayed, typed=origin, is_expired=False)
        paired = await self.joined(snapshot, typed, known)
        return None if paired.table.is_mixed else paired

    async def joined(
        self, snapshot: Snapshot, typed: TypedRead, known: Snapshot | None = None
    ) -> Snapshot:
        """Both renderings as one snapshot, even of different states."""
        table, columns = snapshot.table, _typed_columns(typed, known)
        both = await self._scheduler.build(table.with_typed(columns))
        origin = _typed_origin(typed, known)
        return Snapshot(
            table=both,
            grid_rows=snapshot.grid_rows,
            displayed=snapshot.displayed,
            typed=origin,
            encodings=Encodings(snapshot.displayed.byte_count),
        )

    async def look_at_header(self) -> tuple[SheetExtent, SheetView]:
        """The header with the last row of an earlier look or row 1, and the view. 1 read."""
        known = self._header_cache.last()
        started, moment = self._clock(), self._header_cache.moment()
        async with explaining(self._sheets, self._id):
            view = await self._sheets.read_sheet(
                self._id.spreadsheet, [a1.header_range(self._id.title)]
            )
        own_sheet(self._id, view)
        (top,) = view.blocks
        header = parse_header(top.texts[0] if top.texts else ())
        self._header_cache.compare(header, as_of=moment)
        self._check_header(header)
        extent = SheetExtent(
            header=header,
            last_row=1 if known is None else min(known.last_row, view.rows),
            is_end=known is not None and known.is_end,
            header_as_of=started,
            as_of=moment,
        )
        self._header_cache.keep(extent)
        self._header_cache.seen_sheet(view, started)
        return extent, view

    async def window(self, span: RowSpan) -> Window:
        """Some rows, and whether there are more. 1 read, 2 at the end or past it."""
        moment, started = self._header_cache.moment(), self._clock()
        last_row = span.first_row + span.row_count  # one more than requested: does any row follow?
        ranges = [
            a1.header_range(self._id.title),
            a1.rows_between(self._id.title, span.first_row, last_row),
        ]
        header, rows, has_next = parse_header(()), list[list[str]](), False
        try:
            with recording_sent_at() as sent_at:
                top, found = await self._sheets.read_ranges(self._id.spreadsheet, ranges)
            filled = _filled(found)
            has_next = filled > span.row_count
            if not has_next and own_area(self._id, found.range).last_row == last_row:
                # Read alone, what follows could be that of another tab.
                ranges[1] = a1.rows_from(self._id.title, span.first_row)
                try:
                    top, found = await self._sheets.read_ranges(self._id.spreadsheet, ranges)
                    filled = _filled(found)
                    has_next = filled > span.row_count
                except SheetTooLarge:
                    has_next = True
        except UpstreamRefusal as refusal:
            error = await explain(self._sheets, self._id, refusal, row=span.first_row)
            if not isinstance(error, RowNotFound):
                raise error from refusal
        else:
            header = parse_header(top.cells[0] if top.cells else ())
            own_area(self._id, found.range)
            self._header_cache.compare(header, as_of=moment)
            check_names(header)
            lines = found.cells[: span.row_count]
            rows = [[text_at(line, column) for column in range(len(line))] for line in lines]
            blank: list[list[str]] = [[] for _ in range(span.row_count - len(rows))]
            rows = [*rows, *blank] if has_next else rows[:filled]
        return Window(
            span=span,
            header=header,
            rows=rows,
            has_next=has_next,
            read_seconds=sent_at.at_seconds or started,
        )

    def _snapshot(self, rendering: Rendering, started: float) -> Snapshot:
        area = own_area(self._id, rendering.range)
        return Snapshot(
            table=make_table(rendering.columns),
            grid_rows=area.last_row,
            displayed=_origin(rendering, started),
            encodings=Encodings(rendering.byte_count),
        )

    async def _rendering(
        self, render: Render, known: bytes | None, sheet_id: int | None
    ) -> Rendering | None:
        async def from_google(known: bytes | None) -> Rendering | None:
            if sheet_id is not None:
                area = SheetArea(sheet_id)
                return await read_tab(self._sheets, self._id, area, render=render, known=known)
            return await self._sheets.read_columns(
                self._id.spreadsheet, a1.rows_from(self._id.title, 1), render=render, known=known
            )

        async with explaining(self._sheets, self._id):
            shared = self._shared
            if shared is None:
                return await from_google(known)
            extent, newest = self._header_cache.last(), shared.newest_seconds
            if extent is not None:
                newest = max(newest, extent.header_as_of)
            if sheet_id is not None:  # what others read by the title may be of another tab
                newest = math.inf
            return await shared.peers.rows.read(
                shared, render, known=known, newer_than=newest, from_google=from_google
            )

    def _check_header(self, header: Header) -> None:
        """Raise NoHeaderRow if row 1 names no field; log duplicates once per header."""
        check_names(header)
        known = self._header_cache.last()
        if header.duplicates() and (known is None or known.header.cells != header.cells):
            header_trouble(self._id.spreadsheet, self._id.title, header.duplicates())


async def read_tab(
    sheets: Sheets,
    worksheet: WorksheetId,
    area: SheetArea,
    *,
    render: Render,
    known: bytes | None = None,
) -> Rendering | None:
    """Cells of the tab with a sheet id, if it has the worksheet's title; else raises `OtherTab`.

    None if the answer has the digest `known`, which covers the title. 1 read.
    """
    try:
        rendering = await sheets.read_columns(
            worksheet.spreadsheet, area, render=render, known=known
        )
        if rendering is not None:
            own_area(worksheet, rendering.range)
    except UpstreamRefusal as refusal:  # the tab was deleted, or its grid ends above
        google_refused(refusal.google_message)
        raise OtherTab from refusal
    except NotFound as error:
        raise OtherTab from error
    return rendering


def check_names(header: Header) -> None:
    """NoHeaderRow if the header names no field."""
    if not header.columns:
        raise NoHeaderRow(
            "Row 1 of the worksheet names no field. Put the field names into its first row."
        )


def _filled(values: Values) -> int:
    """Number of rows up to the last one that is not blank."""
    return 1 + max((at for at, line in enumerate(values.cells) if any(line)), default=-1)


def _origin(rendering: Rendering, began_seconds: float) -> Origin:
    return Origin(
        began_seconds=began_seconds, byte_count=rendering.byte_count, digest=rendering.digest
    )


def _typed_columns(typed: TypedRead, known: Snapshot | None) -> Sequence[Column]:
    if typed.rendering is not None:
        return typed.rendering.columns
    columns = None if known is None else known.table.typed
    if columns is None:
        raise ValueError("a rendering is left out only if it is known")
    return columns


def _typed_origin(typed: TypedRead, known: Snapshot | None) -> Origin:
    if typed.rendering is not None:
        return _origin(typed.rendering, typed.began_seconds)
    if known is None or known.typed is None:
        raise ValueError("a rendering is left out only if it is known")
    return replace(known.typed, began_seconds=typed.began_seconds)


def _present(rendering: Rendering | None) -> Rendering:
    if rendering is None:
        raise ValueError("a rendering is left out only if it is known")
    return rendering
