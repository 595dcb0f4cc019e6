"""Database of API keys and records of writes: a private SQLite file in WAL mode, or PostgreSQL.

Rules:
- A SQLite file is upgraded when it is opened. Only `sheets-gateway storage migrate` upgrades a
  PostgreSQL database, so gateways need no right to change its schema.
- Migrations only add tables and columns. So a database can have a later schema than this version
  knows.
- No message contains a URL, because a URL can contain a password.
"""

import errno
import os
import re
import sqlite3
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakSet

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from gateway.settings.database import Database, PostgresUrl
from gateway.settings.model import ConfigError
from gateway.settings.private_file import HOW_TO_MEND, is_open_to_others, own_target

BUSY_TIMEOUT_MS = 5000
"""Maximum milliseconds that SQLite waits for a lock of another program."""
APPLICATION = "sheets-gateway"
CONNECT_TIMEOUT_SECONDS = 5.0
STATEMENT_TIMEOUT_SECONDS = 10.0

SCHEMA = "0008"
"""Number of the last migration that this version knows. Later versions have higher numbers."""
FIRST_SCHEMA = "0008"
"""Number of the first migration. Development versions had lower numbers."""

STORE_ERRORS = (SQLAlchemyError, OSError)
"""Errors of a database that is unavailable. Connecting to PostgreSQL raises OSError."""

metadata = sa.MetaData()
"""All tables of this version, which `gateway.storage.upgrade` creates."""

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""Type of 64-bit numbers. SQLite generates primary keys only for columns of type INTEGER."""

TIME = sa.String().with_variant(sa.String(collation="C"), "postgresql")
"""Type of times as text. With collation "C", PostgreSQL sorts these texts by time."""

LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_MIGRATION = re.compile("[0-9]{4}")
_MIGRATION_LOCK = sa.text("SELECT pg_advisory_xact_lock(hashtext('sheets-gateway schema'))")


@asynccontextmanager
async def open_database(
    database: Database, *, statement_timeout_seconds: float = STATEMENT_TIMEOUT_SECONDS
) -> AsyncIterator[AsyncEngine]:
    """Open the database, and close it at the end. Creates or upgrades a SQLite file.

    Raises `ConfigError` if the database is unusable, if other users can read or write the file, or
    if a PostgreSQL database has an earlier schema. The timeout is only for PostgreSQL.
    """
    async with _engine(database, statement_timeout_seconds) as engine:
        file = None if isinstance(database, PostgresUrl) else database
        try:
            if file:
                _create_private(file)
            async with engine.connect() as connection:
                if file:
                    # With WAL, `keys create` and a busy gateway do not block each other. The file
                    # stores the mode. This statement does not wait for a lock: the process that
                    # holds the lock opens the store, too, and sets the same mode.
                    with suppress(OperationalError):
                        await connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                is_outdated = await _is_outdated(connection)
                if file and is_outdated:
                    await _upgrade(connection)
                if file or not is_outdated:
                    await connection.run_sync(_check_tables)
        except STORE_ERRORS as error:
            raise ConfigError(_open_problem(database, error)) from error
        # A user who reads the file could see cells, and a user who writes it could create keys.
        if file and is_open_to_others(file.stat().st_mode):
            raise ConfigError(
                f"access.database: {file} is open to other users of this machine: {HOW_TO_MEND}"
            )
        if not file and is_outdated:
            raise ConfigError(
                f"access.database: {database} lacks tables of this version: run "
                "`sheets-gateway storage migrate`"
            )
        yield engine


async def migrate_database(database: Database) -> None:
    """Create or upgrade the schema, without a timeout. Raises `ConfigError`."""
    if not isinstance(database, PostgresUrl):
        async with open_database(database):
            return
    async with _engine(database, None) as engine:
        try:
            async with engine.connect() as connection:
                await _upgrade(connection)
        except STORE_ERRORS as error:
            raise ConfigError(_open_problem(database, error)) from error


def is_server(engine: AsyncEngine) -> bool:
    """True for PostgreSQL."""
    return engine.dialect.name == "postgresql"


class IdleConnections:
    """Idle connections in the pool of a PostgreSQL engine."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._idle: WeakSet[Any] = WeakSet()
        sa.event.listen(engine.sync_engine, "checkin", self._add)
        sa.event.listen(engine.sync_engine, "checkout", self._discard)

    def abort(self) -> None:
        """Close the sockets at once. A regular close would wait for the server."""
        for each in [*self._idle]:
            each.terminate()
        self._idle.clear()

    def _add(self, connection: Any, _: object) -> None:
        if connection is not None:  # invalidated
            self._idle.add(connection.driver_connection)

    def _discard(self, connection: Any, *_: object) -> None:
        self._idle.discard(connection.driver_connection)


def upsert(
    table: sa.Table, computed: Mapping[str, str] = MappingProxyType({}), *, where: str = ""
) -> sa.TextClause:
    """SQL for both dialects: insert a row, or replace the row with the same primary key.

    A column gets the parameter with the column's name, or the SQL expression for this name in
    `computed`. `where` is an SQL condition on the existing row. If it is false, the row stays.
    """
    names = [column.name for column in table.columns]
    values = [computed.get(name, f":{name}") for name in names]
    key = ", ".join(column.name for column in table.primary_key)
    changes = ", ".join(f"{name} = excluded.{name}" for name in names)
    statement = sa.text(
        f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join(values)}) "  # noqa: S608
        f"ON CONFLICT ({key}) DO UPDATE SET {changes}" + (f" WHERE {where}" if where else "")
    )
    columns = [column for column in table.columns if column.name not in computed]
    return statement.bindparams(*(sa.bindparam(each.name, type_=each.type) for each in columns))


def reason_of(error: OSError | SQLAlchemyError) -> str:
    """Returns the message of the database or the operating system, without the SQL statement."""
    reason = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(reason, TimeoutError):
        return "it does not answer in time"
    return (isinstance(reason, OSError) and reason.strerror) or str(reason)


def is_locked(error: BaseException | None) -> bool:
    """True if another program locked a SQLite file for longer than `BUSY_TIMEOUT_MS`."""
    reason = error.orig if isinstance(error, DBAPIError) else error
    # The low byte is the error code. The higher bytes are details of the error.
    return isinstance(reason, sqlite3.Error) and reason.sqlite_errorcode & 0xFF in LOCKED


@asynccontextmanager
async def _engine(
    database: Database, statement_timeout_seconds: float | None
) -> AsyncIterator[AsyncEngine]:
    if isinstance(database, PostgresUrl):
        engine = server_engine(
            database,
            statement_timeout_seconds=statement_timeout_seconds,
            pool_pre_ping=True,  # a restart of the server fails no request afterwards
            pool_timeout=CONNECT_TIMEOUT_SECONDS,
        )
    else:
        # hide_parameters: errors, and so the log, would contain values of parameters.
        url = sa.URL.create("sqlite+aiosqlite", database=str(database.absolute()))
        engine = create_async_engine(url, hide_parameters=True)
        sa.event.listen(engine.sync_engine, "connect", _set_up_connection)
    try:
        yield engine
    finally:
        await engine.dispose()


def server_engine(
    database: PostgresUrl,
    *,
    name: str = APPLICATION,
    timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
    statement_timeout_seconds: float | None = STATEMENT_TIMEOUT_SECONDS,
    settings: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> AsyncEngine:
    """Create an engine for PostgreSQL, with further `options` of `create_async_engine`.

    `pg_stat_activity` shows `name`. `timeout_seconds` limits connecting. If
    `statement_timeout_seconds` is None, statements have no limit. `settings` are PostgreSQL's
    settings of each session. Raises ConfigError if the driver is not installed.
    """
    connect_args = {
        "timeout": timeout_seconds,
        "command_timeout": statement_timeout_seconds,
        "server_settings": {"application_name": name, **settings},
    }
    url = database.url.get_secret_value()
    try:
        engine = create_async_engine(
            url, hide_parameters=True, connect_args=connect_args, **options
        )
    except ModuleNotFoundError as error:
        raise ConfigError(
            "access.database: PostgreSQL needs asyncpg: install `sheets-gateway[cluster]`"
        ) from error
    dialect: Any = engine.sync_engine.dialect
    dialect.setup_asyncpg_json_codec = _store_errors_of(dialect.setup_asyncpg_json_codec)
    dialect.setup_asyncpg_jsonb_codec = _store_errors_of(dialect.setup_asyncpg_jsonb_codec)
    return engine


def _store_errors_of(set_up: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
    """Wrap a function of the connection set-up, so that its errors become OperationalError."""

    async def set_up_or_fail(connection: Any) -> None:
        try:
            await set_up(connection)
        except Exception as error:
            raise OperationalError("connect", None, error) from error

    return set_up_or_fail


def _set_up_connection(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.close()
    # Otherwise a text that is not UTF-8 would fail the query for all rows.
    connection.driver_connection.text_factory = partial(
        str, encoding="utf-8", errors="surrogateescape"
    )


async def _is_outdated(connection: AsyncConnection) -> bool:
    found = await connection.run_sync(_stored_schema)
    return found is None or found < SCHEMA


def _stored_schema(connection: sa.Connection) -> str | None:
    """Returns the number of the last migration, or None for a database without migrations.

    Raises ConfigError for a database of another program or of a development version. A PostgreSQL
    database can have tables of other programs.
    """
    inspected = sa.inspect(connection)
    if inspected.has_table("alembic_version"):
        found = connection.scalars(sa.text("SELECT version_num FROM alembic_version")).all()
        is_ours = all(isinstance(each, str) and _MIGRATION.fullmatch(each) for each in found)
    else:
        found = []
        is_ours = connection.dialect.name != "sqlite" or not (
            inspected.get_table_names() or inspected.get_view_names()
        )
    if not is_ours:
        raise ConfigError(
            "access.database: this is the database of another program, or its table "
            "alembic_version is damaged: correct access.database, or restore the key store "
            "from a backup"
        )
    schema: str | None = max(found, default=None)
    if schema is not None and schema < FIRST_SCHEMA:
        raise ConfigError(
            f"access.database: schema {schema} is of a development version before 0.1.0, and "
            "cannot be upgraded: create the keys again in a new database"
        )
    return schema


def _check_tables(connection: sa.Connection) -> None:
    """Raise ConfigError if a table is missing. Later versions can have more tables."""
    missing = metadata.tables.keys() - sa.inspect(connection).get_table_names()
    if missing:
        raise ConfigError(
            f"access.database: the tables {', '.join(sorted(missing))} are missing: "
            "restore the key store from a backup"
        )


async def _upgrade(connection: AsyncConnection) -> None:
    """Run missing migrations in one transaction, under a lock against concurrent upgrades."""
    await connection.rollback()
    if connection.dialect.name == "sqlite":
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        await connection.execute(_MIGRATION_LOCK)
    if await _is_outdated(connection):
        # Loading Alembic takes longer than opening a database.
        from gateway.storage.upgrade import upgrade  # noqa: PLC0415

        await connection.run_sync(upgrade)
    await connection.commit()


def _open_problem(database: Database, error: OSError | SQLAlchemyError) -> str:
    return f"access.database: {database} cannot be used as the key store: {reason_of(error)}"


def _create_private(database: Path) -> None:
    """Create the file for its owner only, or check that the file can be used. Raises OSError.

    An existing file is not opened. If a process closes any descriptor of a file, it loses its POSIX
    locks on the file, which SQLite uses (https://sqlite.org/howtocorrupt.html, 2.2). The next
    command would then delete the WAL of a running gateway.
    """
    # SQLite creates its other files with this file's mode, and follows no links to them. An
    # unusable file must fail here: if connecting failed, aiosqlite's thread could outlive the loop.
    target = own_target(database)
    try:
        os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        mode = target.stat().st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR)) from None
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a file") from None
        if not os.access(target, os.R_OK | os.W_OK):
            reason = errno.EROFS if os.statvfs(target).f_flag & os.ST_RDONLY else errno.EACCES
            raise OSError(reason, os.strerror(reason)) from None
