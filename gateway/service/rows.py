"""What the API does with rows: list, read, create, update.

    operation      nothing cached          header seen within `cache.header_ttl_seconds`
    list           1 read                  1 read
    list, where    2 reads                 2 reads, side by side
    read           1 read                  1 read
    create         1 read + 1 write        1 write
    update         1 read + 1 write        1 read + 1 write (1 more read for a blank row)

Writes that wait for the same worksheet share these calls: all creates, then all updates. A full
grid costs 1 read + 1 write more if its last row begins with a blank; a refused group at most 4
writes and a read for each; a create that Google left open 1 to 3 reads, such an update 2 reads and,
sent again, 1 write; a repeated request whose record is open 1 to 2 reads more. What is wrong
without looking at the sheet costs nothing, an unknown field one read at most.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.config import ApiSettings, CacheSettings, WriteSettings
from gateway.rows.evaluate import evaluate
from gateway.rows.query import Query
from gateway.rows.record import check_has_value
from gateway.rows.table import FIRST_DATA_ROW
from gateway.service.appending import Appender
from gateway.service.idempotency import Idempotency, Settled
from gateway.service.ledger import Ledger
from gateway.service.reading import Reader
from gateway.service.recovery import Recovery
from gateway.service.refusal import row_not_found
from gateway.service.settling import Settler
from gateway.service.sightings import Sightings
from gateway.service.updating import Updater
from gateway.service.worksheet import WorksheetRef
from gateway.service.writer import Writer
from gateway.service.writes import Create, Outcome, Update, Write
from gateway.upstream.base import Sheets

Record = Mapping[str, object]
"""`rowIndex`, then each field with what its cell displays, or None if it is empty."""


@dataclass(frozen=True, kw_only=True)
class RowPage:
    records: Sequence[Record]
    has_next: bool


@dataclass(frozen=True, kw_only=True)
class RowRead:
    """A row's record, and the tag of all that the row displays."""

    record: Record
    tag: str


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
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        ignore_unknown = api.unknown_fields == "ignore"
        sightings = Sightings(cache, clock)
        self._reader = Reader(sheets, sightings, clock)
        settler = Settler(sheets, sleep=sleep, pause_seconds=writes.look_again_seconds)
        self._appender = Appender(
            sheets, self._reader, sightings, settler, ledger, ignore_unknown=ignore_unknown
        )
        self._updater = Updater(sheets, sightings, settler, ledger, ignore_unknown=ignore_unknown)
        self._writer = Writer(self._perform, writes)
        self._idempotency = Idempotency(ledger, self._writer, wall_clock)
        self._recovery = Recovery(sheets, sightings, ignore_unknown=ignore_unknown)

    async def list_rows(self, ref: WorksheetRef, query: Query) -> RowPage:
        """The page of rows that a query asks for; InvalidQuery if it names an unknown field."""
        if query.needs_types:
            table = await self._reader.typed_table(ref, query)
        else:
            table = await self._reader.displayed_table(ref)
        page = evaluate(table, query)
        columns = table.header.select(query.keys)
        return RowPage(
            records=[table.record(row, columns) for row in page.rows], has_next=page.has_next
        )

    async def read_row(
        self, ref: WorksheetRef, row: int, keys: Sequence[str] | None = None
    ) -> RowRead:
        """One row; RowNotFound above the first data row and below the last that is not blank."""
        if row < FIRST_DATA_ROW:
            raise row_not_found(row)
        table = await self._reader.displayed_table(ref)
        if row > table.last_row:
            raise row_not_found(row)
        record = table.record(row, table.header.select(keys))
        return RowRead(record=record, tag=table.tag(row))

    async def create_rows(self, ref: WorksheetRef, create: Create) -> Settled:
        """Append rows after the last one that is not blank; InvalidBody if one would be blank."""
        for number, fields in enumerate(create.rows):
            check_has_value(fields.values(), at=create.path(number))
        return await self._idempotency.run(
            create.ticket,
            lambda: self._writer.write(ref, create),
            lambda entry: self._recovery.find_created(ref, create, entry),
        )

    async def update_row(self, ref: WorksheetRef, update: Update) -> Settled:
        """Write the named cells of an existing row; all others stay as they are."""
        if update.row < FIRST_DATA_ROW:
            raise row_not_found(update.row)
        return await self._idempotency.run(
            update.ticket,
            lambda: self._writer.write(ref, update),
            lambda entry: self._recovery.find_updated(ref, update, entry),
        )

    async def aclose(self) -> None:
        """Finish the writes in line."""
        await self._writer.aclose()

    async def _perform(self, ref: WorksheetRef, group: Sequence[Write]) -> Sequence[Outcome]:
        creates = [write for write in group if isinstance(write, Create)]
        if creates:
            return await self._appender.append(ref, creates)
        return await self._updater.update(
            ref, [write for write in group if isinstance(write, Update)]
        )
