"""Tests of data that a process reads from the ledger of an earlier process."""

from dataclasses import replace

import pytest

from gateway.settings.database import Database
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger
from gateway.storage.write_records import KEPT_SECONDS
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.idempotency import OpenWrite, Sending
from tests.clock import ManualClock
from tests.storage.by_hand import take_fences
from tests.storage.conftest import FENCE, IDENTITY, OTHER_IDENTITY, ROWS, WORKSHEET, results


@pytest.mark.parametrize("seconds", [-500, 0, 10, 500], ids=["set back", "now", "soon", "late"])
async def test_open_writes_of_a_dead_process_count_from_the_start(
    ledger: SqlLedger, database: Database, clock: ManualClock, seconds: float
) -> None:
    """Open writes of a killed process count as sent at this start, because the wall clock might
    have changed.
    """
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
    clock.advance(seconds)
    started_at = clock()
    async with KeyStore.open(database) as store, store.open_ledger(clock) as later:
        clock.advance(20)
        entry = await later.find(IDENTITY.scope)
        await later.sending(WORKSHEET, [Sending(replace(IDENTITY, scope="s3"), 5, ROWS)], FENCE)
        new = await later.find("s3")

    assert entry is not None
    assert entry.sent_at == started_at
    assert new is not None
    assert new.sent_at == clock()


async def test_open_writes_of_a_dead_process_are_found_at_the_start(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """At its start, a process reads the fences of open writes, and the row numbers of open
    updates.
    """
    odd = WorksheetId(spreadsheet="book", title="Q1/Q2 'x'")
    change = replace(IDENTITY, scope="change", worksheet=odd)
    other = replace(FENCE, id=8, token="t2")
    await ledger.sending(
        WORKSHEET, [Sending(IDENTITY, 5, ROWS), Sending(OTHER_IDENTITY, 7, [["a"]])], FENCE
    )
    await ledger.sending(WORKSHEET, [Sending(change, 9, [[None, "b"]], [9])], other)
    await ledger.completed([(OTHER_IDENTITY, results(7))])
    await ledger.sending(WORKSHEET, [Sending(replace(IDENTITY, scope="earlier"), 5, ROWS)], FENCE)
    take_fences(database, "earlier")
    clock.advance(10)
    async with KeyStore.open(database) as store, store.open_ledger(clock) as later:
        found = later.open_writes

    assert list(ledger.open_writes) == []
    assert sorted(found, key=lambda each: each.fence.id) == [
        OpenWrite(worksheet=WORKSHEET, fence=FENCE, sent_at=clock(), updated_rows=frozenset()),
        OpenWrite(worksheet=odd, fence=other, sent_at=clock(), updated_rows=frozenset({9})),
    ]


async def test_an_open_write_is_found_after_thirty_days(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """An open write is still found by its fence after the gateway was stopped for thirty days."""
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
    clock.advance(30 * KEPT_SECONDS)
    async with KeyStore.open(database) as store, store.open_ledger(clock) as later:
        entry = await later.find(IDENTITY.scope)
        opened = [each.fence for each in later.open_writes]

    assert entry is not None
    assert (entry.fence, entry.rows) == (FENCE, ROWS)
    assert opened == [FENCE]


@pytest.mark.parametrize("is_dropped", [False, True], ids=["completed", "dropped"])
async def test_a_write_that_another_process_completed_is_closed(
    ledger: SqlLedger, store: KeyStore, clock: ManualClock, *, is_dropped: bool
) -> None:
    """If another process completed a write, this process forgets its fence and frees its disk
    space.
    """
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
    async with store.open_ledger(clock) as other:
        await other.find(IDENTITY.scope)
        if is_dropped:
            await other.drop(IDENTITY)
        else:
            await other.completed([(IDENTITY, results(5))])
    assert list(ledger.open_fences()) == [FENCE.id]
    await ledger.find(IDENTITY.scope)

    assert list(ledger.open_fences()) == []
