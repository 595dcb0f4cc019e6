"""Tests of migrations, and of stores of earlier and later versions."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection

from gateway.settings.database import Database, PostgresUrl
from gateway.settings.model import ConfigError
from gateway.storage.database import FIRST_SCHEMA, SCHEMA, metadata, migrate_database, open_database
from gateway.storage.key_store import KeyRecord, KeyStore
from gateway.storage.store_copy import COPIED
from gateway.storage.upgrade import scripts
from tests.postgres import PostgresServer
from tests.storage.by_hand import connect, execute
from tests.storage.next_version import FAILING, NEXT_SCHEMA, make_next_version, open_at_once
from tests.storage.test_key_store import RECORD, WIDE, active

PATIENCE_SECONDS = 30.0
SCHEMAS = Path(__file__).with_name("schemas")
OPENS_IT = """
import asyncio, sys
from pathlib import Path
from gateway.storage.key_store import KeyStore

async def main():
    async with KeyStore.open(Path(sys.argv[1])):
        print("alembic" in sys.modules, "sqlalchemy.dialects.postgresql" in sys.modules)

asyncio.run(main())
"""


def test_schema_is_the_last_migration() -> None:
    """`SCHEMA` is the number of the last migration, so that a start does not need Alembic."""
    numbers = [each.revision for each in scripts().walk_revisions()]

    assert (numbers[0], numbers[-1]) == (SCHEMA, FIRST_SCHEMA)
    assert numbers == sorted(numbers, reverse=True)
    assert {len(number) for number in numbers} == {4}


def test_all_tables_are_copied_or_excluded() -> None:
    """Each table is either copied to another store, or listed as a table that starts empty."""
    copied = {table.name for table in COPIED}

    assert metadata.tables.keys() - copied == {"key_changes", "spent_quota"}


async def make_first_release(database: Database) -> None:
    """Create a store with the first release's SQL from the folder `schemas`."""
    if isinstance(database, PostgresUrl):
        connection = await connect(database)
        try:
            await connection.execute((SCHEMAS / f"postgresql-{FIRST_SCHEMA}.sql").read_text())
        finally:
            await connection.close()
    else:
        database.touch(mode=0o600)
        with closing(sqlite3.connect(database)) as file:
            file.executescript((SCHEMAS / f"sqlite-{FIRST_SCHEMA}.sql").read_text())


def triggers(database: Database) -> Sequence[tuple[str, ...]]:
    """Definitions of a store's triggers and trigger functions."""
    if not isinstance(database, PostgresUrl):
        return execute(database, "SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY 1")
    return [
        *execute(
            database,
            "SELECT replace(pg_get_triggerdef(pg_trigger.oid), relnamespace::regnamespace || '.', "
            "'') FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
            "WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace ORDER BY 1",
        ),
        *(
            tuple(map(dedent, row))
            for row in execute(
                database,
                "SELECT prosrc FROM pg_proc "
                "WHERE pronamespace = current_schema()::regnamespace ORDER BY proname",
            )
        ),
    ]


def indexes(database: Database) -> Sequence[tuple[str, ...]]:
    """Definitions of a store's indexes."""
    if not isinstance(database, PostgresUrl):
        return execute(
            database, "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql > '' ORDER BY 1"
        )
    return execute(
        database,
        "SELECT replace(indexdef, schemaname || '.', '') FROM pg_indexes "
        "WHERE schemaname = current_schema() ORDER BY 1",
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_migrated_store_equals_a_new_store(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """An upgraded store has the same tables, columns, types, defaults, indexes and triggers as
    a new store.
    """
    old: Database = tmp_path / "old.db"
    new: Database = tmp_path / "new.db"
    if kind == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        old, new = server.new_database(is_migrated=False), server.new_database()
    await make_first_release(old)
    await migrate_database(old)

    def differences(connection: Connection) -> list[object]:
        # Alembic takes an empty text of SQLite for another default.
        is_server = connection.dialect.name == "postgresql"
        opts = {
            "compare_type": True,
            "compare_server_default": is_server,
            "include_object": lambda _object, _name, kind, *_: kind != "index",  # see `indexes`
        }
        context = MigrationContext.configure(connection, opts=opts)
        return [*compare_metadata(context, metadata)]

    async with open_database(old) as engine, engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    async with open_database(new):
        assert triggers(old) == triggers(new) != []
        assert indexes(old) == indexes(new)
        assert "answer IS NOT NULL" in str(indexes(new))


async def test_the_next_version_upgrades_a_store(database: Database, tmp_path: Path) -> None:
    """The next version's migration runs once in several processes. This version still works
    afterwards.
    """
    async with KeyStore.open(database) as store:
        await store.add(RECORD, b"1")
    done = await asyncio.to_thread(open_at_once, make_next_version(tmp_path / "next"), database)
    async with KeyStore.open(database) as store:
        await store.add(WIDE, b"2")
        found = await active(store)

    assert done.stderr == ""
    assert done.stdout == f"{[RECORD.id]}\n" * 8
    assert execute(database, "SELECT version_num FROM alembic_version") == [(NEXT_SCHEMA,)]
    assert execute(database, "SELECT later FROM api_keys") == [("new",), ("new",)]
    assert found == {b"1": RECORD, b"2": WIDE}


async def test_a_failed_upgrade_changes_nothing(database: Database, tmp_path: Path) -> None:
    """A migration that fails halfway changes nothing. This version still works with the store."""
    async with KeyStore.open(database) as store:
        await store.add(RECORD, b"1")
    next_version = make_next_version(tmp_path / "next", FAILING)
    done = await asyncio.to_thread(open_at_once, next_version, database)
    async with KeyStore.open(database) as store:
        found = await active(store)

    assert done.returncode == 1
    assert f"access.database: {database} cannot be used as the key store" in done.stderr
    assert execute(database, "SELECT version_num FROM alembic_version") == [(SCHEMA,)]
    with pytest.raises((sqlite3.Error, asyncpg.PostgresError)):
        execute(database, "SELECT later FROM api_keys")
    assert found == {b"1": RECORD}


async def test_concurrent_creation_of_a_store(file: Path) -> None:
    """Several processes can create the same store at the same time without an error."""

    async def open_and_list() -> Sequence[KeyRecord]:
        async with KeyStore.open(file) as store:
            return await store.list()

    found = await asyncio.gather(*(open_and_list() for _ in range(8)), return_exceptions=True)

    assert found == [[]] * 8


@pytest.mark.parametrize(
    "kind", ["TABLE worksheets (id integer)", "TABLE a (b)", "VIEW api_keys AS SELECT 1"]
)
async def test_a_file_of_another_program_is_not_changed(file: Path, kind: str) -> None:
    """A file with a table or view of another program is an error, and gets no tables."""
    execute(file, f"CREATE {kind}")

    with pytest.raises(ConfigError, match=r"this is the database of another program, or "):
        async with KeyStore.open(file):
            pass
    assert execute(file, "SELECT sql FROM sqlite_master") == [(f"CREATE {kind}",)]


async def test_a_later_schema_is_used_unchanged(database: Database) -> None:
    """A store with a later schema works unchanged, because both versions can run at the same
    time.
    """
    async with KeyStore.open(database):
        execute(database, "UPDATE alembic_version SET version_num = '9999'")
    async with KeyStore.open(database) as store:
        await store.add(RECORD, b"1")
        found = await active(store)
    await migrate_database(database)

    assert found == {b"1": RECORD}
    assert execute(database, "SELECT version_num FROM alembic_version") == [("9999",)]


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "current"])
async def test_a_current_store_opens_without_alembic(file: Path, is_new: bool) -> None:
    """Opening a current store imports neither Alembic, which takes long, nor the drivers of
    PostgreSQL, which take memory.
    """
    if not is_new:
        async with KeyStore.open(file):
            pass
    output = await asyncio.to_thread(
        subprocess.check_output,
        [sys.executable, "-c", OPENS_IT, str(file)],
        text=True,
    )

    assert output == f"{is_new} {is_new}\n"


async def test_a_server_is_migrated_by_command_only(postgres: PostgresServer) -> None:
    """A gateway does not migrate a PostgreSQL database. The error names the command to run."""
    database = postgres.new_database(is_migrated=False)

    with pytest.raises(ConfigError) as refusal:
        async with KeyStore.open(database):
            pass
    assert refusal.value.problems == [
        f"access.database: {database} lacks tables of this version: run "
        "`sheets-gateway storage migrate`"
    ]


async def test_concurrent_migrations_of_a_server(postgres: PostgresServer) -> None:
    """Several processes can migrate the same PostgreSQL database at the same time without an
    error.
    """
    database = postgres.new_database(is_migrated=False)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(migrate_database(database) for _ in range(8)))
    async with KeyStore.open(database) as store:
        await store.add(RECORD, b"1")
        found = await active(store)

    assert found == {b"1": RECORD}


async def test_a_failed_migration_leaves_nothing(postgres: PostgresServer) -> None:
    """Another program's table of the same name is an error, and no table is created."""
    database = postgres.new_database(is_migrated=False)
    execute(database, "CREATE TABLE worksheets (id integer)")

    with pytest.raises(ConfigError, match=r"cannot be used as the key store: .*already exists"):
        await migrate_database(database)
    tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
    assert execute(database, tables) == [("worksheets",)]
