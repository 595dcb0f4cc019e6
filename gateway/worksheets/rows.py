"""The row service: list, read, create, update.

    operation      nothing cached          header seen within `cache.header_ttl_seconds`
    list           1 read                  1 read
    list, where    2 reads                 2 reads, side by side
    read           1 read                  1 read
    create         1 read + 1 write        1 write
    update         1 read + 1 write        1 read + 1 write (1 more read for a blank row)

Reads cost nothing while a snapshot is fresh (`cache.rows_ttl_seconds`, longer when the budget is
short), and all that ask at once share these calls. Two more reads if the sheet changed between
its renderings. Worksheets known to be large are listed and read in windows: 1 read, 1 more where
nothing follows a window, or a blank row.

Writes that wait for the same worksheet share their calls: all creates, then all updates. A full
grid costs 1 read + 1 write more if its last row begins with a blank; a refused group at most 4
writes and a read for each; a create that Google left open 1 to 3 reads, such an update 2 reads and,
sent again, 1 write; a repeated request whose record is open 1 to 2 reads more. What is wrong
without looking at the sheet costs nothing, an unknown field one read at most. A read that fails may
be tried twice more (`gateway.google.retrying`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from gateway.errors import QueryTooCostly, SheetTooLarge, UnknownField
from gateway.google.call_context import CallContext, in_call_context
from gateway.google.sheets import Sheets
from gateway.query.evaluate import Page, evaluate, plain_page
from gateway.query.query import Query, condition_fields
from gateway.settings.model import ApiSettings, CacheSettings, WriteSettings
from gateway.table.record import check_granted, check_has_value
from gateway.table.steps import Metered, OutOfSteps
from gateway.table.table import FIRST_DATA_ROW
from gateway.table.view import Selection
from gateway.worksheets.access import Access, Target
from gateway.worksheets.adaptive_ttl import AdaptiveTtl
from gateway.worksheets.answers import Encoded, Encoder, Served
from gateway.worksheets.appending import Appender
from gateway.worksheets.header_cache import HeaderCache
from gateway.worksheets.idempotency import Idempotency, Settled
from gateway.worksheets.input import RAW, Input
from gateway.worksheets.ledger import Ledger
from gateway.worksheets.loader import Loader
from gateway.worksheets.pages import page_in, page_of, row_in, row_of
from gateway.worksheets.reading import Read, Reader
from gateway.worksheets.reconciliation import Reconciler
from gateway.worksheets.recovery import Recovery
from gateway.worksheets.refreshing import Refresher
from gateway.worksheets.refusal import row_not_found
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.snapshots import Snapshot, Snapshots
from gateway.worksheets.updating import Updater
from gateway.worksheets.windows import WindowRead, Windows
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.writer import Writer, WriteTurns, no_turn
from gateway.worksheets.writes import Create, Outcome, Update, Write


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
        reads_per_second: Callable[[], float] = lambda: float("inf"),
        write_turn: WriteTurns = no_turn,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        value_input: Input = RAW,
    ) -> None:
        ignore_unknown = api.unknown_fields == "ignore"
        header_cache, snapshots = HeaderCache(cache, clock), Snapshots(cache.max_bytes)
        self._snapshots = snapshots
        self._clock = clock
        self._scheduler = Scheduler()
        self._max_query_steps = api.max_query_steps
        self._writer = Writer(self._perform, writes, write_turn=write_turn)
        refresher = Refresher(
            Loader(sheets, header_cache, clock, self._scheduler),
            header_cache=header_cache,
            snapshots=snapshots,
            clock=clock,
            quietly=self._writer.alone,
            max_worksheets=cache.max_worksheets,
        )
        self._windows = Windows(
            sheets,
            header_cache,
            settings=cache,
            clock=clock,
            last_written=refresher.last_written,
        )
        self._reader = Reader(
            refresher,
            snapshots=snapshots,
            header_cache=header_cache,
            adaptive_ttl=AdaptiveTtl(cache.rows_ttl_seconds, reads_per_second),
            settings=cache,
            clock=clock,
        )
        reconciler = Reconciler(
            sheets,
            sleep=sleep,
            pause_seconds=writes.look_again_seconds,
            compare=value_input.compare,
        )
        parts = (sheets, refresher, header_cache, reconciler, ledger)
        self._appender = Appender(*parts, ignore_unknown=ignore_unknown, value_input=value_input)
        self._updater = Updater(*parts, ignore_unknown=ignore_unknown, value_input=value_input)
        self._idempotency = Idempotency(ledger, self._writer, wall_clock)
        self._recovery = Recovery(
            sheets,
            refresher,
            header_cache,
            ignore_unknown=ignore_unknown,
            compare=value_input.compare,
        )

    async def list_now(self, target: Target, query: Query, encoder: Encoder) -> Served | None:
        """The page if it takes no call; None too if it names unknown fields."""
        read = self._reader.fresh(target.worksheet, needs_types=query.needs_types)
        if read is None:
            return None
        try:
            return await self._listed(read, target, query, encoder)
        except UnknownField:
            return None

    async def list_rows(
        self, target: Target, query: Query, encoder: Encoder, *, no_cache: bool = False
    ) -> Served:
        """The page of rows that a query asks for; UnknownField if it names one.

        What the encoder makes of it is kept with the snapshot, for all who see the same columns.
        """
        at_once = None if no_cache else await self.list_now(target, query, encoder)
        if at_once is not None:
            return at_once
        with in_call_context(CallContext(target.access.key_id)):
            read = await self._read(target, query, no_cache=no_cache)
        if isinstance(read, WindowRead):
            return Served(
                page_in(read.window, query, encoder, target.access.columns), read.freshness
            )
        return await self._listed(read, target, query, encoder)

    def row_now(
        self, target: Target, row: int, keys: Selection | None, encoder: Encoder
    ) -> Served | None:
        """The row if it takes no call; None too if it names unknown fields, or is not there."""
        read = self._reader.fresh(target.worksheet, needs_types=False)
        if read is None or not FIRST_DATA_ROW <= row <= read.snapshot.table.last_row:
            return None
        try:
            return Served(
                self._row(read.snapshot, target.access, row, keys, encoder), read.freshness
            )
        except UnknownField:
            return None

    async def read_row(
        self,
        target: Target,
        row: int,
        keys: Selection | None,
        encoder: Encoder,
        *,
        no_cache: bool = False,
    ) -> Served:
        """One row; RowNotFound above the first data row and below the last that is not blank."""
        at_once = None if no_cache else self.row_now(target, row, keys, encoder)
        if at_once is not None:
            return at_once
        if row < FIRST_DATA_ROW:
            raise row_not_found(row)
        with in_call_context(CallContext(target.access.key_id)):
            read = await self._read_plain(target.worksheet, row, 1, no_cache=no_cache)
        if isinstance(read, WindowRead):
            made = row_in(read.window, row, keys, encoder, target.access.columns)
            return Served(made, read.freshness)
        if row > read.snapshot.table.last_row:
            raise row_not_found(row)
        return Served(self._row(read.snapshot, target.access, row, keys, encoder), read.freshness)

    async def create_rows(self, target: Target, create: Create) -> Settled:
        """Append rows after the last one that is not blank; InvalidBody if one would be blank."""
        create = replace(create, access=target.access)
        for number, fields in enumerate(create.rows):
            check_granted(fields, target.access.columns, at=create.path(number))
            check_has_value(fields.values(), at=create.path(number))
        with in_call_context(CallContext(target.access.key_id)):
            return await self._idempotency.run(
                create.identity,
                lambda: self._writer.write(target.worksheet, create),
                lambda entry: self._recovery.find_created(target.worksheet, create, entry),
            )

    async def update_row(self, target: Target, update: Update) -> Settled:
        """Write the named cells of an existing row; all others stay as they are."""
        if update.row < FIRST_DATA_ROW:
            raise row_not_found(update.row)
        update = replace(update, access=target.access)
        check_granted(update.fields, target.access.columns)
        with in_call_context(CallContext(target.access.key_id)):
            return await self._idempotency.run(
                update.identity,
                lambda: self._writer.write(target.worksheet, update),
                lambda entry: self._recovery.find_updated(target.worksheet, update, entry),
            )

    async def aclose(self) -> None:
        """Finish the writes in line."""
        await self._writer.aclose()

    def _row(
        self,
        snapshot: Snapshot,
        access: Access,
        row: int,
        keys: Selection | None,
        encoder: Encoder,
    ) -> Encoded:
        """A row that the table has."""
        key = (encoder, row, keys, access.columns.readable)
        kept = snapshot.encodings.answers.get(key)
        if kept is not None:
            return kept
        made = row_of(snapshot, row, keys, encoder, access.columns)
        return snapshot.encodings.answers.keep(key, made)

    async def _read(self, target: Target, query: Query, *, no_cache: bool) -> Read | WindowRead:
        worksheet = target.worksheet
        if query.needs_types:
            return await self._reader.typed(
                worksheet, query, target.access.columns, no_cache=no_cache
            )
        if query.wants_total:
            return await self._reader.displayed(worksheet, no_cache=no_cache)
        first_row = FIRST_DATA_ROW + query.skip
        return await self._read_plain(worksheet, first_row, query.limit, no_cache=no_cache)

    async def _read_plain(
        self, worksheet: WorksheetId, first_row: int, count: int, *, no_cache: bool
    ) -> Read | WindowRead:
        """The whole worksheet as it displays itself, or these rows if it is too large for that."""
        if not self._windows.is_large(worksheet):
            try:
                read = await self._reader.displayed(worksheet, no_cache=no_cache)
            except SheetTooLarge:
                self._windows.note_large(worksheet)
            else:
                self._windows.note_size(worksheet, read.snapshot.table)
                return read
        return await self._windows.read(worksheet, first_row, count, no_cache=no_cache)

    async def _listed(self, read: Read, target: Target, query: Query, encoder: Encoder) -> Served:
        """The page of a snapshot, encoded once for all who see the same columns."""
        snapshot = read.snapshot
        key = (encoder, query, target.access.columns.readable)
        encoded, freshness = snapshot.encodings.answers.get(key), read.freshness
        if encoded is None:
            if query.needs_types:
                began = self._clock()
                page = await self._search(snapshot, target, query)
                freshness = freshness.later(self._clock() - began)
            else:
                page = plain_page(snapshot.table, query)
            made = page_of(snapshot, page, query, encoder, target.access.columns)
            encoded = snapshot.encodings.answers.keep(key, made)
        return Served(encoded, freshness)

    async def _search(self, snapshot: Snapshot, target: Target, query: Query) -> Page:
        """The page of a query with `where` or `order`; QueryTooCostly past the budget."""
        table, scheduler = snapshot.table, self._scheduler
        view = table.header.seen_with(target.access.columns)
        work = Metered(evaluate(table, query, view), self._max_query_steps)
        try:
            if not scheduler.try_at_once(work, target.access.key_id):
                await scheduler.finish(work, target.access.key_id)
        except OutOfSteps:
            raise _too_costly(query, table.last_row - 1, self._max_query_steps) from None
        finally:
            if work.steps > table.last_row // 4:  # an index takes as many at least
                self._snapshots.weigh(target.worksheet, snapshot)
        return work.result

    async def _perform(self, worksheet: WorksheetId, group: Sequence[Write]) -> Sequence[Outcome]:
        creates = [write for write in group if isinstance(write, Create)]
        if creates:
            return await self._appender.append(worksheet, creates)
        return await self._updater.update(
            worksheet, [write for write in group if isinstance(write, Update)]
        )


def _too_costly(query: Query, rows: int, budget_steps: int) -> QueryTooCostly:
    conditions = 0 if query.where is None else len(condition_fields(query.where))
    return QueryTooCostly(
        f"This query takes more than {budget_steps:,} steps on the {rows:,} rows of the worksheet, "
        f"with {conditions} conditions and {len(query.order)} order terms. Use fewer conditions "
        "or order terms, or a worksheet with fewer rows. What it indexed is kept: repeated, it may "
        "take fewer steps."
    )
