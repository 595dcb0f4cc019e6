"""Tests of the database row of each worksheet: its holder, and data of the last writer."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.settings.database import Database
from gateway.storage.database import open_database
from gateway.storage.worksheet_rows import WorksheetRow, leave_row, open_fence, take_row
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.sharing import OpenFence
from tests.postgres import PostgresServer
from tests.storage.conftest import FENCE, WORKSHEET

OTHER = WorksheetId(WORKSHEET.spreadsheet, "other")
OPEN = OpenFence(FENCE, 1_700_000_000.5)
EMPTY = WorksheetRow()
FULL = WorksheetRow(
    epoch="3f2a",
    open_fence=OPEN,
    sheet_id=2**31 - 1,
    last_row=10_000_000,
    header_digest=bytes(32),
)


@pytest.fixture
async def engine(database: Database) -> AsyncIterator[AsyncEngine]:
    async with open_database(database) as opened:
        yield opened


async def take(engine: AsyncEngine, holder: str, worksheet: WorksheetId = WORKSHEET) -> object:
    async with engine.begin() as connection:
        return await take_row(connection, worksheet, holder)


async def leave(engine: AsyncEngine, holder: str, row: WorksheetRow) -> bool:
    async with engine.begin() as connection:
        return await leave_row(connection, WORKSHEET, holder, row)


async def test_a_holder_gets_the_state_of_the_last_holder(engine: AsyncEngine) -> None:
    """A new holder of a worksheet reads the data of the last holder. The first holder reads
    nothing.
    """
    found = [await take(engine, "a")]
    assert await leave(engine, "a", FULL)
    found += [await take(engine, "b"), await take(engine, "b", OTHER)]

    assert found == [EMPTY, FULL, EMPTY]


async def test_only_the_holder_changes_the_row(engine: AsyncEngine) -> None:
    """A former holder can neither store a fence nor data in the worksheet's database row."""
    await take(engine, "a")
    await take(engine, "b")
    async with engine.begin() as connection:
        opened = [await open_fence(connection, WORKSHEET, each, OPEN) for each in "ab"]

    assert (opened, await leave(engine, "a", EMPTY)) == ([False, True], False)
    assert await take(engine, "c") == WorksheetRow(open_fence=OPEN)


async def test_a_left_row_has_no_holder(engine: AsyncEngine) -> None:
    """After a holder has left the database row, further statements of this holder change
    nothing.
    """
    await take(engine, "a")

    assert await leave(engine, "a", FULL)
    assert not await leave(engine, "a", EMPTY)


async def test_concurrent_takers_have_one_holder(postgres: PostgresServer) -> None:
    """If two processes take a new database row at once, exactly one process is the holder at
    the end.
    """
    async with open_database(postgres.new_database()) as engine:
        await asyncio.gather(*(take(engine, holder) for holder in "abcdefgh"))
        left = [await leave(engine, holder, EMPTY) for holder in "abcdefgh"]

    assert left.count(True) == 1
