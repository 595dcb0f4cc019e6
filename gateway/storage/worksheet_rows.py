"""Table of worksheets: one row each, which a process locks while it writes to the worksheet.

The row has what the last writer knew: its open fence, if its outcome is not known yet, the epoch,
and the place of the rows.
"""

from dataclasses import dataclass

from sqlalchemy import (
    Column,
    ColumnElement,
    Integer,
    LargeBinary,
    RowMapping,
    String,
    Table,
    select,
    text,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.google.sheets import Fence
from gateway.storage.database import metadata, upsert
from gateway.worksheets.worksheet_id import WorksheetId

worksheets = Table(
    "worksheets",
    metadata,
    Column("spreadsheet", String, primary_key=True),
    Column("title", String, primary_key=True),
    Column("sheet_id", Integer),
    Column("fence_id", Integer),
    Column("fence_key", String),
    Column("token", String),
    Column("epoch", String),
    Column("last_row", Integer),
    Column("header_digest", LargeBinary),
)
_PUT = upsert(worksheets)
_ADD = text(
    "INSERT INTO worksheets (spreadsheet, title) VALUES (:spreadsheet, :title) "
    "ON CONFLICT (spreadsheet, title) DO NOTHING"
)


@dataclass(frozen=True, kw_only=True)
class WorksheetRow:
    """What is stored of a worksheet; None is unknown, or no open fence."""

    worksheet: WorksheetId
    sheet_id: int | None = None
    open_fence: Fence | None = None
    epoch: str | None = None
    last_row: int | None = None
    header_digest: bytes | None = None


async def lock_row(connection: AsyncConnection, worksheet: WorksheetId) -> WorksheetRow:
    """The row of a worksheet, added if needed, and locked until the transaction ends.

    SQLite has no locks of rows: there the transaction locks the database.
    """
    place = {"spreadsheet": worksheet.spreadsheet, "title": worksheet.title}
    await connection.execute(_ADD, place)
    query = select(worksheets).where(_is(worksheet)).with_for_update()
    return _row((await connection.execute(query)).mappings().one())


async def find_row(connection: AsyncConnection, worksheet: WorksheetId) -> WorksheetRow | None:
    """The row of a worksheet as it was last committed; None without one."""
    query = select(worksheets).where(_is(worksheet))
    found = (await connection.execute(query)).mappings().one_or_none()
    return None if found is None else _row(found)


async def put_row(connection: AsyncConnection, row: WorksheetRow) -> None:
    """Add or replace the row of a worksheet."""
    fence = row.open_fence
    values = {
        "spreadsheet": row.worksheet.spreadsheet,
        "title": row.worksheet.title,
        "sheet_id": row.sheet_id,
        "fence_id": fence and fence.id,
        "fence_key": fence and fence.key,
        "token": fence and fence.token,
        "epoch": row.epoch,
        "last_row": row.last_row,
        "header_digest": row.header_digest,
    }
    await connection.execute(_PUT, values)


def _is(worksheet: WorksheetId) -> ColumnElement[bool]:
    is_spreadsheet = worksheets.c.spreadsheet == worksheet.spreadsheet
    return is_spreadsheet & (worksheets.c.title == worksheet.title)


def _row(found: RowMapping) -> WorksheetRow:
    fence = None
    if found["token"] is not None:
        fence = Fence(id=found["fence_id"], key=found["fence_key"], token=found["token"])
    return WorksheetRow(
        worksheet=WorksheetId(found["spreadsheet"], found["title"]),
        sheet_id=found["sheet_id"],
        open_fence=fence,
        epoch=found["epoch"],
        last_row=found["last_row"],
        header_digest=found["header_digest"],
    )
