"""Worksheet loader: whole renderings for reads, header and end for appends.

Rules: each look tells the header cache what it saw of header and end. Nothing is remembered here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gateway.errors import NoHeaderRow, UpstreamRefusal
from gateway.google.call_context import recording_sent_at
from gateway.google.sheets import Render, Rendering, Sheets
from gateway.table import a1
from gateway.table.header import Header, parse_header
from gateway.table.record import text_at
from gateway.table.renderings import Column
from gateway.table.table import make_table
from gateway.telemetry.events import header_trouble
from gateway.worksheets.answers import Encodings
from gateway.worksheets.header_cache import HeaderCache, SheetExtent
from gateway.worksheets.refusal import explaining
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.snapshots import Origin, Snapshot
from gateway.worksheets.worksheet_id import WorksheetId, own_area


@dataclass(frozen=True, kw_only=True)
class TypedRead:
    """The typed rendering as it was read; no rendering if it is the known one."""

    rendering: Rendering | None
    began_seconds: float


class Loader:
    def __init__(
        self,
        sheets: Sheets,
        header_cache: HeaderCache,
        clock: Callable[[], float],
        scheduler: Scheduler,
    ) -> None:
        self._sheets = sheets
        self._header_cache = header_cache
        self._clock = clock
        self._scheduler = scheduler

    async def displayed(
        self, worksheet: WorksheetId, known: Snapshot | None = None
    ) -> tuple[Snapshot, SheetExtent]:
        """The worksheet as it displays itself, and what an append needs of it. 1 read.

        What is known is not made again if it has not changed; it may have its typed rendering.
        """
        started, moment = self._clock(), self._header_cache.moment()
        digest = None if known is None else known.displayed.digest
        with recording_sent_at() as sent_at:
            rendering = await self._rendering(worksheet, Render.DISPLAYED, digest)
        began = sent_at.at_seconds or started
        if rendering is None and known is not None:
            origin = replace(known.displayed, began_seconds=began)
            snapshot = replace(known, displayed=origin, is_expired=False)
        else:
            snapshot = self._snapshot(worksheet, _present(rendering), began)
        table = snapshot.table
        self._header_cache.compare(worksheet, table.header, as_of=moment)
        self._check_header(worksheet, table.header)
        extent = SheetExtent(
            header=table.header,
            last_row=table.last_row,
            starts_blank=not table.text(table.last_row, 0),
            grid_rows=snapshot.grid_rows,
            header_as_of=began,
            as_of=moment,
        )
        self._header_cache.keep(worksheet, extent)
        return snapshot, extent

    async def typed(self, worksheet: WorksheetId, known: Snapshot | None = None) -> TypedRead:
        """What the worksheet's cells hold. 1 read."""
        started = self._clock()
        origin = None if known is None else known.typed
        with recording_sent_at() as sent_at:
            rendering = await self._rendering(
                worksheet, Render.TYPED, None if origin is None else origin.digest
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
        """Both renderings as one snapshot, whatever state of the worksheet they are of."""
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

    async def look_again(self, worksheet: WorksheetId) -> SheetExtent | None:
        """Header and end by way of the last row of an earlier look. 1 read, none without one.

        None if that does not settle it: rows were deleted.
        """
        known = self._header_cache.last(worksheet)
        if known is None:
            return None
        started, moment = self._clock(), self._header_cache.moment()
        ranges = [a1.header_range(worksheet.title), a1.rows_from(worksheet.title, known.last_row)]
        try:
            top, end = await self._sheets.read_ranges(worksheet.spreadsheet, ranges)
        except UpstreamRefusal:  # the grid ends above the known row
            return None
        header = parse_header(top.cells[0] if top.cells else ())
        area = own_area(worksheet, end.range)
        self._header_cache.compare(worksheet, header, as_of=moment)
        self._check_header(worksheet, header)
        filled = [index for index, row in enumerate(end.cells) if any(row)]
        if not filled:
            return None
        extent = replace(
            known,
            header=header,
            last_row=known.last_row + filled[-1],
            starts_blank=not text_at(end.cells[filled[-1]], 0),
            grid_rows=area.last_row,
            header_as_of=started,
            as_of=moment,
        )
        self._header_cache.keep(worksheet, extent)
        return extent

    def _snapshot(self, worksheet: WorksheetId, rendering: Rendering, started: float) -> Snapshot:
        area = own_area(worksheet, rendering.range)
        return Snapshot(
            table=make_table(rendering.columns),
            grid_rows=area.last_row,
            displayed=_origin(rendering, started),
            encodings=Encodings(rendering.byte_count),
        )

    async def _rendering(
        self, worksheet: WorksheetId, render: Render, known: bytes | None
    ) -> Rendering | None:
        async with explaining(self._sheets, worksheet):
            return await self._sheets.read_columns(
                worksheet.spreadsheet, a1.rows_from(worksheet.title, 1), render=render, known=known
            )

    def _check_header(self, worksheet: WorksheetId, header: Header) -> None:
        """NoHeaderRow if row 1 names no field; tells of duplicates once per header."""
        check_names(header)
        known = self._header_cache.last(worksheet)
        if header.duplicates() and (known is None or known.header.cells != header.cells):
            header_trouble(worksheet.spreadsheet, worksheet.title, header.duplicates())


def check_names(header: Header) -> None:
    """NoHeaderRow if the header names no field."""
    if not header.columns:
        raise NoHeaderRow(
            "Row 1 of the worksheet names no field. Put the field names into its first row."
        )


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
