"""Tests of the ledger: records of writes with an Idempotency-Key.

A record is open until it has the answer. A group is the writes that are sent in one request to
Google.
"""

import asyncio
from collections.abc import MutableMapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.errors import UpstreamError
from gateway.settings.database import Database
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger
from gateway.storage.write_records import KEPT_SECONDS, PURGED_AT_LEAST
from gateway.worksheets.idempotency import Answer, Entry, Sending
from tests.clock import ManualClock
from tests.storage.by_hand import refuse, scopes, spoil, take_fences
from tests.storage.conftest import (
    FENCE,
    IDENTITY,
    OTHER_IDENTITY,
    ROWS,
    WORKSHEET,
    Unsendable,
    found_after_restart,
    results,
)

FIRST = Sending(IDENTITY, 5, ROWS)
SECOND = Sending(OTHER_IDENTITY, 7, [["a"]])


async def test_an_open_record_outlives_the_process(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """A stored open record has all its values in the database, with their types."""
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS), Sending(None, 7, [["a"]])], FENCE)
    entry = await found_after_restart(database, clock)

    assert entry == Entry(fingerprint="f1", sent_at=clock(), first_row=5, rows=ROWS, fence=FENCE)
    assert entry is not None
    assert [list(map(type, row)) for row in entry.rows] == [list(map(type, row)) for row in ROWS]
    assert scopes(database) == {"s1"}


async def test_a_group_is_stored_as_a_whole(
    store: KeyStore, database: Database, unsendable: Unsendable
) -> None:
    """If the record of one write cannot be stored, no write of the group is sent."""
    async with store.open_ledger(ManualClock()) as ledger:
        refuse(database, "INSERT", "NEW.scope = 's2'")

        with pytest.raises(unsendable) as failure:
            await ledger.sending(
                WORKSHEET, [Sending(IDENTITY, 5, ROWS), Sending(OTHER_IDENTITY, 6, ROWS)], FENCE
            )
    assert failure.value.outcome == "not_applied"
    assert scopes(database) == set()


@pytest.mark.parametrize(
    "answer",
    [results(5), results(5, 6), UpstreamError("misplaced", outcome="applied")],
    ids=["row", "rows", "error"],
)
async def test_an_answer_is_stored_unchanged(
    ledger: SqlLedger, database: Database, clock: ManualClock, answer: Answer
) -> None:
    """A completed record has the whole answer, and no cells that were sent."""
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
    await ledger.complete(IDENTITY, answer)
    entry = await found_after_restart(database, clock)

    assert entry is not None
    assert entry.rows == []
    if isinstance(answer, UpstreamError):
        assert isinstance(entry.answer, UpstreamError)
        assert (entry.answer.message, entry.answer.outcome) == ("misplaced", "applied")
    else:
        assert entry.answer == answer


async def test_an_answer_without_an_open_record(ledger: SqlLedger) -> None:
    """The answer of an update with nothing to write is stored, and repeated for the same
    Idempotency-Key.
    """
    await ledger.complete(IDENTITY, results(5))
    entry = await ledger.find("s1")

    assert entry is not None
    assert entry.answer == results(5)


async def test_a_dropped_record_is_deleted(ledger: SqlLedger, database: Database) -> None:
    """After a record is dropped, its Idempotency-Key can be sent again. Other records stay."""
    await ledger.sending(WORKSHEET, [FIRST, Sending(OTHER_IDENTITY, 7, ROWS)], FENCE)
    await ledger.drop(IDENTITY)
    await ledger.drop(replace(IDENTITY, scope="unknown"))

    assert await ledger.find("s1") is None
    assert scopes(database) == {"s2"}


async def test_renew_sets_the_time_of_a_record(ledger: SqlLedger, clock: ManualClock) -> None:
    """`renew` changes only the age of a record. `renew` of an unknown record stores nothing."""
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
    before = await ledger.find("s1")
    clock.advance(60)
    await ledger.renew(IDENTITY)
    await ledger.renew(OTHER_IDENTITY)
    after = await ledger.find("s1")

    assert before is not None
    assert after == replace(before, sent_at=clock())
    assert await ledger.find("s2") is None


async def test_a_write_that_is_sent_again_has_one_record(
    ledger: SqlLedger, clock: ManualClock
) -> None:
    """The record of a repeated write replaces the record of its first attempt completely."""
    anew = replace(FENCE, id=8, token="t2")
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
    clock.advance(200)
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 6, ROWS)], anew)

    assert await ledger.find("s1") == Entry(
        fingerprint="f1", sent_at=clock(), first_row=6, rows=ROWS, fence=anew
    )


async def test_all_writes_of_a_group_share_a_fence(ledger: SqlLedger) -> None:
    """All writes of a group have the same fence, because Google applies the group as one
    request.
    """
    await ledger.sending(WORKSHEET, [FIRST, SECOND], FENCE)
    entries = [await ledger.find(scope) for scope in ("s1", "s2")]

    assert [entry and entry.fence for entry in entries] == [FENCE, FENCE]


async def test_a_completed_record_has_no_fence(ledger: SqlLedger, database: Database) -> None:
    """A completed record has no fence, so that the fence can be deleted in the spreadsheet."""
    await ledger.sending(WORKSHEET, [FIRST, SECOND], FENCE)
    await ledger.completed([(IDENTITY, results(5, 6))])
    await ledger.complete(OTHER_IDENTITY, UpstreamError("misplaced", outcome="applied"))
    entries = [await ledger.find(scope) for scope in ("s1", "s2")]

    assert [entry and entry.fence for entry in entries] == [None, None]


async def test_completed_writes_have_their_answers(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """One transaction stores all answers of a group. Later calls for its requests change
    nothing.
    """
    await ledger.sending(WORKSHEET, [FIRST, SECOND], FENCE)
    await ledger.completed([(IDENTITY, results(5, 6)), (OTHER_IDENTITY, results(8))])
    first, second = [await found_after_restart(database, clock, each) for each in ("s1", "s2")]
    spoil(database)
    with capture_logs() as logged:
        await ledger.complete(IDENTITY, results(5, 6))

    assert first is not None
    assert second is not None
    assert (first.answer, second.answer) == (results(5, 6), results(8))
    assert logged == []


async def test_writes_without_a_key_use_no_database(ledger: SqlLedger, database: Database) -> None:
    """Writes without an Idempotency-Key do not use the database."""
    spoil(database)
    with capture_logs() as logged:
        await ledger.sending(WORKSHEET, [Sending(None, 5, [["a"]])], FENCE)
        await ledger.completed([])

    assert logged == []


async def test_a_record_expires_after_a_day(ledger: SqlLedger, clock: ManualClock) -> None:
    """After a day a completed record expires, and its Idempotency-Key can be used for a new
    write.
    """
    await ledger.complete(IDENTITY, results(5))
    clock.advance(KEPT_SECONDS - 1)
    last = await ledger.find("s1")
    clock.advance(1)
    over = await ledger.find("s1")
    await ledger.complete(replace(IDENTITY, fingerprint="f2"), results(9))
    again = await ledger.find("s1")

    assert last is not None
    assert over is None
    assert again is not None
    assert (again.fingerprint, again.sent_at, again.answer) == ("f2", clock(), results(9))


async def test_expired_records_are_deleted_in_steps(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """Each new record deletes a few expired records, so that many expired records delay no
    write.
    """
    old = [replace(IDENTITY, scope=f"old{number}") for number in range(2 * PURGED_AT_LEAST + 5)]
    await ledger.completed([(identity, results(5)) for identity in old])
    clock.advance(KEPT_SECONDS)
    left = []
    for number in range(3):
        new = replace(IDENTITY, scope=f"new{number}")
        await ledger.sending(WORKSHEET, [Sending(new, 5, [["a"]])], FENCE)
        left.append(len(scopes(database)) - number - 1)

    assert left == [PURGED_AT_LEAST + 5, 5, 0]


async def test_an_open_record_with_a_fence_never_expires(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """An open record with a fence does not expire. An open record without a fence expires after
    a day.
    """
    proved = [replace(IDENTITY, scope=f"proved{number}") for number in range(3)]
    await ledger.sending(WORKSHEET, [Sending(identity, 5, ROWS) for identity in proved], FENCE)
    await ledger.sending(WORKSHEET, [Sending(OTHER_IDENTITY, 5, ROWS)], FENCE)
    take_fences(database, OTHER_IDENTITY.scope)
    clock.advance(10 * KEPT_SECONDS)
    await ledger.complete(IDENTITY, results(9))
    entry = await ledger.find("proved0")

    assert entry is not None
    assert entry.fence == FENCE
    assert await ledger.find(OTHER_IDENTITY.scope) is None
    assert scopes(database) == {"s1", "proved0", "proved1", "proved2"}


@pytest.fixture
def logged() -> Any:
    """Captured log lines."""
    with capture_logs() as captured:
        yield captured


async def test_a_failing_ledger_prevents_sending(
    ledger: SqlLedger, database: Database, unsendable: Unsendable
) -> None:
    """If the database fails, a new write gets the outcome `not_applied`, and an earlier write
    `unknown`.
    """
    spoil(database)

    with pytest.raises(unsendable) as unsent:
        await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
    with pytest.raises(unsendable) as unread:
        await ledger.find("s1")
    assert (unsent.value.outcome, unread.value.outcome) == ("not_applied", "unknown")


async def test_a_failing_ledger_after_sending_is_logged(
    ledger: SqlLedger, database: Database, logged: Sequence[MutableMapping[str, Any]]
) -> None:
    """If the database fails after a write was sent, the write gets its answer. The log has no
    cell values.
    """
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
    spoil(database)
    await ledger.completed([(IDENTITY, results(5))])
    await ledger.complete(IDENTITY, results(5))
    await ledger.renew(IDENTITY)
    await ledger.drop(IDENTITY)

    assert [line["event"] for line in logged] == ["fault"] * 3
    assert "rowIndex" not in str([str(line["exc_info"]) for line in logged])


async def test_a_record_is_stored_though_its_request_is_cancelled(
    store: KeyStore, database: Database, clock: ManualClock
) -> None:
    """A cancelled request leaves no partial transaction. Closing the ledger waits for the
    transaction.
    """
    async with store.open_ledger(clock) as ledger:
        note = asyncio.create_task(ledger.completed([(IDENTITY, results(5))]))
        await asyncio.sleep(0)
        note.cancel()
        with pytest.raises(asyncio.CancelledError):
            await note

    assert scopes(database) == {"s1"}


async def test_concurrent_answers_are_all_stored(ledger: SqlLedger, database: Database) -> None:
    """Many concurrent requests store their answers without a lock error."""
    identities = [replace(IDENTITY, scope=f"s{number}") for number in range(100)]
    await asyncio.gather(*(ledger.complete(identity, results(5)) for identity in identities))

    assert len(scopes(database)) == 100
