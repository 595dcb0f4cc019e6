"""The schema of both databases, and stores of other versions."""

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection

from gateway.settings.database import Database
from gateway.settings.model import ConfigError
from gateway.storage.database import SCHEMA, metadata, migrate_database, open_database
from gateway.storage.key_store import KeyStore
from gateway.storage.store_copy import COPIED
from gateway.storage.upgrade import scripts
from gateway.worksheets.idempotency import Entry
from tests.clock import ManualClock
from tests.postgres import PostgresServer
from tests.storage.by_hand import execute
from tests.storage.conftest import FENCE, IDENTITY, NOW, OTHER_IDENTITY, ROWS
from tests.storage.test_key_store import RECORD, WIDE, active

EARLIER = Path(__file__).with_name("earlier_store.sql")
PATIENCE_SECONDS = 30.0
OPENS_IT = """
import asyncio, sys
from pathlib import Path
from gateway.storage.key_store import KeyStore

async def main():
    async with KeyStore.open(Path(sys.argv[1])):
        print("alembic" in sys.modules)

asyncio.run(main())
"""


@pytest.fixture
def earlier(file: Path) -> Path:
    """A store of the last version without migrations."""
    file.touch(0o600)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(EARLIER.read_text("utf-8"))
    return file


def objects(file: Path) -> dict[str, str]:
    """The SQL of all tables, indexes and triggers, without differences of layout."""
    with closing(sqlite3.connect(file)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name: " ".join(sql.split()) for name, sql in found}


def test_the_last_migration_is_known() -> None:
    """Its number tells, without Alembic, whether a database is up to date."""
    numbers = [each.revision for each in scripts().walk_revisions()]

    assert numbers[0] == SCHEMA
    assert numbers == sorted(numbers, reverse=True)
    assert {len(number) for number in numbers} == {4}


def test_all_tables_are_copied_or_made_anew() -> None:
    """A new table cannot be forgotten by a copy of the store."""
    copied = {table.name for table in COPIED}

    assert metadata.tables.keys() - copied == {"key_changes", "spent_quota"}


async def test_migrations_make_the_tables_that_the_code_knows(database: Database) -> None:
    """Tables, columns, types, defaults and indexes are the same."""

    def differences(connection: Connection) -> list[object]:
        # Alembic takes an empty text of SQLite for another default.
        is_server = connection.dialect.name == "postgresql"
        opts = {"compare_type": True, "compare_server_default": is_server}
        context = MigrationContext.configure(connection, opts=opts)
        return [*compare_metadata(context, metadata)]

    async with open_database(database) as engine, engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_a_store_without_migrations_is_taken_over(earlier: Path) -> None:
    """Keys, answers, open writes and removals are what they were."""
    clock = ManualClock()
    async with KeyStore.open(earlier) as store, store.open_ledger(clock) as ledger:
        records = await store.list()
        changes = await store.changes(None, NOW)
        mark = await store.pepper_mark()
        answered = await ledger.find(OTHER_IDENTITY.scope)
        opened = await ledger.find(IDENTITY.scope)
        left = ledger.open_writes

    assert {record.id: record.revoked_at for record in records} == {RECORD.id: None, WIDE.id: NOW}
    assert RECORD in records
    assert changes is not None
    assert [change.number for change, _ in changes] == [1, 2, 3]
    assert mark == b"mark"
    assert answered is not None
    assert answered.is_moved
    assert opened == Entry(
        fingerprint="f1", sent_at=clock(), first_row=5, rows=ROWS, fence=FENCE, is_moved=True
    )
    assert sorted(each.fence.id for each in left) == [7, 78]
    assert [(each.is_exclusive, each.is_removal) for each in left] == [(False, False), (True, True)]


async def test_a_store_without_migrations_becomes_as_a_new_one(
    earlier: Path, tmp_path: Path
) -> None:
    """Its triggers, indexes and tables are those of a new store, but for names of types."""
    for file in (earlier, tmp_path / "new.db"):
        async with KeyStore.open(file):
            pass
    taken_over, new = objects(earlier), objects(tmp_path / "new.db")

    assert taken_over.keys() == new.keys()
    assert {name: sql for name, sql in taken_over.items() if "TABLE" not in sql} == {
        name: sql for name, sql in new.items() if "TABLE" not in sql
    }


async def test_an_earlier_version_goes_on_with_a_migrated_store(
    earlier: Path, tmp_path: Path
) -> None:
    """Migrations only add: rows that it writes have all that is needed."""
    async with KeyStore.open(earlier) as store:
        with closing(sqlite3.connect(earlier)) as other:
            other.execute("DELETE FROM api_keys")
            inserts = [
                line for line in EARLIER.read_text().splitlines() if 'INTO "api_keys' in line
            ]
            other.executescript("\n".join(inserts))
        found = await active(store)

    assert found == {b"1": RECORD}


async def test_a_later_schema_is_used_as_it_is(database: Database) -> None:
    """The next version runs beside this one, and has added what this one does not know."""
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
    """Loading it would take longer than all the rest."""
    if not is_new:
        async with KeyStore.open(file):
            pass
    output = await asyncio.to_thread(
        subprocess.check_output,
        [sys.executable, "-c", OPENS_IT, str(file)],
        text=True,
    )

    assert output == f"{is_new}\n"


async def test_a_server_is_migrated_by_command_only(postgres: PostgresServer) -> None:
    """A gateway says what to do; it needs no right to create tables."""
    database = postgres.new_database(is_migrated=False)

    with pytest.raises(ConfigError) as refusal:
        async with KeyStore.open(database):
            pass
    assert refusal.value.problems == [
        f"access.database: {database} lacks tables of this version: run "
        "sheets-gateway storage migrate"
    ]


async def test_many_may_migrate_a_server_at_once(postgres: PostgresServer) -> None:
    """Of those who race to do it none fails."""
    database = postgres.new_database(is_migrated=False)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(migrate_database(database) for _ in range(8)))
    async with KeyStore.open(database) as store:
        await store.add(RECORD, b"1")
        found = await active(store)

    assert found == {b"1": RECORD}


async def test_a_failed_migration_leaves_nothing(postgres: PostgresServer) -> None:
    """A table with a name of ours is reported, and no other one is made."""
    database = postgres.new_database(is_migrated=False)
    execute(database, "CREATE TABLE worksheets (id integer)")

    with pytest.raises(ConfigError, match=r"cannot be used as the key store: .*already exists"):
        await migrate_database(database)
    tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
    assert execute(database, tables) == [("worksheets",)]
