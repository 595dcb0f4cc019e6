"""A write ledger that an earlier version made."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.settings.model import ConfigError
from gateway.storage.key_store import KeyStore
from gateway.storage.write_records import BYTES_BESIDE
from gateway.worksheets.idempotency import Sending
from tests.clock import ManualClock
from tests.storage.by_hand import allow, execute, refuse
from tests.storage.conftest import FENCE, IDENTITY, WORKSHEET

OLD_SCHEMA = """
CREATE TABLE idempotency_records (
    scope VARCHAR NOT NULL, fingerprint VARCHAR NOT NULL, is_create BOOLEAN NOT NULL,
    worksheet VARCHAR NOT NULL, sent_at FLOAT NOT NULL, first_row INTEGER NOT NULL,
    rows JSON NOT NULL, taken JSON NOT NULL, answer VARCHAR, PRIMARY KEY (scope)
);
INSERT INTO idempotency_records VALUES
    ('s1', 'f1', 1, 'book/Cities', 1000.0, 5, '[["a", 1, null]]', '[[7, 8]]', NULL),
    ('s2', 'f2', 1, 'book/Cities', 1000.0, 0, '[]', '[]', '{"results":[]}');
"""

SIZES_ADDED = """
ALTER TABLE idempotency_records ADD COLUMN key_id VARCHAR DEFAULT '' NOT NULL;
ALTER TABLE idempotency_records ADD COLUMN size INTEGER DEFAULT '0' NOT NULL;
UPDATE idempotency_records SET size = length(rows) + coalesce(length(answer), 0) + 400;
"""


def run_script(database: Path, statements: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(statements)


def dump(database: Path) -> str:
    """Tables and rows as SQL."""
    with closing(sqlite3.connect(database)) as connection:
        return "\n".join(connection.iterdump())


@pytest.fixture(params=["first", "with sizes"])
def old_database(file: Path, request: pytest.FixtureRequest) -> Path:
    """A key store with two records of an earlier version, from before fences."""
    file.touch(0o600)
    run_script(file, OLD_SCHEMA)
    if request.param == "with sizes":
        run_script(file, SIZES_ADDED)
    return file


async def test_a_table_of_an_earlier_version_is_taken_over(
    old_database: Path, clock: ManualClock
) -> None:
    """Its records are read and counted as they are; whose rows were whose is not kept any more."""
    for _ in range(2):
        async with KeyStore.open(old_database) as store, store.open_ledger(clock) as ledger:
            opened = await ledger.find("s1")
            answered = await ledger.find("s2")
    sizes = execute(old_database, "SELECT size FROM idempotency_records")
    columns = execute(old_database, "PRAGMA table_info(idempotency_records)")

    assert opened is not None
    assert (opened.rows, opened.fence, opened.answer) == ([["a", 1, None]], None, None)
    assert answered is not None
    assert answered.answer == ()
    assert "taken" not in {name for _, name, *_ in columns}
    assert sizes == [(16 + BYTES_BESIDE,), (2 + 14 + BYTES_BESIDE,)]


async def test_a_table_is_taken_over_whole_or_not_at_all(old_database: Path) -> None:
    """What fails in the middle leaves the earlier table, and the next start takes it over."""
    before = dump(old_database)
    refuse(old_database, "UPDATE")
    with pytest.raises(ConfigError, match="disk full"):
        async with KeyStore.open(old_database):
            pass
    allow(old_database)
    after_failure = dump(old_database)
    async with KeyStore.open(old_database):
        pass

    assert after_failure == before
    assert execute(old_database, "SELECT size FROM idempotency_records") == [
        (16 + BYTES_BESIDE,),
        (2 + 14 + BYTES_BESIDE,),
    ]


async def test_a_table_that_was_taken_over_takes_new_records(
    old_database: Path, clock: ManualClock
) -> None:
    """No column of before is in their way, and a record of before is replaced as any other."""
    async with KeyStore.open(old_database) as store, store.open_ledger(clock) as ledger:
        await ledger.sending(
            WORKSHEET,
            [Sending(IDENTITY, 5, [["b"]]), Sending(replace(IDENTITY, scope="s3"), 6, [[1]])],
            FENCE,
        )
        entries = [await ledger.find(scope) for scope in ("s1", "s3")]

    assert [entry and (entry.rows, entry.fence) for entry in entries] == [
        ([["b"]], FENCE),
        ([[1]], FENCE),
    ]


async def test_many_may_take_over_an_earlier_table_at_once(
    old_database: Path, clock: ManualClock
) -> None:
    """Of those who race to do it none fails."""

    async def open_and_find() -> bool:
        async with KeyStore.open(old_database) as store, store.open_ledger(clock) as ledger:
            return await ledger.find("s1") is not None

    found = await asyncio.gather(*(open_and_find() for _ in range(8)), return_exceptions=True)

    assert found == [True] * 8
