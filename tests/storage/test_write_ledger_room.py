"""Tests of the ledger with limited disk space, and of records of long texts.

A record is open until it has the answer.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from gateway.errors import QueueFull
from gateway.settings.database import Database
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SHARE, SqlLedger
from gateway.storage.write_records import BYTES_BESIDE, KEPT_SECONDS
from gateway.worksheets.idempotency import Entry, Rows, Sending
from gateway.worksheets.writes import Results, WriteIdentity
from tests.clock import ManualClock
from tests.storage.by_hand import allow, execute, refuse, take_fences
from tests.storage.conftest import FENCE, IDENTITY, WORKSHEET, results

PER_KEY = 100_000
TEXT = "x" * 2000
"""Long text that is not in the request body."""


def identity(scope: str, key: str = "k", *texts: str) -> WriteIdentity:
    return replace(IDENTITY, scope=scope, key_id=key, texts=frozenset(texts))


def stored(database: Database) -> dict[str, int]:
    """Byte count of each stored record, by scope."""
    query = "SELECT scope, length(rows) + length(coalesce(answer, '')) FROM idempotency_records"
    return dict(execute(database, query))


@pytest.fixture
async def small(store: KeyStore, clock: ManualClock) -> AsyncIterator[SqlLedger]:
    """Empty ledger with little disk space."""
    async with store.open_ledger(clock, max_bytes=SHARE * PER_KEY) as opened:
        yield opened


def answer(text: str = TEXT) -> Results:
    (written,) = results(5)
    return (replace(written, record={"rowIndex": 5, "name": text}),)


async def fill(ledger: SqlLedger, clock: ManualClock, key: str, count: int) -> None:
    """Store completed writes of one key, one after the other."""
    for number in range(count):
        clock.advance(1)
        await ledger.complete(identity(f"{key}{number}", key), answer())


async def test_the_oldest_answers_of_a_full_key_are_deleted(
    small: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """A key above its part of the disk space loses its oldest answers. Answers of another key
    stay.
    """
    await fill(small, clock, "other", 5)
    sizes = []
    for number in range(200):
        clock.advance(1)
        await small.complete(identity(f"k{number}"), answer())
        kept = {scope: size for scope, size in stored(database).items() if scope[0] == "k"}
        sizes.append(sum(kept.values()) + BYTES_BESIDE * len(kept))

    assert max(sizes) <= PER_KEY
    assert sizes[-1] > PER_KEY * 0.9
    assert sorted(kept) == sorted(f"k{number}" for number in range(200 - len(kept), 200))
    assert len(stored(database)) == len(kept) + 5


async def test_open_records_are_not_deleted(
    small: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """Open records are never deleted to free space. The newest completed record also stays."""
    opened = identity("open")
    await small.sending(WORKSHEET, [Sending(opened, 5, [["y" * PER_KEY]])], FENCE)
    await fill(small, clock, "k", 3)
    kept = set(stored(database))
    with pytest.raises(QueueFull) as refusal:
        small.check_room(identity("next"))
    small.check_room(identity("next", "other"))
    await small.drop(opened)
    small.check_room(identity("next"))

    assert kept == {"open", "k2"}
    assert refusal.value.outcome == "not_applied"


async def test_a_new_answer_is_not_deleted_at_once(small: SqlLedger, clock: ManualClock) -> None:
    """A new answer is not deleted, even if its key has more than its part of the disk space."""
    for number in range(40):
        await fill(small, clock, f"key {number} ", 4)
    clock.advance(1)
    await small.complete(identity("large", "late"), answer("x" * 20_000))

    assert await small.find("large") is not None


async def test_open_records_without_a_fence_expire(
    small: SqlLedger, store: KeyStore, database: Database, clock: ManualClock
) -> None:
    """Open records without a fence expire after a day, without a request for them, and free
    disk space.
    """
    await small.sending(WORKSHEET, [Sending(identity("open"), 5, [["y" * PER_KEY]])], FENCE)
    take_fences(database, "open")
    clock.advance(KEPT_SECONDS - 1)
    async with store.open_ledger(clock, max_bytes=SHARE * PER_KEY) as later:
        with pytest.raises(QueueFull):
            later.check_room(identity("next"))
        clock.advance(1)
        later.check_room(identity("next"))

        assert await later.find("open") is None


async def test_an_open_record_that_is_sent_again_counts_once(small: SqlLedger) -> None:
    """An open record that is sent twice counts once. Dropping it twice frees its space once."""
    sending = Sending(identity("open"), 5, [["y" * PER_KEY]])
    await small.sending(WORKSHEET, [sending], FENCE)
    await small.sending(WORKSHEET, [sending], FENCE)
    with pytest.raises(QueueFull):
        small.check_room(identity("next"))
    for _ in range(2):
        await small.drop(identity("open"))
    small.check_room(identity("next"))

    assert await small.find("open") is None


async def test_open_records_with_a_fence_count_until_completed(
    small: SqlLedger, store: KeyStore, clock: ManualClock
) -> None:
    """Open records with a fence use disk space until they are completed, also after a restart."""
    opened = identity("open")
    await small.sending(WORKSHEET, [Sending(opened, 5, [["y" * PER_KEY]])], FENCE)
    clock.advance(KEPT_SECONDS)
    async with store.open_ledger(clock, max_bytes=SHARE * PER_KEY) as later:
        clock.advance(KEPT_SECONDS)
        for ledger in (small, later):
            with pytest.raises(QueueFull):
                ledger.check_room(identity("next"))
            await ledger.complete(opened, results(5))
            ledger.check_room(identity("next"))


async def test_records_of_an_earlier_process_count(
    small: SqlLedger, store: KeyStore, database: Database, clock: ManualClock
) -> None:
    """Open and completed records of an earlier process count in the quota."""
    await small.sending(WORKSHEET, [Sending(identity("open", "a"), 5, [["y" * PER_KEY]])], FENCE)
    await fill(small, clock, "b", 40)
    async with store.open_ledger(clock, max_bytes=SHARE * PER_KEY) as later:
        with pytest.raises(QueueFull):
            later.check_room(identity("next", "a"))
        before = len(stored(database))
        await fill(later, clock, "b", 60)

    assert len(stored(database)) < before + 20


async def test_every_answer_deletes_expired_records(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """Every stored answer deletes expired records, also the answer of a group or of an unsent
    write.
    """
    await fill(ledger, clock, "old", 3)
    clock.advance(KEPT_SECONDS)
    await ledger.complete(identity("unchanged"), results(5))
    after_one = set(stored(database))
    await fill(ledger, clock, "old", 3)
    clock.advance(KEPT_SECONDS)
    await ledger.completed([(identity("completed"), results(7))])

    assert after_one == {"unchanged"}
    assert set(stored(database)) == {"completed"}


async def test_long_texts_are_stored_as_digests(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """Long texts are stored as digests, because a retry sends the texts again."""
    long = [letter * 50_000 for letter in "ab🏙"]
    own = identity("s", "k", *long)
    rows: Rows = [[long[0], "short", None, 1.5, long[1]], [TEXT, long[2]]]
    await ledger.sending(WORKSHEET, [Sending(own, 5, rows)], FENCE)
    open_size = stored(database)["s"]
    opened = await ledger.find("s", own.texts)
    shown = answer(long[2]) + answer(TEXT)
    await ledger.complete(own, shown)
    completed = await ledger.find("s", own.texts)

    assert opened == Entry(fingerprint="f1", sent_at=clock(), first_row=5, rows=rows, fence=FENCE)
    assert completed is not None
    assert completed.answer == shown
    assert max(open_size, stored(database)["s"]) < len(TEXT) + 600


async def test_another_body_reads_no_text_of_a_record(ledger: SqlLedger) -> None:
    """A request with another body does not read the long texts of a record."""
    own = identity("s", "k", "a" * 5000)
    await ledger.sending(WORKSHEET, [Sending(own, 5, [["a" * 5000]])], FENCE)
    entry = await ledger.find("s", ["b" * 5000])

    assert entry is not None
    assert entry.rows == [[None]]


async def test_a_second_attempt_to_store_an_answer(ledger: SqlLedger, database: Database) -> None:
    """If the answers of a group could not be stored together, each request stores its own
    answer.
    """
    first, second = identity("s1"), identity("s2")
    await ledger.sending(
        WORKSHEET, [Sending(first, 5, [["a"]]), Sending(second, 6, [["b"]])], FENCE
    )
    refuse(database, "UPDATE")
    with capture_logs() as logged:
        await ledger.completed([(first, results(5)), (second, results(6))])
        await ledger.complete(second, results(6))
    allow(database)
    await ledger.complete(first, results(5))
    entries = [await ledger.find(scope) for scope in ("s1", "s2")]

    assert [line["event"] for line in logged] == ["fault"] * 2
    assert [entry and (entry.answer, entry.fence) for entry in entries] == [
        (results(5), None),
        (None, FENCE),
    ]


async def test_a_failed_deletion_of_records_is_logged(
    small: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """A failed deletion of old records is logged and tried again. New answers are still stored."""
    refuse(database, "DELETE")
    with capture_logs() as logged:
        await fill(small, clock, "k", 60)
    allow(database)
    before = len(stored(database))
    await fill(small, clock, "k", 1)

    assert {line["event"] for line in logged} == {"fault"}
    assert before == 60
    assert len(stored(database)) < 50
