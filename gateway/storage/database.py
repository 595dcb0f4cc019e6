"""The SQLite database of keys and write ledger: a private file in WAL mode."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Column, Table, event
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.schema import CreateColumn

from gateway.settings.model import ConfigError
from gateway.settings.private_file import HOW_TO_MEND, is_open_to_others

BUSY_TIMEOUT_MS = 5000

Prepare = Callable[[AsyncConnection], Awaitable[None]]
"""Creates the tables and commits."""


@asynccontextmanager
async def open_database(database: Path, prepare: Prepare) -> AsyncIterator[AsyncEngine]:
    """Open the database file, creating it if needed, prepare it, and close it at the end.

    Raises `ConfigError` for a file that is unusable, is not a database, or is open to other users.
    """
    engine = _engine(database)
    try:
        await _prepare(engine, database, prepare)
        yield engine
    finally:
        await engine.dispose()


async def add_missing_columns(connection: AsyncConnection, table: Table) -> bool:
    """Add the missing columns in a transaction, which is left open; False if there are none."""
    if not await _missing_columns(connection, table):
        return False
    # Other processes that open the database wait here, then find nothing to do.
    await connection.exec_driver_sql("BEGIN IMMEDIATE")
    missing = await _missing_columns(connection, table)
    for column in missing:
        definition = CreateColumn(column).compile(dialect=connection.dialect)
        await connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
    return bool(missing)


async def _missing_columns(connection: AsyncConnection, table: Table) -> list[Column[Any]]:
    """Columns that the table of an earlier version lacks."""
    found = await connection.exec_driver_sql(f"PRAGMA table_info({table.name})")
    names = {row.name for row in found}
    return [column for column in table.columns if column.name not in names]


def _engine(database: Path) -> AsyncEngine:
    # hide_parameters: error texts, and so the log, would contain them.
    url = URL.create("sqlite+aiosqlite", database=str(database.absolute()))
    engine = create_async_engine(url, hide_parameters=True)
    event.listen(engine.sync_engine, "connect", _set_up_connection)
    return engine


def _set_up_connection(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.close()


async def _prepare(engine: AsyncEngine, database: Path, prepare: Prepare) -> None:
    try:
        _create_private(database)
        async with engine.connect() as connection:
            await _switch_to_wal(connection)
            await prepare(connection)
    except (OSError, SQLAlchemyError) as error:
        raise ConfigError([_open_problem(database, error)]) from error
    _check_private(database)


async def _switch_to_wal(connection: AsyncConnection) -> None:
    # With WAL, `keys create` and a busy gateway do not block each other. The file stores the mode.
    # This statement does not wait for locks: a process that holds one is opening the store and sets
    # the same mode.
    with suppress(OperationalError):
        await connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _open_problem(database: Path, error: OSError | SQLAlchemyError) -> str:
    reason = error.orig if isinstance(error, DBAPIError) else error
    text = reason.strerror if isinstance(reason, OSError) else reason
    return f"access.database: {database} cannot be used as the key store: {text}"


def _create_private(database: Path) -> None:
    # SQLite gives its side files this file's mode. An unusable file must fail here: if connecting
    # fails, aiosqlite's thread may outlive the event loop.
    os.close(os.open(database, os.O_CREAT | os.O_RDWR, 0o600))


def _check_private(database: Path) -> None:
    # Readers of the ledger could read cells; writers of the file could create keys.
    if is_open_to_others(database.stat().st_mode):
        raise ConfigError(
            [f"access.database: {database} is open to other users of this machine: {HOW_TO_MEND}"]
        )
