"""Copy of a SQLite store to a PostgreSQL database, in which all keys stay valid.

Rules
- All tables are copied in one transaction. The source is not changed.
- A damaged row stops the copy, because PostgreSQL does not accept the row.
- The change log is not copied, because triggers write a new log. The spent quota is not copied,
  because it counts for one minute.
- The target can have stored use of keys, because every start of a gateway stores some. The copy
  replaces this use.
- The caller holds the locks of both stores, so that no gateway uses these stores meanwhile.
"""

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import Table, delete, insert, literal, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.settings.database import PostgresUrl
from gateway.settings.model import ConfigError
from gateway.storage.admin_secrets import admin_secrets
from gateway.storage.database import STORE_ERRORS, open_database, reason_of
from gateway.storage.key_store import key_edits, keys, pepper_marks
from gateway.storage.usage import key_usage
from gateway.storage.worksheet_rows import worksheets
from gateway.storage.write_records import records, sent_batches

COPIED: tuple[Table, ...] = (
    *(pepper_marks, keys, admin_secrets, key_edits, key_usage),
    *(records, sent_batches, worksheets),
)

_PAGE_SIZE = 500
# A record stores the number of the last batch before it, which may be deleted already.
_CONTINUE_NUMBERS = text(
    "SELECT setval(pg_get_serial_sequence('row_removals', 'id'), 1 + greatest("
    "(SELECT coalesce(max(id), 0) FROM row_removals), "
    "(SELECT coalesce(max(last_removal), 0) FROM idempotency_records)), false)"
)


async def copy_store(source: Path, target: PostgresUrl) -> Mapping[str, int]:
    """Copy all tables to an empty database. Returns the number of copied rows by table name.

    Raises `ConfigError` if the target has rows (except use of keys), or if a database fails.
    """
    async with open_database(source) as file, open_database(target) as server:
        try:
            async with file.connect() as reading, server.begin() as writing:
                await reading.exec_driver_sql("BEGIN")  # one snapshot of all tables
                for table in COPIED:
                    has_rows = select(literal(1)).select_from(table).limit(1)
                    if table is not key_usage and await writing.scalar(has_rows):
                        raise ConfigError(
                            f"{target} is not empty: {table.name} has rows. Copy into a new "
                            "database"
                        )
                await writing.execute(delete(key_usage))
                counts = {table.name: await _copy(table, reading, writing) for table in COPIED}
                await writing.execute(_CONTINUE_NUMBERS)
        except STORE_ERRORS as error:
            raise ConfigError(f"{source} was not copied: {reason_of(error)}") from error
    return counts


async def _copy(table: Table, reading: AsyncConnection, writing: AsyncConnection) -> int:
    count = 0
    found = await reading.stream(select(table))
    async for page in found.mappings().partitions(_PAGE_SIZE):
        await writing.execute(insert(table), [dict(row) for row in page])
        count += len(page)
    return count
