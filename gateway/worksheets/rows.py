"""Row service: lists, reads and writes rows, and holds the pool of worksheets.

The table gives the Google calls of each operation.

    operation          empty cache         header read within `cache.header_ttl_seconds`
    list               1 read              1 read
    list, where        2 reads             2 reads at the same time
    list, read typed   2 reads             2 reads at the same time
    export             1 read of displayed rows; 2 with typed values, a filter or an order, or if a
                       text looks like a formula
    read               1 read              1 read
    create             1 read + 1 write    1 write, if the sheet id is cached too
    update, delete     1 read + 1 write    1 read + 1 write (1 more read if the row is blank or
                                           displays only FALSE, and 1 more if the rows below do too)
    write by filter    3 reads + 1 write   2 reads + 1 write (1 read less for row numbers only)
    upsert             3 reads + 1 write   2 reads + 1 write

Reads cost nothing while a snapshot is fresh (`cache.rows_ttl_seconds`, longer if the read quota is
short). Concurrent requests share these calls. Exceptions:

- One or two more reads if the worksheet changed between the reads of a request, and as many again
  for each further change.
- A worksheet whose last row displays only one word is always read with typed values, because the
  word can be a boolean.
- A worksheet known to be large is listed and read in windows. A window costs 1 read, 1 more read if
  no row follows it or if the next row might not be a record, and 1 more with typed values. A window
  costs 2 more reads if only words that can be booleans follow a blank row.
- Writes of one kind that wait for the same worksheet share their calls.
- A rejected group costs at most 4 more writes, and 1 read for each of them.
- A write whose response is lost costs at most 3 more reads and 2 more writes.
- A repeated idempotent request with unknown outcome costs 1 to 4 reads and at most 1 more write.
- An error that the gateway finds without the worksheet costs nothing. An unknown field costs at
  most 1 read.
- A failed read is retried at most twice (`gateway.google.pipeline`).
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import msgspec
from cachetools import TTLCache
from msgspec.structs import replace as replaced

from gateway.errors import CursorLost, GatewayError, InvalidQuery, RowNotFound, SheetTooLarge
from gateway.google.sheets import CallContext, Sheets, in_call_context
from gateway.query.evaluate import Page, find_page, place_behind, plain_page
from gateway.query.place import AHEAD, CONTEXT, NEAR, Place, Seal, find_gap, place_after
from gateway.query.query import Query
from gateway.settings.model import ApiSettings, CacheSettings, WriteSettings
from gateway.table.cells import composed
from gateway.table.header import Selection
from gateway.table.record import check_granted, check_has_value
from gateway.table.steps import OutOfSteps, Unbuilt
from gateway.table.table import row_object
from gateway.table.typed import typed_rows
from gateway.telemetry.events import snapshots_kept
from gateway.worksheets.access import DEFAULT_LAYOUTS, Layouts, Target, WorksheetId
from gateway.worksheets.answers import Encoded, Encoder, Paging, Served
from gateway.worksheets.exports import LANE, Export
from gateway.worksheets.fenced_writer import FencedWriter
from gateway.worksheets.fences import Fences
from gateway.worksheets.idempotency import Idempotency, Ledger, OpenWrite, Settled
from gateway.worksheets.open_writes import OpenWrites
from gateway.worksheets.planning import Planner
from gateway.worksheets.reading import Read, ReadBudget, Reader, too_costly
from gateway.worksheets.refusal import row_not_found
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.sharing import Peers
from gateway.worksheets.snapshot import DISPLAYED, TYPED, RowSpan, Snapshot, Window
from gateway.worksheets.worksheet import Demand, Resources, Worksheet
from gateway.worksheets.write_queue import WriteQueues, WriteTurns, no_turn
from gateway.worksheets.writes import Write

ONE_ROW = Query()
"""Empty query, used for a read of one row by number."""

MAX_PUBLISHED = 10_000
PUBLISHED_SECONDS = 3_600.0
"""Maximum size, and lifetime in seconds, of the cache of writes that all processes know."""


def span_of(query: Query, place: Place | None, header_row: int, *, has_types: bool) -> RowSpan:
    """Return the rows to read for a list without filter and order.

    For a list after a cursor (`place`), the span has extra rows on both sides.
    """
    if place is None or not place.row:
        count = query.limit + AHEAD if query.wants_place and query.limit else query.limit
        return RowSpan(header_row + 1 + query.skip, count, has_types)
    first = max(header_row + 1, place.row - NEAR - CONTEXT)
    return RowSpan(first, place.row + NEAR + query.limit + AHEAD + 1 - first, has_types)


class InMemory(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Cached rows and waiting writes of a worksheet, for the admin API."""

    spreadsheet: str
    worksheet: str
    rows: int
    is_window: bool
    """True if only windows (ranges of rows) are cached, not all rows."""
    age_seconds: float | None
    """Seconds since the start of the latest read, or None if no rows are cached."""
    bytes: int
    waiting_writes: int


class RowService:
    def __init__(
        self,
        sheets: Sheets,
        *,
        cache: CacheSettings,
        writes: WriteSettings,
        api: ApiSettings,
        clock: Callable[[], float],
        ledger: Ledger,
        wall_clock: Callable[[], float],
        fences: Fences,
        read_budget: ReadBudget = lambda _spreadsheet: {"": float("inf")},
        write_turn: WriteTurns = no_turn,
        open_writes: Iterable[OpenWrite] = (),
        peers: Peers | None = None,
        layouts: Layouts = DEFAULT_LAYOUTS,
    ) -> None:
        self._peers = peers
        self._layouts = layouts
        self._published: TTLCache[str, bool] = TTLCache(
            MAX_PUBLISHED, PUBLISHED_SECONDS, timer=clock
        )
        """`WriteIdentity.scope` of idempotent writes that all other processes know."""
        self._clock = clock
        self._pool = pool = Pool(max_worksheets=cache.max_worksheets, max_bytes=cache.max_bytes)
        self._scheduler = scheduler = Scheduler(api.max_query_steps)
        lock = None if peers is None else peers.lock
        self._writer = FencedWriter(
            fences=fences,
            ledger=ledger,
            planner=Planner(
                ignore_unknown=api.unknown_fields == "ignore",
                clears=writes.delete == "clear",
            ),
            open_writes=OpenWrites(
                fences=fences,
                ledger=ledger,
                clock=wall_clock,
                lock=lock,
                open=[each for each in open_writes if each.updated_rows or each.is_exclusive],
            ),
            header_ttl_seconds=cache.header_ttl_seconds,
            write_turn=write_turn,
            lock=lock,
        )
        self._queues = WriteQueues(writes, write_turn=write_turn)
        self._resources = resources = Resources(
            sheets=sheets,
            scheduler=scheduler,
            queues=self._queues,
            settings=cache,
            clock=clock,
            perform=self._writer.write,
            weigh=pool.weigh,
            peers=peers,
            layouts=layouts,
        )
        self._reader = Reader(
            settings=cache,
            read_budget=read_budget,
            demands=pool.demands,
            beside=pool.beside,
            clock=clock,
        )
        self._idempotency = Idempotency(
            ledger,
            lambda identity, work: pool.get(identity.worksheet, resources).queue.exclusively(
                work, key_id=identity.key_id
            ),
        )

    async def list_rows(
        self,
        target: Target,
        query: Query,
        encoder: Encoder,
        *,
        no_cache: bool = False,
        unknown: Sequence[str] = (),
        seal: Seal | None = None,
        text_bytes: int = 0,
    ) -> Served:
        """Return a page of rows for a query, after the query's cursor if it has one.

        `seal` decrypts the cursor. The encoded page is cached with the rows for all callers who can
        read the same columns. `text_bytes` is the length of the query string.

        Raises UnknownField. Raises InvalidQuery if a field has the name of an unknown query
        parameter (`unknown`), or if the cursor belongs to another list. Raises CursorLost if the
        row of the cursor is not found.
        """
        columns = target.access.columns
        place = None if seal is None else seal.open(query.cursor or "")
        worksheet = self._pool.get(target.worksheet, self._resources)
        needs_types = query.needs_types
        part = TYPED if needs_types or encoder.is_typed else DISPLAYED
        is_quick = not no_cache and worksheet.shared is None
        read = self._reader.fresh(worksheet, part) if is_quick else None
        if read is None:
            span = span_of(query, place, worksheet.header_row, has_types=encoder.is_typed)
            read = await self._read(worksheet, target, query, span, no_cache=no_cache)
        if isinstance(read.rows, Window):
            read.rows.header.seen_with(columns).check_parameters(unknown)
            window_page = partial(
                self._window_page, worksheet, target, query, encoder, read.rows, place, seal
            )
            made = await window_page()
            if made is not None:
                return Served(made, read.freshness)
            whole = replaced(query, wants_total=True)
            try:
                read = await self._read(worksheet, target, whole, span, no_cache=no_cache)
            except SheetTooLarge as error:
                made = await window_page(is_all=True)
                if made is None:
                    raise CursorLost() from error
                return Served(made, read.freshness)
        rows, freshness = read.rows, read.freshness
        if not isinstance(rows, Snapshot):
            raise TypeError("a read of all rows returned no snapshot")
        if unknown:
            rows.header.seen_with(columns).check_parameters(unknown)
        key: tuple[object, ...] = (encoder, query, columns.readable)
        if seal is not None:
            key = (*key, seal.bound)
        encoded = rows.encodings.answers.get(key)
        if encoded is None:
            wanted = replaced(query, limit=query.limit + AHEAD) if query.wants_place else query
            view = rows.header.seen_with(columns)
            if needs_types or (place and place.row):
                after = place if place and place.row else None
                found = find_page(rows.table, wanted, view, after)
                if isinstance(found, Page):
                    page = found
                else:
                    began = self._clock()
                    try:
                        page = await worksheet.search(rows.table, found, target.access.key_id)
                    except OutOfSteps as error:
                        raise too_costly(query, rows.table, error) from None
                    seconds = self._clock() - began
                    freshness = replaced(
                        freshness,
                        age_seconds=freshness.age_seconds + seconds,
                        ttl_seconds=freshness.ttl_seconds - seconds,
                    )
            else:
                page = plain_page(rows.table, wanted)
            given, has_next = page.places, page.has_next
            behind: Place | None = None
            if query.wants_place:
                given, has_next = given[: query.limit], len(given) > query.limit
            if query.wants_place and has_next:
                placing = place_behind(rows.table, query, page, view, place)
                try:
                    if isinstance(placing, Place):
                        behind = placing
                    else:
                        behind = await worksheet.search(None, placing, target.access.key_id)
                except OutOfSteps as error:
                    if seal is not None:
                        raise too_costly(query, rows.table, error) from None
            encode = rows.encodings.rows.get
            try:
                bodies = encode(encoder, query.keys, view, given)
            except Unbuilt as unbuilt:
                typed = await worksheet.build(unbuilt.work)
                bodies = encode(encoder, query.keys, view, given, typed)
            paging = Paging(has_next, page.total, behind)
            cursor = None if seal is None else seal.of(behind) if behind else ""
            encoded = encoder.page(bodies, paging, cursor)
            rows.encodings.answers.keep(key, encoded, text_bytes)
        return Served(encoded, freshness)

    async def _window_page(
        self,
        worksheet: Worksheet,
        target: Target,
        query: Query,
        encoder: Encoder,
        window: Window,
        place: Place | None,
        seal: Seal | None,
        *,
        is_all: bool = False,
    ) -> Encoded | None:
        """Return the page from a window (a range of rows), or None if the page needs all rows.

        All rows can be necessary to find the cursor's row. `is_all`: all rows are too large to
        read, so the page is also returned if its last row is not unique.
        """
        view, is_in_grid = window.header.seen_with(target.access.columns), bool(window.header.cells)
        selected = view.select(query.keys) if is_in_grid else {}
        first = window.span.first_row
        before: Sequence[int] = ()
        seen = window.seen([*view.columns.values()])
        if place is not None and place.row:
            places = range(first - 1, first - 1 + len(window.rows))
            has_start, has_end = first == worksheet.header_row + 1, not window.has_next
            finding = find_gap(place, seen, places, has_start=has_start, has_end=has_end)
            gap = await worksheet.build(finding, target.access.key_id)
            if gap is None:
                return None
            before = gap.before
            left = places.stop - gap.last - 1
            if left < query.limit + AHEAD and window.has_next:
                return None
            first = gap.last + 2
        window = window.cut(
            RowSpan(first, max(0, window.last_row + 1 - first), window.span.has_types)
        )
        behind: Place | None = None
        has_next = window.has_next
        if query.wants_place:
            has_next = len(window.rows) > query.limit or window.has_next
        if query.wants_place and has_next:
            behind = place or Place()
            places = range(first - 1, first - 1 + query.limit)
            if places:
                following = range(places.stop, first - 1 + len(window.rows))
                placing = place_after(places, following, before, (), seen)
                if isinstance(placing, Place):
                    behind = placing
                else:
                    behind = await worksheet.search(None, placing, target.access.key_id)
                if seal is not None and not is_all and seen.stands_twice(places[-1]):
                    return None
        shown: Sequence[Sequence[object]] | None = None
        if encoder.is_typed:
            cells = zip(window.rows[: query.limit], window.values[: query.limit], strict=True)
            shown = await worksheet.build(typed_rows(cells, selected), target.access.key_id)
        bodies = window.encoded(encoder, selected, query.limit, shown)
        cursor = None if seal is None else seal.of(behind) if behind else ""
        return encoder.page(bodies, Paging(has_next, None, behind), cursor)

    async def export_rows(
        self,
        target: Target,
        query: Query,
        *,
        max_rows: int,
        is_typed: bool,
        needs_classes: bool,
        no_cache: bool = False,
        unknown: Sequence[str] = (),
    ) -> Export:
        """Return the rows of an export from one snapshot. `query.limit` is at most `max_rows` + 1.

        `needs_classes`: typed values are also read if a displayed text looks like a formula.
        `unknown` is as in `list_rows`. Raises the errors of `list_rows`, and InvalidQuery if more
        than `max_rows` rows match.
        """
        columns, key_id = target.access.columns, target.access.key_id
        worksheet = self._pool.get(target.worksheet, self._resources)
        has_types = query.needs_types or is_typed
        while True:
            part = TYPED if has_types else DISPLAYED
            is_quick = not no_cache and worksheet.shared is None
            read = self._reader.fresh(worksheet, part) if is_quick else None
            if read is None:
                span = RowSpan(worksheet.header_row + 1, 1, has_types)
                read = await self._read(worksheet, target, query, span, no_cache=no_cache)
            if isinstance(read.rows, Window):
                raise TypeError("an export needs all rows, not a window")
            table, view = read.rows.table, read.rows.header.seen_with(columns)
            view.check_parameters(unknown)
            selected = view.select(query.keys)
            page = find_page(table, query, view) if query.needs_types else plain_page(table, query)
            if not isinstance(page, Page):
                try:
                    page = await worksheet.search(table, page, key_id)
                except OutOfSteps as error:
                    raise too_costly(query, table, error) from None
            if len(page.places) > max_rows:
                raise InvalidQuery(
                    f"{page.total:,} rows match, but the plan of this key allows at most "
                    f"{max_rows:,} rows in one export. Export with limit and skip, or "
                    "narrow 'where'."
                )
            export = Export(
                table=table,
                rows=page.rows,
                total=page.total or 0,
                has_next=page.has_next,
                selected=selected,
                is_typed=is_typed,
                freshness=read.freshness,
                scheduler=self._scheduler,
            )
            if has_types or not needs_classes or table.typed is not None:
                return export
            has_types = await self._scheduler.build(export.may_hold_formulas(), LANE)
            if not has_types:
                return export

    async def read_row(
        self,
        target: Target,
        row: int,
        keys: Selection | None,
        encoder: Encoder,
        *,
        no_cache: bool = False,
        unknown: Sequence[str] = (),
        text_bytes: int = 0,
    ) -> Served:
        """Read one row with the fields of `keys`, or all fields if `keys` is None.

        `text_bytes` is the length of the query string.

        Raises RowNotFound above the first data row and below the last record. Raises UnknownField,
        and InvalidQuery if a field has the name of an unknown query parameter (`unknown`).
        """
        worksheet = self._pool.get(target.worksheet, self._resources)
        if row <= worksheet.header_row:
            raise row_not_found(row, worksheet.header_row)
        is_quick = not no_cache and worksheet.shared is None
        part = TYPED if encoder.is_typed else DISPLAYED
        read = self._reader.fresh(worksheet, part) if is_quick else None
        if read is None:
            span = RowSpan(row, 1, encoder.is_typed)
            read = await self._read(worksheet, target, ONE_ROW, span, no_cache=no_cache)
        rows, freshness = read.rows, read.freshness
        if unknown:
            rows.header.seen_with(target.access.columns).check_parameters(unknown)
        if row > rows.last_row:
            error = row_not_found(
                row,
                worksheet.header_row,
                below=rows.below,
                view=rows.header.seen_with(target.access.to(target.worksheet).columns),
            )
            error.is_alone = freshness.is_alone
            raise error
        key = (encoder, row, keys, target.access.columns.readable)
        encoded = None if isinstance(rows, Window) else rows.encodings.answers.get(key)
        if encoded is None:
            grant = target.access.to(target.worksheet).columns
            view = rows.header.seen_with(grant)
            typed: Sequence[object] | None = None
            if isinstance(rows, Window):
                cells: Sequence[object] = rows.rows[0]
                typed = rows.values[0] if encoder.is_typed else None
            else:
                cells = rows.table.cells(row)
                typed = rows.table.typed_cells(row) if encoder.is_typed else None
            selected = view.select(keys)
            shown = cells
            if typed is not None:
                work = typed_rows([(cells, typed)], selected)
                (shown,) = await worksheet.build(work, target.access.key_id)
            found = row_object(rows.header, row, shown, selected, encoder.empty)
            encoded = Encoded(encoder.row(found), view.tag(row, cells, typed), rows=1)
            if isinstance(rows, Snapshot):
                rows.encodings.answers.keep(key, encoded, text_bytes)
        return Served(encoded, freshness)

    async def write(self, target: Target, write: Write) -> Settled:
        """Carry out a write, and return its results.

        The results have one entry for each row of the body, in order. An upsert adds `created` to
        each record. A write by filter returns the `rowIndex` of each matching row before the write.
        A delete of one row returns no result.

        Before the worksheet is read, raises RowNotFound, NotGranted, or InvalidBody for a blank new
        row.
        """
        if write.numbers:
            first_row = self._pool.get(target.worksheet, self._resources).header_row + 1
            for row in write.numbers:
                if row < first_row:
                    raise self.no_row(target, row)
        for number, fields in enumerate(write.rows or ()):
            path = write.path(number)
            check_granted(fields, target.access.columns, at=path)
            if write.kind == "create":
                check_has_value(fields.values(), at=path)
        write = replace(write, access=target.access.to(target.worksheet))
        with in_call_context(CallContext(target.access.key_id)):
            try:
                if write.identity is None:
                    queue = self._pool.get(target.worksheet, self._resources).queue
                    settled = Settled(results=await queue.write(write))
                else:
                    settled = await self._idempotency.run(
                        write.identity,
                        lambda: self._pool.get(target.worksheet, self._resources).queue.write(
                            write
                        ),
                        lambda entry: self._writer.resume(
                            self._pool.get(target.worksheet, self._resources),
                            replace(write, unknown=()),
                            entry,
                        ),
                    )
            except GatewayError as error:
                if self._peers is not None:
                    error.is_alone = await self._is_alone(
                        write, target, self._peers, is_replayed=error.is_replayed
                    )
                raise
        if self._peers is None:
            return settled
        is_alone = await self._is_alone(write, target, self._peers, is_replayed=settled.is_replayed)
        if write.identity is not None and not is_alone:
            self._published[write.identity.scope] = True
        return replace(settled, is_alone=is_alone)

    def no_row(self, target: Target, row: int) -> RowNotFound:
        """Return the error for a row that the worksheet does not have."""
        return row_not_found(row, self._layouts.of(target.worksheet).header_row)

    def kept_count(self, worksheet: WorksheetId, *, max_age_seconds: float) -> int | None:
        """Return the number of cached records, or None if all cached rows are older.

        Makes no call to Google.
        """
        found = self._pool.find(worksheet)
        since = self._clock() - max_age_seconds
        snapshots = [] if found is None else found.snapshots()
        lately = [
            each
            for each in snapshots
            if each.began_seconds(DISPLAYED) >= since and not each.is_expired
        ]
        newest = max(lately, key=lambda each: each.began_seconds(DISPLAYED), default=None)
        return None if newest is None else newest.last_row - newest.header.row

    def in_memory(self) -> Iterator[InMemory]:
        """Iterate over worksheets with cached rows or waiting writes, least recently used first."""
        for each in self._pool.in_use():
            kept = [(part, rows) for part, (rows, _) in each.blocks.items()]
            began = max((rows.began_seconds(part) for part, rows in kept), default=None)
            whole = next((rows for _, rows in kept if isinstance(rows, Snapshot)), None)
            windows = sum(len(rows.rows) for _, rows in kept if isinstance(rows, Window))
            waiting = each.queue.waiting_count
            if kept or waiting:
                yield InMemory(
                    spreadsheet=each.id.spreadsheet,
                    worksheet=each.id.title,
                    rows=windows if whole is None else whole.last_row - whole.header.row,
                    is_window=whole is None and windows > 0,
                    age_seconds=None if began is None else round(self._clock() - began, 1),
                    bytes=each.byte_count,
                    waiting_writes=waiting,
                )

    def report_change(self, target: Target, name: str) -> None:
        """Record that a client reported a change of the worksheet. Later requests read it again.

        Makes no call to Google, so the exact title is unknown. `name` is the title in the client's
        spelling. All visible worksheets whose title has the same Unicode NFC form count as changed.
        """
        plain, form = target.worksheet, composed(target.worksheet.title)
        loaded = [each.id.title for each in self._pool.loaded(plain.spreadsheet)]
        titles = [*target.access.visible(loaded)]
        if name not in loaded:
            titles.append(name)
        for title in {plain.title, *(each for each in titles if composed(each) == form)}:
            worksheet = WorksheetId(plain.spreadsheet, title)
            if self._peers is not None or self._pool.find(worksheet) is not None:
                self._pool.get(worksheet, self._resources).reports.add()

    async def aclose(self) -> None:
        """Finish the waiting writes."""
        await self._queues.aclose()

    async def _read(
        self, worksheet: Worksheet, target: Target, query: Query, span: RowSpan, *, no_cache: bool
    ) -> Read:
        """Return rows for a query or a range, from fresh cached rows or from Google."""
        shared = worksheet.shared
        is_known = shared is None or await shared.peers.rows.is_current(shared)
        whole = TYPED if query.needs_types else span.whole
        read = self._reader.fresh(worksheet, whole) if shared is not None and not no_cache else None
        if read is None:
            part = whole if query.needs_types or query.wants_total else span
            with in_call_context(CallContext(target.access.key_id)):
                read = await self._reader.rows(
                    worksheet, part, query, target.access.columns, no_cache=no_cache
                )
        if shared is not None:
            is_known = is_known and await shared.may_be_shown()
            # Processes do not share windows, so another process might have served newer rows.
            if not is_known or isinstance(read.rows, Window):
                return replaced(read, freshness=replaced(read.freshness, is_alone=True))
        return read

    async def _is_alone(
        self, write: Write, target: Target, peers: Peers, *, is_replayed: bool
    ) -> bool:
        """True if other processes might not know the write that is being answered."""
        shared, identity = self._pool.get(target.worksheet, self._resources).shared, write.identity
        if shared is None:
            return False
        if is_replayed and identity is not None and identity.scope not in self._published:
            await peers.rows.announce(shared)  # the process that wrote might not have published it
        return shared.is_alone


class Pool:
    """Pool of worksheets, with a maximum number and a maximum memory of cached rows.

    Above the maximum number, worksheets that were never read are evicted first, so that invented
    names displace no real worksheet, then the longest unused worksheet. A worksheet with a running
    read or a queued write stays. Above the maximum memory, the worksheet with the oldest last read
    loses its rows.
    """

    def __init__(self, *, max_worksheets: int, max_bytes: int) -> None:
        self._max_worksheets = max_worksheets
        self._max_bytes = max_bytes
        self._worksheets: OrderedDict[WorksheetId, Worksheet] = OrderedDict()
        self._weights: dict[WorksheetId, int] = {}
        """Bytes of cached rows by worksheet, in the order of the last reads."""
        self._byte_count = 0

    def get(self, worksheet_id: WorksheetId, resources: Resources) -> Worksheet:
        """Return the pooled worksheet, or add a new worksheet to the pool."""
        worksheet = self._worksheets.get(worksheet_id)
        if worksheet is not None:
            self._worksheets.move_to_end(worksheet_id)
            return worksheet
        if len(self._worksheets) >= self._max_worksheets:
            self._make_room()
        worksheet = self._worksheets[worksheet_id] = Worksheet(worksheet_id, resources)
        return worksheet

    def find(self, worksheet_id: WorksheetId) -> Worksheet | None:
        """Return the pooled worksheet, or None."""
        return self._worksheets.get(worksheet_id)

    def in_use(self) -> Iterator[Worksheet]:
        """Iterate over all worksheets, the least recently requested worksheet first."""
        return iter(self._worksheets.values())

    def loaded(self, spreadsheet: str) -> Iterator[Worksheet]:
        """Iterate over the worksheets of a spreadsheet that have cached rows."""
        return (self._worksheets[each] for each in self._weights if each.spreadsheet == spreadsheet)

    def demands(self) -> Iterator[Demand]:
        """Iterate over the `Demand` (request times) of each worksheet that has cached rows."""
        return (self._worksheets[each].demand for each in self._weights)

    def beside(self, worksheet: Worksheet) -> Iterator[Worksheet]:
        """Iterate over the other worksheets of the same spreadsheet that have cached rows."""
        spreadsheet = worksheet.id.spreadsheet
        for each in self._weights:
            if each.spreadsheet == spreadsheet and each != worksheet.id:
                yield self._worksheets[each]

    def weigh(self, worksheet: Worksheet) -> None:
        """Count the memory of a worksheet whose rows changed, and drop rows above the limit."""
        if self._worksheets.get(worksheet.id) is not worksheet:
            return  # evicted during a read
        byte_count = worksheet.byte_count
        while byte_count > self._max_bytes and worksheet.make_lighter():
            byte_count = worksheet.byte_count
        if byte_count > self._max_bytes:
            worksheet.drop_rows()
            return
        self._byte_count += byte_count - self._weights.pop(worksheet.id, 0)
        if worksheet.blocks:
            self._weights[worksheet.id] = byte_count
        while self._byte_count > self._max_bytes:
            self._worksheets[next(iter(self._weights))].drop_rows()
        snapshots_kept(len(self._weights), self._byte_count)

    def _make_room(self) -> None:
        """Evict all idle worksheets that were never read, or else the longest unused worksheet."""
        idle = [each for each in self._worksheets.values() if each.is_idle]
        unseen = [each for each in idle if not each.blocks and each.header.extent is None]
        for worksheet in unseen or idle[: len(self._worksheets) - self._max_worksheets + 1]:
            worksheet.drop_rows()
            del self._worksheets[worksheet.id]
