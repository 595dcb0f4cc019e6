"""Tests of PostgreSQL notifications about changed keys."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.settings.database import PostgresUrl
from gateway.storage.key_signals import SESSION, key_signals
from gateway.storage.key_store import KeyStore
from tests.access.watched import issue
from tests.postgres import PostgresServer
from tests.storage.by_hand import execute
from tests.storage.conftest import NOW

PATIENCE_SECONDS = 20.0
SESSIONS = "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND usename = current_user"


@dataclass
class Calls:
    """Callback that counts its calls. `next` waits for a call."""

    count: int = 0
    is_called: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self) -> None:
        self.count += 1
        self.is_called.set()

    async def next(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.is_called.wait()
        self.is_called.clear()


@pytest.fixture
def database(postgres: PostgresServer) -> PostgresUrl:
    return postgres.new_database()


@pytest.fixture
def changed() -> Calls:
    return Calls()


@pytest.fixture
def hung() -> Calls:
    return Calls()


@pytest.fixture
async def listening(database: PostgresUrl, changed: Calls, hung: Calls) -> AsyncIterator[int]:
    """PostgreSQL process ID of the connection that listens for notifications."""
    async with key_signals(database, changed, hung):
        await changed.next()
        yield await asyncio.to_thread(session, database)


def session(database: PostgresUrl) -> int:
    ((pid,),) = execute(database, SESSIONS, SESSION)
    return int(pid)


async def test_gateways_with_a_database_are_counted(
    database: PostgresUrl, postgres: PostgresServer, changed: Calls, hung: Calls
) -> None:
    """Each gateway gets the number of gateways that use its database within about a second."""
    counts: list[int] = []
    is_one, is_two = asyncio.Event(), asyncio.Event()

    def note(count: int) -> None:
        counts.append(count)
        (is_one if count == 1 else is_two).set()

    async with (
        key_signals(postgres.new_database(), changed, hung),
        key_signals(database, changed, hung, note),
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        await is_one.wait()
        async with key_signals(database, changed, hung):
            await is_two.wait()

    assert (counts[0], counts[-1]) == (1, 2)


async def test_changes_of_keys_are_signalled(
    store: KeyStore, changed: Calls, hung: Calls, listening: int
) -> None:
    """A new or revoked key causes a signal. The use of a key does not."""
    record, _ = await issue(store)
    await changed.next()
    await store.touch(record.id, NOW)
    await store.revoke(record.id, NOW)
    await changed.next()

    assert (changed.count, hung.count) == (3, 0)


async def test_many_changes_of_one_transaction_are_one_signal(
    store: KeyStore, database: PostgresUrl, changed: Calls, listening: int
) -> None:
    for _ in range(3):
        await issue(store)
        await changed.next()
    execute(database, "UPDATE api_keys SET name = 'x'")
    await changed.next()

    assert changed.count == 5


async def test_a_cut_connection_is_replaced(
    database: PostgresUrl, changed: Calls, hung: Calls, listening: int
) -> None:
    """A new connection after a lost connection counts as a signal, because signals might be
    lost.
    """
    execute(database, f"SELECT pg_terminate_backend({listening})")
    await changed.next()

    assert session(database) != listening
    assert (changed.count, hung.count) == (2, 0)


async def test_a_silent_connection_is_replaced(
    store: KeyStore, changed: Calls, hung: Calls, listening: int
) -> None:
    """A silent connection is replaced. `hung` is called, because other connections might be
    silent, too.
    """
    os.kill(listening, signal.SIGSTOP)
    try:
        await hung.next()
        await changed.next()
        await issue(store)
        await changed.next()
    finally:
        os.kill(listening, signal.SIGCONT)

    assert (changed.count, hung.count) == (3, 1)


async def test_idle_connections_are_aborted(store: KeyStore, database: PostgresUrl) -> None:
    """Silent idle connections are closed, so that later statements do not wait for them."""
    await asyncio.gather(*(store.ping() for _ in range(5)))
    pids = "SELECT pid FROM pg_stat_activity WHERE usename = current_user AND pid <> "
    found = [pid for (pid,) in execute(database, f"{pids} pg_backend_pid()")]
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    try:
        store.abort_idle()
        async with asyncio.timeout(2.0):
            await asyncio.gather(*(store.ping() for _ in range(5)))
    finally:
        for pid in found:
            os.kill(pid, signal.SIGCONT)

    assert found


async def test_a_file_signals_nothing(tmp_path: Path, changed: Calls, hung: Calls) -> None:
    async with key_signals(tmp_path / "keys.db", changed, hung):
        await asyncio.sleep(0)

    assert (changed.count, hung.count) == (0, 0)
