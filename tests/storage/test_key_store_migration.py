"""A key store that an earlier version made."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest

from gateway.settings.model import ConfigError
from gateway.storage.key_store import Grants, KeyChange, KeyRecord, KeyStore, record_of
from gateway.table.view import ColumnGrant
from tests.storage.by_hand import execute
from tests.storage.conftest import NOW

FIRST_SCHEMA = """
CREATE TABLE api_keys (
    id VARCHAR NOT NULL, digest BLOB NOT NULL, name VARCHAR NOT NULL, last4 VARCHAR NOT NULL,
    plan VARCHAR NOT NULL, spreadsheets JSON, worksheets JSON, read_only BOOLEAN NOT NULL,
    origins JSON NOT NULL, created_at VARCHAR NOT NULL, expires_at VARCHAR, revoked_at VARCHAR,
    PRIMARY KEY (id), UNIQUE (digest)
);
INSERT INTO api_keys VALUES (
    'key_old', X'01', 'old', 'wxyz', 'paid', '["one"]', NULL, 1, '[]',
    '2026-03-01T12:00:00+00:00', NULL, NULL
);
"""
OLD = KeyRecord(
    id="key_old",
    name="old",
    last4="wxyz",
    plan="paid",
    grants=Grants(
        spreadsheets=frozenset({"one"}),
        worksheets=None,
        read_only=True,
        origins=frozenset(),
    ),
    created_at=NOW,
)
NEW = replace(
    OLD,
    id="key_new",
    grants=replace(
        OLD.grants, columns=ColumnGrant(frozenset({"a"}), frozenset({"a"})), may_delete=True
    ),
)


def columns_of(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return [row[1] for row in connection.execute("PRAGMA table_info(api_keys)")]


@pytest.fixture
def old_database(file: Path) -> Path:
    """A store with one key, as the first version made it."""
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(FIRST_SCHEMA)
    file.chmod(0o600)
    return file


async def test_keys_of_an_earlier_version_may_do_what_they_might(old_database: Path) -> None:
    """Their columns are complete; they see all columns, and were never used."""
    async with KeyStore.open(old_database) as store:
        assert await store.list() == [OLD]
        assert await store.changes(None, NOW) == [(KeyChange(1, b"\x01"), ANY)]


async def test_an_earlier_store_takes_new_keys(old_database: Path, tmp_path: Path) -> None:
    """It has the columns of a new store from then on, also when it is opened again."""
    async with KeyStore.open(old_database) as store:
        await store.add(NEW, b"2")
        await store.touch(OLD.id, NOW)
    async with KeyStore.open(old_database) as store:
        records = {record.id: record for record in await store.list()}
    async with KeyStore.open(tmp_path / "new.db"):
        pass

    assert records == {OLD.id: replace(OLD, last_used_at=NOW), NEW.id: NEW}
    assert columns_of(old_database) == columns_of(tmp_path / "new.db")


async def test_changes_of_new_columns_by_hand_are_logged(old_database: Path) -> None:
    """Also in a store whose log was made before it had them."""
    with closing(sqlite3.connect(old_database)) as connection:
        connection.executescript(
            "CREATE TABLE key_changes (number INTEGER PRIMARY KEY, digest BLOB NOT NULL);"
            "INSERT INTO key_changes VALUES (7, X'01');"
            "CREATE TRIGGER key_changed AFTER UPDATE OF read_only ON api_keys BEGIN "
            "INSERT INTO key_changes (digest) VALUES (NEW.digest); END"
        )
    async with KeyStore.open(old_database) as store:
        (change,) = [change for change, _ in await store.changes(None, NOW) or ()]
        execute(old_database, "UPDATE api_keys SET may_delete = 1")
        found = await store.changes(change, NOW)

    assert change == KeyChange(7, b"\x01")
    assert found is not None
    assert [record_of(key).grants.may_delete for _, key in found if key is not None] == [True]


async def test_many_may_open_an_earlier_store_at_once(old_database: Path) -> None:
    """Of those who race to bring it up to date none fails."""

    async def open_and_list() -> KeyRecord:
        async with KeyStore.open(old_database) as store:
            (record,) = await store.list()
            (_,) = await store.changes(None, NOW) or ()
            return record

    found = await asyncio.gather(*(open_and_list() for _ in range(8)), return_exceptions=True)

    assert found == [OLD] * 8


async def test_a_store_that_cannot_be_brought_up_to_date_is_reported(old_database: Path) -> None:
    """A foreign object with the table's name is reported as a configuration problem."""
    with closing(sqlite3.connect(old_database)) as connection:
        connection.executescript(
            "ALTER TABLE api_keys RENAME TO kept; CREATE VIEW api_keys AS SELECT * FROM kept;"
        )

    with pytest.raises(ConfigError, match="cannot be used as the key store"):
        async with KeyStore.open(old_database):
            pass
