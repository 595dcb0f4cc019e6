"""Fixtures: an empty key store in SQLite or PostgreSQL, its ledger, and a manual clock."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.errors import GatewayError, InternalError, RecordsUnavailable
from gateway.google.sheets import Fence
from gateway.settings.database import Database, PostgresUrl
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.idempotency import Entry, Rows
from gateway.worksheets.writes import Results, WriteIdentity, Written
from tests.clock import ManualClock
from tests.postgres import PostgresServer

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WORKSHEET = WorksheetId(spreadsheet="book", title="Cities")
IDENTITY = WriteIdentity(scope="s1", fingerprint="f1", worksheet=WORKSHEET, key_id="")
OTHER_IDENTITY = replace(IDENTITY, scope="s2")
FENCE = Fence(id=7, key="gw", token="t1")
Unsendable = type[GatewayError]
ROWS: Rows = [["Bern", 1, 1.5, True, None, "", "=1+1 'ü' 🏙"], ["Basel"]]


@pytest.fixture
def anyio_backend() -> str:
    """Event loop of the gateway."""
    return "asyncio"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Path at which no key store exists yet."""
    return tmp_path / "keys.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Database:
    """An empty database: a SQLite file or a PostgreSQL database."""
    if request.param == "sqlite":
        file: Path = request.getfixturevalue("file")
        return file
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
async def store(database: Database) -> AsyncIterator[KeyStore]:
    """An open, empty key store."""
    async with KeyStore.open(database) as opened:
        yield opened


@pytest.fixture
def unsendable(database: Database) -> Unsendable:
    """Exception class of a write whose record cannot be stored or read.

    RecordsUnavailable (503) for PostgreSQL, InternalError for a file.
    """
    if isinstance(database, PostgresUrl):
        return RecordsUnavailable
    return InternalError


def results(*rows: int) -> Results:
    """Answer of a write to rows with these numbers."""
    return tuple(
        Written(row=row, record={"rowIndex": row, "name": None}, tag='"t"', ignored=("x",))
        for row in rows
    )


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def ledger(store: KeyStore, clock: ManualClock) -> AsyncIterator[SqlLedger]:
    """An empty ledger."""
    async with store.open_ledger(clock) as opened:
        yield opened


async def found_after_restart(
    database: Database, clock: ManualClock, scope: str = IDENTITY.scope
) -> Entry | None:
    """Entry that a new process finds for `scope`, or None."""
    async with KeyStore.open(database) as store, store.open_ledger(clock) as ledger:
        return await ledger.find(scope)
