"""Tests of copying a key store from SQLite to PostgreSQL."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.google.sheets import Fence
from gateway.settings.database import PostgresUrl
from gateway.settings.model import ConfigError
from gateway.storage.key_store import KeyStore
from gateway.storage.store_copy import COPIED, copy_store
from gateway.telemetry.events import RequestEvent, request_done, tallies
from gateway.worksheets.idempotency import Sending
from tests.clock import ManualClock
from tests.postgres import PostgresServer
from tests.storage.by_hand import execute, refuse
from tests.storage.conftest import FENCE, IDENTITY, NOW, OTHER_IDENTITY, ROWS, WORKSHEET, results
from tests.storage.test_key_store import RECORD, WIDE, active

REMOVAL = Fence(id=77, key="gw", token="removal")
REMOVED = Sending(None, 1, [], removed=[2], is_exclusive=True)


@pytest.fixture
def target(postgres: PostgresServer) -> PostgresUrl:
    return postgres.new_database()


@pytest.fixture
async def source(file: Path) -> Path:
    """A store with rows in all tables."""
    tallies.use.clear()
    async with KeyStore.open(file) as store, store.open_ledger(ManualClock()) as ledger:
        await store.add(RECORD, b"1")
        await store.add(WIDE, b"2")
        await store.revoke(WIDE.id, NOW)
        await store.keep_pepper_mark(b"mark")
        async with store.storing_usage(lambda: NOW):
            request_done(RequestEvent("r1", "GET", "/livez", key=RECORD.id), 0.0)
        others = [replace(IDENTITY, scope=f"other{number}") for number in range(1200)]
        await ledger.completed([(other, results(7)) for other in others])
        await ledger.sending(WORKSHEET, [REMOVED], REMOVAL)
        await ledger.settled(WORKSHEET, REMOVAL, is_applied=True)
        await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
        await ledger.completed([(OTHER_IDENTITY, results(9))])
    return file


def rows_of(database: Path | PostgresUrl, table: str) -> set[tuple[object, ...]]:
    return set(execute(database, f"SELECT * FROM {table}"))  # noqa: S608


async def test_a_copy_is_the_same_store(source: Path, target: PostgresUrl) -> None:
    """The copy has the same keys, mark of the pepper, answers, open writes and removals."""
    clock = ManualClock()
    counts = await copy_store(source, target)
    async with KeyStore.open(target) as store, store.open_ledger(clock) as ledger:
        found = await active(store)
        mark = await store.pepper_mark()
        entry = await ledger.find(OTHER_IDENTITY.scope)
        moved = await ledger.find("other3")
        opened = [each.fence for each in ledger.open_writes]

    assert counts == {
        "pepper": 1,
        "api_keys": 2,
        "key_edits": 3,
        "key_usage": 1,
        "admin_secrets": 0,
        "idempotency_records": 1202,
        "row_removals": 1,
        "worksheets": 0,
    }
    assert (found, mark) == ({b"1": RECORD}, b"mark")
    assert entry is not None
    assert entry.answer == results(9)
    assert moved is not None
    assert (moved.answer, moved.is_moved) == (results(7), True)
    assert opened == [FENCE]
    for table in COPIED:
        assert rows_of(source, table.name) == rows_of(target, table.name)


async def test_batch_numbers_continue_after_a_copy(source: Path, target: PostgresUrl) -> None:
    """Batch numbers continue after the copy, so that later removals still apply to copied
    records.
    """
    execute(source, "UPDATE idempotency_records SET last_removal = 41 WHERE scope = 's2'")
    execute(source, "DELETE FROM row_removals")
    await copy_store(source, target)
    async with KeyStore.open(target) as store, store.open_ledger(ManualClock()) as ledger:
        await ledger.sending(WORKSHEET, [REMOVED], REMOVAL)
        await ledger.settled(WORKSHEET, REMOVAL, is_applied=True)
        entry = await ledger.find("s2")

    assert execute(target, "SELECT id FROM row_removals") == [(42,)]
    assert entry is not None
    assert entry.is_moved


@pytest.mark.parametrize("table", ["pepper", "idempotency_records", "api_keys"])
async def test_a_target_with_rows_is_rejected(
    source: Path, target: PostgresUrl, table: str
) -> None:
    """A target database with rows is an error, and its rows do not change."""
    async with KeyStore.open(target) as store, store.open_ledger(ManualClock()) as ledger:
        if table == "pepper":
            await store.keep_pepper_mark(b"else")
        elif table == "api_keys":
            await store.add(RECORD, b"1")
        else:
            await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)

    with pytest.raises(ConfigError, match=f"is not empty: {table} has rows"):
        await copy_store(source, target)
    others = [each for each in COPIED if each.name != "key_edits"]
    assert sum(len(rows_of(target, each.name)) for each in others) == 1


async def test_a_copy_that_fails_leaves_nothing(source: Path, target: PostgresUrl) -> None:
    """A copy that fails leaves an empty target, so that the copy can be repeated."""
    refuse(target, "INSERT", "NEW.scope = 'other1100'")

    with pytest.raises(ConfigError, match=r"was not copied: .*disk full"):
        await copy_store(source, target)
    assert [rows_of(target, each.name) for each in COPIED] == [set()] * len(COPIED)
