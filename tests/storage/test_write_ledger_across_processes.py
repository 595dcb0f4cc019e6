"""The ledger of an earlier process, and additions in memory."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger
from gateway.worksheets.idempotency import RowInterval, Sending
from tests.clock import ManualClock
from tests.storage.conftest import (
    IDENTITY,
    OTHER_IDENTITY,
    ROWS,
    WORKSHEET,
    found_after_restart,
    results,
)


async def test_rows_of_others_are_kept_from_an_open_create(
    ledger: SqlLedger, database: Path, clock: ManualClock
) -> None:
    """Rows acknowledged since it was sent are taken, also for a later process."""
    await ledger.sending([Sending(IDENTITY, 5, [["a"]])])
    await ledger.landed(WORKSHEET, [(None, results(5)), (None, results(6, 7))])
    await ledger.landed(replace(WORKSHEET, title="Other"), [(None, results(9))])
    async with KeyStore.open(database) as store, store.open_ledger(clock) as later:
        await later.sending([Sending(OTHER_IDENTITY, 8, [["a"]])])
        await later.landed(WORKSHEET, [(OTHER_IDENTITY, results(11))])
    entry = await found_after_restart(database, clock)

    assert entry is not None
    assert entry.answer is None
    assert entry.taken == (RowInterval(5, 7), RowInterval(11, 11))


@pytest.mark.parametrize(
    ("down_seconds", "late_seconds"), [(10, 10), (60, 60), (500, 60)], ids=["soon", "then", "late"]
)
@pytest.mark.parametrize("is_create", [True, False], ids=["create", "update"])
async def test_what_a_dead_process_left_open_may_have_left_late(
    ledger: SqlLedger,
    database: Path,
    clock: ManualClock,
    down_seconds: float,
    late_seconds: float,
    is_create: bool,
) -> None:
    """Its age counts from the latest instant it can have left at, however often it is started."""
    noted_at = clock()
    identity = replace(IDENTITY, is_create=is_create)
    await ledger.sending([Sending(identity, 5, ROWS)])
    clock.advance(down_seconds)
    sent_at = []
    for _ in range(2):
        async with (
            KeyStore.open(database) as store,
            store.open_ledger(clock, longest_call_seconds=60) as later,
        ):
            entry = await later.find(IDENTITY.scope)
            assert entry is not None
            sent_at.append(entry.sent_at)
            await later.sending([Sending(replace(identity, scope="s3"), 5, ROWS)])
            new = await later.find("s3")

    assert sent_at == [noted_at + late_seconds] * 2
    assert new is not None
    assert new.sent_at == clock()


async def test_rows_of_others_are_known_though_they_could_not_be_put_on_disk(
    ledger: SqlLedger, database: Path
) -> None:
    """A failed note of what landed is made up for from memory, beside what is on disk."""
    await ledger.sending([Sending(IDENTITY, 5, ROWS)])
    await ledger.landed(WORKSHEET, [(None, results(5))])
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON idempotency_records "
            "BEGIN SELECT RAISE(FAIL, 'disk full'); END"
        )
    with capture_logs():
        await ledger.landed(WORKSHEET, [(None, results(9))])
    entry = await ledger.find(IDENTITY.scope)

    assert entry is not None
    assert entry.taken == (RowInterval(5, 5), RowInterval(9, 9))
