"""Read worksheets: all rows, ranges of rows (windows), or header and end of records for appends.

Rules
- Each read updates the header cache. A window and its header are read in one call. If the last rows
  of a window might be below the last record, a second call reads all rows below, because a list
  ends with the last record.
- People can move a header below row 1 by inserting or deleting rows above it. If the header differs
  from the last known header, the gateway searches the first rows for the last known header. If that
  header is in another row, the gateway raises NoHeaderRow.
- All rows for a write are read by sheet ID, so they belong to the tab that the write goes to.
- Single-flight: concurrent requests share a running read. The read continues without its requests,
  because it already counts for Google's quota. Until it is sent, it waits for quota on behalf of
  all these requests.
"""

import asyncio
import math
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from gateway.errors import GatewayError, NotFound, RowNotFound, SheetTooLarge, UpstreamRefusal
from gateway.google.sheets import (
    Beneficiaries,
    Block,
    Detail,
    NativeTable,
    Render,
    Rendering,
    SentAt,
    SheetArea,
    Sheets,
    SheetView,
    current_call_context,
    in_call_context,
    recording_sent_at,
)
from gateway.table import a1
from gateway.table.column_types import NumberFormat, SeenCell, SheetForms
from gateway.table.header import DEFAULT_LAYOUT, Header, Layout, parse_header
from gateway.table.record import text_at
from gateway.table.records import (
    BLANK_ONLY,
    NEAR_ROWS,
    EndRule,
    SheetEnd,
    by_column,
    last_record,
    sheet_end,
)
from gateway.table.table import Column, Table, Unlike, make_table
from gateway.telemetry.events import google_refused, header_trouble
from gateway.worksheets.access import WorksheetId, own_area, worksheet_not_found
from gateway.worksheets.answers import Encodings
from gateway.worksheets.refusal import explain, header_moved, no_header_row, no_record_field
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.sharing import SharedState
from gateway.worksheets.snapshot import (
    HeaderCache,
    Origin,
    RowSpan,
    SheetExtent,
    Snapshot,
    Window,
    is_same,
)

MOST_MOVED_ROWS = 50
"""Number of rows below the header row in which the gateway searches for a moved header."""

FIRST_ROWS = 2_000
FIRST_COLUMNS, LAST_OF_FIRST = 50, "AX"
"""Number of columns that are read to find an unknown last record, and the last column's letters."""

ABOVE_END = 3
"""Rows above the cached last row that a read of the end includes, as people can delete rows.

The read also includes at least `NEAR_ROWS` rows below, half of which can be new records.
"""

FORM_ROWS = 50
"""Number of first rows that are searched for the last record if no last row is cached."""

K = TypeVar("K")
T = TypeVar("T")


class OtherTab(Exception):
    """The tab with the sheet ID has another title than the worksheet, or does not exist."""


TypedRead = tuple[Rendering | None, float]
"""Typed values of all cells, or None if unchanged, and the monotonic time of sending."""


class EndLook(NamedTuple):
    """Header, end of the records and sheet ID, from one read of the sheet.

    `end` is None if the read did not show the end. `is_whole`: appends need no further read of the
    rows below `extent.last_row`. `may_append`: appends are possible without that read if all rows
    are too large to read.
    """

    extent: SheetExtent
    sheet_id: int
    end: SheetEnd | None = None
    is_whole: bool = True
    may_append: bool = False


@dataclass(kw_only=True, eq=False)
class Loader:
    """Reads one worksheet, from its header row down."""

    id: WorksheetId
    header_cache: HeaderCache
    layout: Layout = DEFAULT_LAYOUT
    sheets: Sheets
    scheduler: Scheduler
    shared: SharedState | None
    _formats: tuple[tuple[str, ...], Mapping[int, Unlike]] = ((), MappingProxyType({}))
    """Cells of the header at the last typed read, and the number formats found then, by column.

    The formats count only while the header has the same cells.
    """

    async def displayed(
        self, known: Snapshot | None = None, *, sheet_id: int | None = None, is_now: bool = False
    ) -> tuple[Snapshot, SheetExtent]:
        """Read all displayed rows as a snapshot, and the last row for appends. Costs 1 read.

        If the sheet still equals `known`, returns that snapshot, including typed values, with the
        time of this read. With `sheet_id`, reads the tab by its ID, and raises `OtherTab` if the
        title differs. `is_now`: do not use a read of another process. If `table.ends_by_types`, the
        caller must call `with_types` next, because only typed values show the last record.
        """
        moment = self.header_cache.moment()
        digest = None if known is None else known.displayed.digest
        rendering, began = await self._read(Render.DISPLAYED, digest, sheet_id, is_now=is_now)
        if rendering is not None:
            table = make_table(rendering.columns, self.layout)
            snapshot = Snapshot(
                table=table,
                grid_rows=own_area(self.id, rendering.range).last_row,
                displayed=Origin(
                    began_seconds=began,
                    byte_count=rendering.byte_count,
                    digest=rendering.digest,
                    columns=rendering.columns if table.ends_by_types else (),
                    as_of=moment,
                    encoded=rendering.encoded,
                ),
                encodings=Encodings(table, rendering.byte_count),
            )
            if not table.ends_by_types and max(map(len, rendering.columns), default=0) > table.size:
                self.header_cache.unfilled_until = -math.inf
        elif known is not None:
            origin = replace(known.displayed, began_seconds=began, as_of=moment)
            snapshot = replace(known, displayed=origin, is_expired=False)
        else:
            raise ValueError("the read returned None, but no earlier read was given")
        header = snapshot.table.header
        self.header_cache.compare(header, as_of=moment)
        await self.check_header(header, logs_duplicates=True)
        table, native = snapshot.table, self.header_cache.table
        end = end_in(table, native)
        is_filled_down = end < end_in(table, native, BLANK_ONLY)
        if is_filled_down:
            self.header_cache.unfilled_until = -math.inf
        extent = SheetExtent(
            header=table.header,
            last_row=table.header.row if table.ends_by_types else end,
            is_end=not (
                is_filled_down or table.ends_by_types or table.header.end.column is not None
            ),
            table_id=native.id,
            header_as_of=began,
            as_of=moment,
        )
        self.header_cache.keep(extent)
        return snapshot, extent

    async def typed(
        self, known: Snapshot | None = None, *, sheet_id: int | None = None, is_now: bool = False
    ) -> TypedRead:
        """Read the typed values of all cells, by `sheet_id` unless None. Costs 1 read.

        Returns the values, or None if unchanged since `known`, and the time of sending. `is_now`:
        do not use a read of another process. Raises `OtherTab` if the title differs.
        """
        origin = None if known is None else known.typed
        digest = None if origin is None else origin.digest
        return await self._read(Render.TYPED, digest, sheet_id, is_now=is_now)

    async def with_types(
        self,
        snapshot: Snapshot,
        typed: TypedRead,
        known: Snapshot | None = None,
        *,
        before: Mapping[int, Unlike] = MappingProxyType({}),
    ) -> Snapshot:
        """Add typed values to a snapshot. Sets `table.is_mixed` if texts and values do not match.

        If the table `ends_by_types`, the typed values must have been read right after the displayed
        texts. `before` has cells whose text and value did not match in earlier reads, by column.
        """
        rendering, began = typed
        columns: Sequence[Column]
        if rendering is not None:
            columns = rendering.columns
            origin = Origin(
                began_seconds=began, byte_count=rendering.byte_count, digest=rendering.digest
            )
        elif known is not None and known.typed is not None and known.table.typed is not None:
            columns = known.table.typed
            origin = replace(known.typed, began_seconds=began)
        else:
            raise ValueError("the read returned None, but no earlier read was given")
        if known is not None and rendering is None and snapshot.table is known.table:
            both = replace(known, displayed=snapshot.displayed, typed=origin, is_expired=False)
        else:
            table = snapshot.table
            if snapshot.displayed.columns:
                table = make_table(snapshot.displayed.columns, self.layout)
            cells, formats = self._formats
            if cells == table.header.cells:
                before = {**formats, **before}
            table = await self.scheduler.build(table.with_typed(columns, before))
            formats = {at: unlike.known for at, unlike in table.unlike.items()}
            self._formats = (table.header.cells, formats)
            both = replace(
                snapshot,
                table=table,
                typed=origin,
                encodings=Encodings(table, snapshot.displayed.byte_count),
                is_expired=False,
            )
        extent, native = self.header_cache.extent, self.header_cache.table
        if max(map(len, snapshot.displayed.columns), default=0) > both.table.size:
            self.header_cache.unfilled_until = -math.inf
        if both.table.ends_by_types and extent and extent.as_of == both.displayed.as_of:
            self.header_cache.keep(replace(extent, last_row=end_in(both.table, native)))
        return both

    async def both_again(self, seen: Snapshot, *, sheet_id: int | None) -> Snapshot | None:
        """Read texts and values again, because those in `seen` did not match. Costs 2 reads.

        Returns None if texts and values still differ. If both pairs of reads are equal, or a column
        differs in both, number formats explain the difference, and later reads use these formats.
        """
        displayed, _ = await self.displayed(sheet_id=sheet_id, is_now=True)
        typed = await self.typed(sheet_id=sheet_id, is_now=True)
        before = seen.table.unlike if seen.header.cells == displayed.header.cells else {}
        found = await self.with_types(displayed, typed, before=before)
        if found.digests == seen.digests:
            formats = {at: unlike.as_format for at, unlike in found.table.unlike.items()}
            self._formats = (found.header.cells, formats)
            return found
        return None if found.table.is_mixed else found

    async def look_at_header(
        self, *, has_forms: bool = False, form_row: int | None = None
    ) -> tuple[SheetExtent, SheetView]:
        """Read the header and the first data row. Returns header and last row, and the view.

        The last row is from an earlier read, or the header row without an earlier read. With
        `has_forms`, also caches the number formats in row `form_row` (default: the last row). Costs
        1 read, and with `has_forms` 1 read more if the row with the formats was deleted. If the
        rows are too large, costs 1 to 2 reads more and caches no formats.
        """
        known, header_row = self.header_cache.extent, self.layout.header_row
        started, moment = self.header_cache.clock(), self.header_cache.moment()
        last_row = form_row or (header_row if known is None else known.last_row)
        if has_forms:
            ranges, detail = form_ranges(self.id.title, last_row, header_row), Detail.FORMS
        else:
            ranges = [a1.row_range(self.id.title, header_row, header_row + 1)]
            detail = Detail.VALUES
        try:
            view, header = await self.read(ranges, detail)
        except SheetTooLarge:
            if not has_forms:
                raise
            if last_row > header_row:
                return await self.look_at_header(has_forms=False)
            return await self.look_at_header(has_forms=True, form_row=header_row + 1)
        except UpstreamRefusal as refusal:
            if has_forms and last_row > header_row:  # people may have deleted that row
                return await self.look_at_header(has_forms=True, form_row=header_row)
            raise await self.explained(refusal, header_row) from refusal
        self.header_cache.compare(header, as_of=moment)
        await self.check_header(header, logs_duplicates=True)
        native = view.table
        is_same = known is not None and known.table_id == native.id
        end = min(native.last_row or view.rows, view.rows)
        extent = SheetExtent(
            header=header,
            last_row=min(known.last_row, end)
            if known is not None and (is_same or not native.id)
            else header_row,
            is_end=known is not None and is_same and known.is_end,
            table_id=native.id,
            header_as_of=started,
            as_of=moment,
        )
        self.header_cache.keep(extent)
        forms = forms_in(view, last_row) if has_forms else None
        self.header_cache.seen_sheet(view, started, forms=forms, header=header)
        return extent, view

    async def look_at_end(self, last_row: int | None = None, *, near_rows: int = 0) -> EndLook:
        """Read the header, its native table, and the end of the records. Usually costs 1 read.

        Reads the rows around `last_row`, a row at the end or above it. The default is the cached
        last row, or the first rows without a cached last row. `near_rows` is the number of rows to
        read below, by default many if filled-down rows are possible. Costs 1 read more if the end
        has moved or filled-down rows are far below, 2 more if `last_row` was deleted, and 1 to 2
        more if the rows are too large. Also caches the native table and the formats of columns.
        """
        cache, header_row, title = self.header_cache, self.layout.header_row, self.id.title
        known = cache.extent
        if last_row is None and known and (known.is_end or known.last_row > header_row):
            last_row = known.last_row
        first_row, shown_to, last_column = header_row, header_row + FIRST_ROWS, LAST_OF_FIRST
        is_first = not near_rows
        if last_row is not None:
            near_rows = near_rows or (NEAR_ROWS if cache.unfilled_until else FIRST_ROWS)
            first_row, shown_to = max(header_row, last_row - ABOVE_END), last_row + near_rows
            last_column = a1.LAST_COLUMN
        started, moment = self.header_cache.clock(), self.header_cache.moment()
        ranges = [
            a1.row_range(title, header_row, header_row + 1),
            a1.rows_from(title, first_row, f"{last_column}{shown_to}"),
        ]
        try:
            view, header = await self.read(ranges, Detail.FORMS)
        except SheetTooLarge:
            if is_first and near_rows > NEAR_ROWS:
                return await self.look_at_end(last_row, near_rows=NEAR_ROWS)
            if last_row is not None and cache.unfilled_until < 0:
                raise  # an appended row would be below filled-down rows
            extent, view = await self.look_at_header(has_forms=True, form_row=header_row + 1)
            is_small = view.rows <= header_row + FIRST_ROWS and view.columns <= FIRST_COLUMNS
            is_known = last_row is not None
            return EndLook(extent, view.sheet_id, is_whole=is_known, may_append=is_small)
        except UpstreamRefusal as refusal:
            error = await self.explained(refusal, first_row)
            if not isinstance(error, RowNotFound):
                raise error from refusal
            cache.forget()
            return await self.look_at_end()
        rows, native = view.blocks[1], view.table
        self.header_cache.compare(header, as_of=moment)
        await self.check_header(header, logs_duplicates=True)
        height, width = (
            (native.last_row, native.end_column) if native.id else (view.rows, view.columns)
        )
        is_small = height <= header_row + FIRST_ROWS and width <= FIRST_COLUMNS
        end: SheetEnd | None = None
        is_cut, may_be_far = shown_to < height, cache.unfilled_until < 0
        if last_row is not None or is_small:
            own, skipped = rows, max(0, header_row + 1 - rows.first_row)
            if native.id:
                own = body_of(rows, native)
            work = sheet_end(
                header.end,
                rows.first_row + skipped - 1,
                own.texts[skipped:],
                own.values[skipped:],
                computed=own.computed[skipped:],
                formulas=own.formulas[skipped:],
                is_whole=skipped > 0,
                has_more=is_cut and may_be_far and not (is_small and is_first),
                beside=rows.texts[skipped:],
            )
            end = await self.scheduler.build(work)
            may_go_on = is_cut and end is not None and end.last_row > shown_to - NEAR_ROWS // 2
            if end is None or may_go_on:
                cache.forget()
                return await self.look_at_end()
            if is_cut and may_be_far and end.filled is None:
                return await self.look_at_end(last_row, near_rows=FIRST_ROWS)
        end_row = header_row if end is None else end.last_row
        extent = SheetExtent(
            header=header,
            last_row=end_row,
            is_end=end is not None,
            table_id=native.id,
            header_as_of=started,
            as_of=moment,
        )
        cache.keep(extent)
        forms = forms_in(view, end_row, block_count=2)
        cache.seen_sheet(view, started, forms=forms, header=header)
        if end is not None:
            cache.unfilled_until = -math.inf if end.filled else started + cache.ttl_seconds
        return EndLook(extent, view.sheet_id, end, is_whole=end is not None)

    async def window(self, span: RowSpan) -> Window:
        """Read a window (range of rows). Costs 1 read, or 2 at the end of the records or below it.

        Typed values cost 1 read more, which reads texts and values in one call. If the rows changed
        between these reads, both are repeated once.
        """
        window = await self._displayed_window(span)
        if not span.has_types:
            return window
        for is_last in (False, True):
            if not window.rows:
                break
            try:
                typed = await self._typed_window(window)
            except RowNotFound:  # people have deleted these rows
                if is_last:
                    raise
            else:
                is_whole = typed.header.cells == window.header.cells
                if is_last or (is_whole and all(map(is_same, typed.rows, window.rows))):
                    return typed
            window = await self._displayed_window(span)
        return window

    async def _typed_window(self, window: Window) -> Window:
        """Read the rows of a window again, with displayed texts and typed values. Costs 1 read."""
        moment, title, first_row = self.header_cache.moment(), self.id.title, window.span.first_row
        last_row = first_row + len(window.rows) - 1
        ranges = [
            a1.row_range(title, self.layout.header_row),
            a1.rows_between(title, first_row, last_row),
        ]
        try:
            view, header = await self.read(ranges)
        except UpstreamRefusal as refusal:
            raise await self.explained(refusal, last_row) from refusal
        found = view.blocks[1]
        self.header_cache.compare(header, as_of=moment)
        await self.check_header(header)
        blank: list[list[str]] = [[] for _ in range(len(window.rows) - len(found.texts))]
        return replace(
            window, header=header, rows=[*found.texts, *blank], values=[*found.values, *blank]
        )

    async def _displayed_window(self, span: RowSpan) -> Window:
        """Read the displayed rows of a span. Costs 1 read, or 2 to 3 at the end of the records."""
        moment, started = self.header_cache.moment(), self.header_cache.clock()
        last_row = span.first_row + span.row_count  # one more than requested, to set has_next
        ranges = [
            a1.row_range(self.id.title, self.layout.header_row),
            a1.rows_between(self.id.title, span.first_row, last_row),
        ]
        header, rows, has_next = parse_header((), self.layout), list[list[str]](), False
        tail: Sequence[Sequence[object]] = ()
        try:
            with recording_sent_at() as sent_at:
                top, found = await self.sheets.read_ranges(self.id.spreadsheet, ranges)
            is_below = own_area(self.id, found.range).last_row == last_row
            header = parse_header(top.cells[0] if top.cells else (), self.layout)
            lines: Sequence[Sequence[object]] = found.cells
            last = last_record(header.end, by_column(lines))
            # A separate read of the rows below could show another tab.
            ranges[1] = a1.rows_from(self.id.title, span.first_row)
            try:
                if last is not None and last <= span.row_count and is_below:
                    top, found = await self.sheets.read_ranges(self.id.spreadsheet, ranges)
                    own_area(self.id, found.range)
                    header = parse_header(top.cells[0] if top.cells else (), self.layout)
                    lines, last = found.cells, last_record(header.end, by_column(found.cells))
                if last is None:
                    view, header = await self.read(ranges)
                    below = view.blocks[1]
                    texts, values = by_column(below.texts), by_column(below.values)
                    lines, last = below.texts, last_record(header.end, texts, values)
            except SheetTooLarge:
                last = span.row_count + 1
        except UpstreamRefusal as refusal:
            error = await self.explained(refusal, span.first_row)
            if not isinstance(error, RowNotFound):
                raise error from refusal
        else:
            self.header_cache.compare(header, as_of=moment)
            await self.check_header(header)
            has_next, tail = last is None or last > span.row_count, lines[last or 0 :][:1]
            lines = lines[: span.row_count]
            rows = [[text_at(line, column) for column in range(len(line))] for line in lines]
            blank: list[list[str]] = [[] for _ in range(span.row_count - len(rows))]
            rows = [*rows, *blank] if has_next else rows[:last]
        return Window(
            span=span,
            header=header,
            rows=rows,
            has_next=has_next,
            below=tail,
            read_seconds=sent_at.at_seconds or started,
        )

    async def _read(
        self, render: Render, known: bytes | None, sheet_id: int | None, *, is_now: bool
    ) -> tuple[Rendering | None, float]:
        """Read all displayed texts or all typed values. Also returns the time of sending.

        Returns None instead of cells that have the digest `known`.
        """

        async def from_google(known: bytes | None) -> Rendering | None:
            if sheet_id is not None:
                area = SheetArea(sheet_id, self.layout.header_row)
                return await self.read_tab(area, render, known)
            range_ = a1.rows_from(self.id.title, self.layout.header_row)
            return await self.sheets.read_columns(
                self.id.spreadsheet, range_, render=render, known=known
            )

        started, shared = self.header_cache.clock(), self.shared
        with recording_sent_at() as sent_at:
            try:
                if shared is None:
                    rendering = await from_google(known)
                else:
                    extent, newest = self.header_cache.extent, shared.newest_seconds
                    if extent is not None:
                        newest = max(newest, extent.header_as_of)
                    # Other processes read by title, so their reads can show another tab.
                    if is_now or sheet_id is not None:
                        newest = math.inf
                    rendering = await shared.peers.rows.read(
                        shared, render, known=known, newer_than=newest, from_google=from_google
                    )
            except UpstreamRefusal as refusal:
                raise await self.explained(refusal, self.layout.header_row) from refusal
        return rendering, sent_at.at_seconds or started

    async def read(
        self, ranges: Sequence[str], detail: Detail = Detail.VALUES
    ) -> tuple[SheetView, Header]:
        """Read A1 ranges of the worksheet, of which the first has the header. Costs 1 read.

        Raises WorksheetNotFound if the title of the tab differs in case.
        """
        view = await self.sheets.read_sheet(self.id.spreadsheet, ranges, detail=detail)
        if view.title != self.id.title:
            raise worksheet_not_found(self.id, [view.title])
        return view, header_of(view, self.layout)

    async def read_tab(
        self, area: SheetArea, render: Render, known: bytes | None = None
    ) -> Rendering | None:
        """Read the cells of `area`, which names its tab by the sheet ID. Costs 1 read.

        Returns None if cells and title are as in the earlier answer with the digest `known`. Raises
        `OtherTab` if the tab has another title than the worksheet.
        """
        try:
            rendering = await self.sheets.read_columns(
                self.id.spreadsheet, area, render=render, known=known
            )
            if rendering is not None:
                own_area(self.id, rendering.range)
        except UpstreamRefusal as refusal:  # the tab was deleted, or its grid has fewer rows
            google_refused(refusal.google_message)
            raise OtherTab from refusal
        except NotFound as error:
            raise OtherTab from error
        return rendering

    async def explained(self, refusal: UpstreamRefusal, row: int) -> GatewayError:
        """Return the error that explains Google's refusal to read down to `row`. Costs 1 read."""
        header_row = self.layout.header_row
        return await explain(self.sheets, self.id, refusal, row=row, header_row=header_row)

    async def check_header(self, header: Header, *, logs_duplicates: bool = False) -> None:
        """Check a header that was read.

        Raises NoHeaderRow if the header has no names, if it lacks the field of `record_field`, or
        if people moved the last known header to another row. Costs no read if row 1 is the header
        or if `header` equals the last known header, otherwise 1 read of the first rows. With
        `logs_duplicates`, logs duplicate names once per header.
        """
        cache = self.header_cache
        if header.row > 1:
            trusted = cache.trusted_cells
            if trusted is not None and trusted != header.cells:
                ranges = [a1.row_range(self.id.title, 1, header.row + MOST_MOVED_ROWS)]
                (found,) = await self.sheets.read_ranges(self.id.spreadsheet, ranges)
                own_area(self.id, found.range)
                for row, cells in enumerate(found.cells, 1):
                    if row != header.row and parse_header(cells).cells == trusted:
                        raise header_moved(row, header.row)
            if header.columns:
                cache.trusted_cells = header.cells
        check_names(header)
        known = cache.extent
        if logs_duplicates and (known is None or known.header.cells != header.cells):
            duplicates = header.duplicates()
            if duplicates:
                header_trouble(self.id.spreadsheet, self.id.title, duplicates)


def form_ranges(title: str, last_row: int, header_row: int) -> list[str]:
    """Return one or two A1 ranges that show the header and the formats of columns.

    `last_row` is a row at the end or above it. If `last_row` is the header row, the end is unknown,
    and the range has the first rows. Then `forms_in` finds the last filled row.
    """
    if last_row <= header_row:
        return [a1.row_range(title, header_row, header_row + FORM_ROWS - 1)]
    if last_row <= header_row + 2:
        return [a1.row_range(title, header_row, last_row + 1)]
    return [
        a1.row_range(title, header_row, header_row + 1),
        a1.row_range(title, last_row, last_row + 1),
    ]


def forms_in(view: SheetView, last_row: int, block_count: int = 0) -> SheetForms:
    """Return the formats and validation of columns from a view of `form_ranges`.

    Uses the first `block_count` blocks (0: all of these ranges), without rows below a native table.
    """
    header_row, table = view.blocks[0].first_row, view.table
    end, looked_at = min(table.last_row or view.rows, view.rows), last_row + 1
    rows: dict[int, Sequence[SeenCell]] = {}
    for block in view.blocks[: block_count or 1 + (last_row > header_row + 2)]:
        rows |= enumerate(block.cells, block.first_row)
    if last_row <= header_row:
        looked_at = header_row + FORM_ROWS - 1
        own = slice(table.first_column, table.end_column or None)
        for row in range(header_row, min(end, looked_at) + 1):
            if any(cell.value not in (None, "") for cell in rows.get(row, ())[own]):
                last_row = row
    nothing: Sequence[SeenCell] = ()
    is_known, first = last_row < looked_at or last_row >= end, rows.get(header_row + 1, nothing)
    above = rows.get(last_row, nothing) if header_row < last_row <= end else first
    below = rows.get(last_row + 1, nothing) if last_row < end else nothing
    formats: dict[int, NumberFormat] = {}
    for at, cell in enumerate(above):
        if cell.form.format is not None:
            formats[at] = cell.form.format
    missing, is_plain = set(formats), is_known
    for at, cell in enumerate(below):
        is_plain = is_plain and not any(cell.form)
        if cell.form.format is not None:
            formats[at] = cell.form.format
            missing.discard(at)
    return SheetForms(
        rows=[above, first],
        types=view.column_types,
        formats=formats,
        are_in_place=not missing,
        is_plain=is_plain,
    )


def end_in(table: Table, native: NativeTable, rule: EndRule | None = None) -> int:
    """Return the row number of the last record, in a native table's body if there is a table.

    `rule` replaces the header's rule for the table's body. Without a table, `rule` is ignored. With
    a table, returns the header row if the body has no record, or if only typed values that were not
    read can show a record.
    """
    if not native.id:
        return table.last_row
    rule, header_row = rule or table.header.end, table.header.row
    if rule.column is not None:
        rule = rule._replace(column=rule.column - native.first_column)
    own, height = slice(native.first_column, native.end_column), native.last_row - header_row + 1
    displayed = [cells[:height] for cells in table.displayed[own]]
    typed = None if table.typed is None else [cells[:height] for cells in table.typed[own]]
    return max(header_row, header_row - 1 + (last_record(rule, displayed, typed) or 0))


def body_of(block: Block, table: NativeTable) -> Block:
    """Return the rows of a block in a native table's body. Cells of other columns are blank."""
    count = max(0, table.last_row + 1 - block.first_row)
    own = range(table.first_column, table.end_column)
    return replace(
        block,
        texts=[
            [text if at in own else "" for at, text in enumerate(line)]
            for line in block.texts[:count]
        ],
        values=[
            [value if at in own else None for at, value in enumerate(line)]
            for line in block.values[:count]
        ],
        computed=[[at for at in columns if at in own] for columns in block.computed[:count]],
        formulas=[[at for at in columns if at in own] for columns in block.formulas[:count]],
    )


def header_of(view: SheetView, layout: Layout) -> Header:
    """Return the header from a view, or a blank header if the view's first row is another row."""
    block = view.blocks[0]
    is_there = block.first_row == layout.header_row and block.texts
    return parse_header(block.texts[0] if is_there else (), layout)


def check_names(header: Header) -> None:
    """Raise NoHeaderRow if the header has no names, or lacks the field of `record_field`."""
    if not header.columns:
        raise no_header_row(header.row)
    if header.missing_field:
        raise no_record_field(header.row)


class SingleFlight(Generic[K, T]):
    """A running read that several requests share, in the `CallContext` of the first request.

    The read is in `flights` under `key` until it ends, unless the caller removes or replaces it.
    """

    def __init__(
        self,
        flights: "dict[K, SingleFlight[K, T]]",
        key: K,
        work: Coroutine[Any, Any, T],
        began_seconds: float,
    ) -> None:
        self.began_seconds = began_seconds
        self._flights, self._key = flights, key
        call_context = current_call_context()
        self._beneficiaries = Beneficiaries()
        self._beneficiaries.join_as(call_context)
        self.max_age_seconds = call_context.max_age_seconds
        self._sent_at = SentAt(outer=[call_context.sent_at] if call_context.sent_at else [])
        own = replace(call_context, beneficiaries=self._beneficiaries, sent_at=self._sent_at)
        with in_call_context(own):
            self._task = asyncio.get_running_loop().create_task(work)
        flights[key] = self
        self._task.add_done_callback(self._end)

    @property
    def is_over(self) -> bool:
        return self._task.done()

    @property
    def sent_seconds(self) -> float | None:
        """Monotonic time at which the read's last call was sent, or None while it waits."""
        return self._sent_at.at_seconds

    async def outcome(self) -> T:
        """Return the result, or raise the read's error.

        While the read waits for quota, it waits on behalf of this request's key, too.
        """
        self._beneficiaries.join_as(current_call_context())
        return await asyncio.shield(self._task)

    async def done_within(self, seconds: float) -> bool:
        """Wait at most `seconds` for the end of the read. Returns False if the read still runs."""
        self._beneficiaries.join_as(current_call_context())
        if seconds > 0:
            await asyncio.wait([self._task], timeout=seconds)
        return self._task.done()

    def _end(self, task: asyncio.Task[T]) -> None:
        """Remove the read, and mark its error as retrieved, so that asyncio does not log it."""
        if self._flights.get(self._key) is self:
            del self._flights[self._key]
        if not task.cancelled():
            task.exception()
