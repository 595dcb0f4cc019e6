"""Tests of a SQLite file that another program locks for longer than SQLite waits."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from gateway.access.keys import ActiveKeys
from gateway.errors import InternalError, KeysUnavailable, RecordsUnavailable
from gateway.storage.database import open_database
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger, open_ledger
from gateway.worksheets.idempotency import Sending
from tests.clock import ManualClock
from tests.storage.by_hand import refuse, scopes
from tests.storage.conftest import FENCE, IDENTITY, ROWS, WORKSHEET, results

Use = Callable[[SqlLedger], Awaitable[Any]]

BEFORE_IT_IS_SENT: dict[str, Use] = {
    "look up twins": lambda ledger: ledger.twins([IDENTITY]),
    "note": lambda ledger: ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE),
    "note a removal": lambda ledger: ledger.sending(
        WORKSHEET, [Sending(None, 0, [], removed=[3], is_exclusive=True)], FENCE
    ),
}
AFTER_IT_WAS_APPLIED: dict[str, Use] = {
    "keep results": lambda ledger: ledger.completed([(IDENTITY, results(5))]),
    "keep an answer": lambda ledger: ledger.complete(IDENTITY, results(5)),
    "note a removal's end": lambda ledger: ledger.settled(WORKSHEET, FENCE, is_applied=True),
    "leave open": lambda ledger: ledger.renew(IDENTITY),
    "forget": lambda ledger: ledger.drop(IDENTITY),
}


@pytest.fixture
async def engine(file: Path) -> AsyncIterator[AsyncEngine]:
    """Engine that waits 20 ms for locks. Without WAL, so that readers wait for writers."""
    async with open_database(file) as opened:
        await opened.dispose()
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        event.listen(
            opened.sync_engine,
            "connect",
            lambda connection, _: connection.execute("PRAGMA busy_timeout = 20"),
        )
        yield opened


@pytest.fixture
async def ledger(engine: AsyncEngine) -> AsyncIterator[SqlLedger]:
    async with open_ledger(engine, ManualClock()) as opened:
        yield opened


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock on the file like another program, during the block."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")


@pytest.mark.parametrize("use", BEFORE_IT_IS_SENT.values(), ids=BEFORE_IT_IS_SENT)
async def test_unsent_writes_get_503_and_can_be_repeated(
    ledger: SqlLedger, file: Path, use: Use
) -> None:
    """A write that could not be recorded is not sent and gets 503. After `Retry-After` it
    succeeds.
    """
    with locked(file), pytest.raises(RecordsUnavailable) as refusal:
        await use(ledger)
    await use(ledger)

    assert refusal.value.outcome == "not_applied"
    assert refusal.value.retry_after_seconds == 5


async def test_an_unreadable_record_has_an_unknown_outcome(ledger: SqlLedger, file: Path) -> None:
    """If the record of a write cannot be read, the outcome is `unknown`, because the write
    might have been applied.
    """
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
    with locked(file), pytest.raises(RecordsUnavailable) as refusal:
        await ledger.find("s1")

    assert refusal.value.outcome == "unknown"
    assert refusal.value.retry_after_seconds == 5
    assert await ledger.find("s1") is not None


@pytest.mark.parametrize("use", AFTER_IT_WAS_APPLIED.values(), ids=AFTER_IT_WAS_APPLIED)
async def test_sent_writes_are_answered_despite_a_locked_file(
    ledger: SqlLedger, file: Path, use: Use
) -> None:
    """A sent write gets its answer. The locked file is logged, and the record stays open for a
    retry.
    """
    clearing = Sending(None, 0, [], removed=[3])
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS), clearing], FENCE)
    with locked(file), capture_logs() as logged:
        await use(ledger)
    entry = await ledger.find("s1")

    assert {line["event"] for line in logged} <= {"fault"}
    assert entry is not None
    assert entry.answer is None


async def test_dropping_an_unstored_write_needs_no_database(ledger: SqlLedger, file: Path) -> None:
    """Dropping a write that has no record does not use the locked file."""
    with locked(file), capture_logs() as logged:
        with pytest.raises(RecordsUnavailable):
            await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
        await ledger.drop(IDENTITY)

    assert logged == []
    assert not ledger.open_fences()


async def test_unknown_keys_get_503_while_the_file_is_locked(
    engine: AsyncEngine, file: Path
) -> None:
    """While the file is locked, a key that cannot be looked up gets 503, never 401."""
    keys = ActiveKeys(
        KeyStore(engine).changes, {}, clock=lambda: datetime(2026, 3, 1, tzinfo=UTC), tag_key=b"key"
    )
    await keys.load()
    with locked(file), capture_logs(), pytest.raises(KeysUnavailable) as refusal:
        await keys.find(b"new")

    assert refusal.value.retry_after_seconds is not None
    assert await keys.find(b"new") is None


async def test_other_file_errors_are_internal_errors(ledger: SqlLedger, file: Path) -> None:
    """Other errors of the file are internal errors without `Retry-After`, because a retry does
    not help.
    """
    refuse(file, "INSERT", "NEW.scope = 's1'")

    with pytest.raises(InternalError):
        await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)

    assert scopes(file) == set()
