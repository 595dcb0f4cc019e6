"""Direct SQL changes of a key store in SQLite or PostgreSQL, as an operator makes them."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import asyncpg

from gateway.settings.database import SCHEME, Database, PostgresUrl
from tests.postgres import in_thread

RECORDS = "idempotency_records"


def waiting_while(condition: str) -> str:
    """PostgreSQL statement that waits while `condition` is true, and fails after 20 seconds."""
    return f"""
    DO $$
    BEGIN
        WHILE {condition} LOOP
            IF clock_timestamp() > now() + interval '20 seconds' THEN
                RAISE EXCEPTION 'waited too long';
            END IF;
            PERFORM pg_sleep(0.01);
        END LOOP;
    END $$
    """


def execute(database: Database, sql: str, *values: object) -> Sequence[tuple[Any, ...]]:
    """Execute a statement with the values `$1`, `$2` …, and commit it."""
    if isinstance(database, PostgresUrl):
        return in_thread(lambda: _execute_at_server(database, sql, *values))
    named = {str(number): value for number, value in enumerate(values, 1)}
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute(sql, named).fetchall()
        connection.commit()
    return found


async def _execute_at_server(
    database: PostgresUrl, sql: str, *values: object
) -> Sequence[tuple[Any, ...]]:
    connection = await connect(database)
    try:
        return [tuple(row) for row in await connection.fetch(sql, *values)]
    finally:
        await connection.close()


async def connect(database: PostgresUrl) -> "asyncpg.Connection[asyncpg.Record]":
    """Connection to PostgreSQL with the rights of the operator."""
    url = database.url.get_secret_value().replace(SCHEME, "postgresql")
    return await asyncpg.connect(url)


def scopes(database: Database) -> set[str]:
    """Scopes of all records of idempotent writes, including expired records."""
    return {scope for (scope,) in execute(database, "SELECT scope FROM idempotency_records")}


def take_fences(database: Database, *scopes: str) -> None:
    """Remove the fences from records, because earlier versions stored records without a fence."""
    for scope in scopes:
        execute(
            database,
            "UPDATE idempotency_records SET fence_id = NULL, fence_key = NULL, token = NULL "
            "WHERE scope = $1",
            scope,
        )


def spoil(database: Database, table: str = RECORDS) -> None:
    """Drop a table."""
    execute(database, f"DROP TABLE {table}")


def refuse(database: Database, change: str, when: str = "TRUE", table: str = RECORDS) -> None:
    """Make changes of a table fail from now on, like a full disk."""
    if isinstance(database, PostgresUrl):
        execute(
            database,
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'disk full'; END $$",
        )
        action = "FOR EACH ROW WHEN ({}) EXECUTE FUNCTION full_disk()"
    else:
        action = "WHEN {} BEGIN SELECT RAISE(FAIL, 'disk full'); END"
    execute(database, f"CREATE TRIGGER full_disk BEFORE {change} ON {table} {action.format(when)}")


def allow(database: Database, table: str = RECORDS) -> None:
    """End the failures of `refuse`."""
    on_table = f" ON {table}" if isinstance(database, PostgresUrl) else ""
    execute(database, f"DROP TRIGGER full_disk{on_table}")
