"""Tests of a PostgreSQL key store whose server stops, hangs or restarts."""

import asyncio
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from structlog.testing import capture_logs

from gateway.access.keys import ActiveKeys
from gateway.errors import KeysUnavailable, RecordsUnavailable
from gateway.settings.database import PostgresUrl, parse_database
from gateway.settings.model import ConfigError
from gateway.storage.database import (
    STORE_ERRORS,
    migrate_database,
    open_database,
    server_engine,
)
from gateway.storage.key_store import KeyStore
from gateway.worksheets.idempotency import Sending
from tests.access.watched import PLANS, Instant
from tests.clock import ManualClock
from tests.postgres import PASSWORD, PostgresServer, running_server
from tests.storage import by_hand
from tests.storage.conftest import FENCE, IDENTITY, ROWS, WORKSHEET, results
from tests.storage.test_key_store import RECORD, active

PATIENCE_SECONDS = 20.0


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the test can stop."""
    with running_server() as started:
        yield started


@pytest.fixture
def database(server: PostgresServer) -> PostgresUrl:
    return server.new_database()


def report(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param((PASSWORD, "swordfisch"), "password authentication failed", id="password"),
        pytest.param(("127.0.0.1:", "127.0.0.2:"), "Connect call failed", id="address"),
        pytest.param(("127.0.0.1:", "no-host.invalid:"), "", id="host"),
        pytest.param(("/postgres", "/none"), "database .* does not exist", id="name"),
    ],
)
async def test_a_server_that_cannot_be_used_is_reported(
    database: PostgresUrl, change: tuple[str, str], reason: str
) -> None:
    """An unusable server gives one error line with setting, address and reason, without the
    password.
    """
    wrong = parse_database(database.url.get_secret_value().replace(*change))
    with pytest.raises(ConfigError, match=f"cannot be used as the key store: .*{reason}") as opened:
        async with KeyStore.open(wrong):
            pass
    with pytest.raises(ConfigError) as migrated:
        await migrate_database(wrong)

    assert opened.value.problems == migrated.value.problems
    assert str(wrong) in opened.value.problems[0]
    for error in (opened.value, migrated.value):
        assert "swordfi" not in report(error)


async def test_a_stopped_server_makes_writes_and_keys_unavailable(
    server: PostgresServer, database: PostgresUrl
) -> None:
    """If PostgreSQL has stopped, writes fail before they are sent. No password is logged."""
    async with KeyStore.open(database) as store, store.open_ledger(ManualClock()) as ledger:
        keys = ActiveKeys(store.changes, PLANS, clock=Instant(), tag_key=b"key")
        await keys.load()
        server.stop()
        with capture_logs() as logged:
            with pytest.raises(RecordsUnavailable) as unsent:
                await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
            with pytest.raises(RecordsUnavailable) as unread:
                await ledger.find("s1")
            with pytest.raises(KeysUnavailable):
                await keys.find(b"new")
            await ledger.completed([(IDENTITY, results(5))])

    assert (unsent.value.outcome, unread.value.outcome) == ("not_applied", "unknown")
    assert {line["event"] for line in logged} == {"fault"}
    reports = [report(line["exc_info"]) for line in logged]
    assert PASSWORD not in "".join([*reports, report(unsent.value), report(unread.value)])


async def test_a_restart_of_the_server_fails_no_request(
    server: PostgresServer, database: PostgresUrl
) -> None:
    """After a restart of PostgreSQL, old connections are not used and no request fails."""
    async with KeyStore.open(database) as store, store.open_ledger(ManualClock()) as ledger:
        await store.add(RECORD, b"1")
        await asyncio.gather(*(store.ping() for _ in range(5)))
        server.stop()
        server.start()
        await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
        found = await active(store)
        entry = await ledger.find("s1")

    assert found == {b"1": RECORD}
    assert entry is not None


async def test_a_hanging_server_times_out(server: PostgresServer, database: PostgresUrl) -> None:
    """A statement at a hanging PostgreSQL times out. When PostgreSQL works again, so does the
    next statement.
    """
    async with open_database(database, statement_timeout_seconds=0.2) as engine:
        store = KeyStore(engine)
        await store.ping()
        server.send_signal(signal.SIGSTOP)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                with pytest.raises(TimeoutError):
                    await store.ping()
        finally:
            server.send_signal(signal.SIGCONT)
        await store.ping()


async def test_a_connection_that_is_lost_at_once_is_a_store_error(database: PostgresUrl) -> None:
    """A connection that is lost before its first statement raises one of `STORE_ERRORS`."""

    async def connect_and_lose() -> asyncpg.Connection:
        connection = await by_hand.connect(database)
        await connection.close()
        return connection

    engine = server_engine(database, async_creator=connect_and_lose)
    try:
        with pytest.raises(STORE_ERRORS):
            async with engine.connect():
                pass
    finally:
        await engine.dispose()


async def test_a_missing_driver_is_reported(tmp_path: Path) -> None:
    """Without the driver of PostgreSQL, the error names the extra `cluster` to install."""
    program = (
        "import asyncio, sys; sys.modules['asyncpg'] = None\n"
        "from gateway.settings.database import parse_database\n"
        "from gateway.storage.key_store import KeyStore\n"
        "async def main():\n"
        "    async with KeyStore.open(parse_database('postgresql+asyncpg://h/n')): pass\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()

    assert b"PostgreSQL needs asyncpg: install `sheets-gateway[cluster]`" in errors
