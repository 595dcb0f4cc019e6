"""The row of each worksheet, which is its lock."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.settings.database import Database
from gateway.storage.database import open_database
from gateway.storage.worksheet_rows import WorksheetRow, find_row, lock_row, put_row
from gateway.worksheets.worksheet_id import WorksheetId
from tests.postgres import PostgresServer
from tests.storage.conftest import FENCE, WORKSHEET

EMPTY = WorksheetRow(worksheet=WORKSHEET)
FULL = WorksheetRow(
    worksheet=WORKSHEET,
    sheet_id=2**31 - 1,
    open_fence=FENCE,
    epoch="3f2a",
    last_row=10_000_000,
    header_digest=bytes(32),
)


@pytest.fixture
async def engine(database: Database) -> AsyncIterator[AsyncEngine]:
    async with open_database(database) as opened:
        yield opened


async def test_a_row_is_found_as_it_was_stored(engine: AsyncEngine) -> None:
    """A later one replaces it; other worksheets stay unknown."""
    found = []
    for row in (EMPTY, FULL, replace(FULL, open_fence=None, last_row=5)):
        async with engine.begin() as connection:
            await put_row(connection, row)
        async with engine.connect() as connection:
            found.append(await find_row(connection, WORKSHEET))
    async with engine.connect() as connection:
        other = await find_row(connection, WorksheetId(WORKSHEET.spreadsheet, "other"))

    assert found == [EMPTY, FULL, replace(FULL, open_fence=None, last_row=5)]
    assert other is None


async def test_a_worksheet_has_a_row_when_it_is_locked(engine: AsyncEngine) -> None:
    """The first lock adds it; what was stored stays."""
    async with engine.begin() as connection:
        first = await lock_row(connection, WORKSHEET)
        await put_row(connection, FULL)
    async with engine.begin() as connection:
        second = await lock_row(connection, WORKSHEET)

    assert (first, second) == (EMPTY, FULL)


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "known"])
async def test_a_lock_keeps_others_waiting(postgres: PostgresServer, is_new: bool) -> None:
    """The next one sees what the one before stored; readers and other worksheets do not wait."""
    order = []
    async with open_database(postgres.new_database()) as engine:
        if not is_new:
            async with engine.begin() as connection:
                await put_row(connection, EMPTY)

        async def follow() -> WorksheetRow:
            async with engine.begin() as connection:
                row = await lock_row(connection, WORKSHEET)
                order.append("second")
                return row

        async with engine.begin() as connection, engine.connect() as reader:
            await lock_row(connection, WORKSHEET)
            following = asyncio.create_task(follow())
            await find_row(reader, WORKSHEET)
            async with engine.begin() as other:
                await lock_row(other, WorksheetId(WORKSHEET.spreadsheet, "other"))
            await put_row(connection, FULL)
            order.append("first")
        found = await following

    assert order == ["first", "second"]
    assert found == FULL
