"""What the API does with rows: list, read, create, update.

    operation      nothing cached          header seen within `cache.header_ttl_seconds`
    list           1 read                  1 read
    list, where    2 reads                 2 reads, side by side
    read           1 read                  1 read
    create         1 read + 1 write        1 write
    update         1 read + 1 write        1 read + 1 write (1 more read for a blank row)

What is wrong without looking at the sheet costs nothing, an unknown field one read at most.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.config import ApiSettings, CacheSettings, WriteSettings
from gateway.rows.evaluate import evaluate
from gateway.rows.query import Query
from gateway.rows.record import Stored, check_has_value
from gateway.rows.table import FIRST_DATA_ROW
from gateway.service.appending import Appender
from gateway.service.reading import Reader
from gateway.service.refusal import row_not_found
from gateway.service.sightings import Sightings
from gateway.service.updating import Updater
from gateway.service.worksheet import WorksheetRef
from gateway.service.writer import Writer
from gateway.service.writes import Create, Update, Write, Written
from gateway.upstream.base import Sheets

Record = Mapping[str, object]
"""`rowIndex`, then each field with what its cell displays, or None if it is empty."""


@dataclass(frozen=True, kw_only=True)
class RowPage:
    records: Sequence[Record]
    has_next: bool


class RowService:
    def __init__(
        self,
        sheets: Sheets,
        *,
        cache: CacheSettings,
        writes: WriteSettings,
        api: ApiSettings,
        clock: Callable[[], float],
    ) -> None:
        ignore_unknown = api.unknown_fields == "ignore"
        sightings = Sightings(cache, clock)
        self._reader = Reader(sheets, sightings, clock)
        self._appender = Appender(sheets, self._reader, sightings, ignore_unknown=ignore_unknown)
        self._updater = Updater(sheets, sightings, ignore_unknown=ignore_unknown)
        self._writer = Writer(self._perform, writes)

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
    ) -> Record:
        """One row; RowNotFound above the first data row and below the last that is not blank."""
        if row < FIRST_DATA_ROW:
            raise row_not_found(row)
        table = await self._reader.displayed_table(ref)
        if row > table.last_row:
            raise row_not_found(row)
        return table.record(row, table.header.select(keys))

    async def create_row(self, ref: WorksheetRef, fields: Mapping[str, Stored]) -> Written:
        """Append a row after the last one that is not blank; InvalidBody if it would be blank."""
        check_has_value(fields.values())
        return await self._writer.write(ref, Create(fields))

    async def update_row(
        self, ref: WorksheetRef, row: int, fields: Mapping[str, Stored]
    ) -> Written:
        """Write the named cells of an existing row; all others stay as they are."""
        if row < FIRST_DATA_ROW:
            raise row_not_found(row)
        return await self._writer.write(ref, Update(row, fields))

    async def aclose(self) -> None:
        """Finish the writes in line."""
        await self._writer.aclose()

    async def _perform(self, ref: WorksheetRef, write: Write) -> Written:
        match write:
            case Create(fields):
                return await self._appender.append(ref, fields)
            case Update(row, fields):
                return await self._updater.update(ref, row, fields)
