"""Database table of worksheets: the process that writes, and data of the last writer.

Before a process writes to a worksheet, it stores a random ID as the holder of the worksheet's
database row. Later changes of this row require the same holder. So a process that lost its lock
notices that another process writes. A batch is one request to Google with one or more writes. A
fence is metadata in the spreadsheet that proves that a batch was applied.
"""

from typing import Annotated

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.storage.damaged_rows import DamagedRow, checked
from gateway.storage.database import metadata
from gateway.storage.write_records import fence_of, fence_values
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.sharing import OpenFence

worksheets = sa.Table(
    "worksheets",
    metadata,
    sa.Column("spreadsheet", sa.String, primary_key=True),
    sa.Column("title", sa.String, primary_key=True),
    sa.Column("sheet_id", sa.Integer),
    sa.Column("fence_id", sa.Integer),
    sa.Column("fence_key", sa.String),
    sa.Column("token", sa.String),
    sa.Column("epoch", sa.String),
    sa.Column("last_row", sa.Integer),
    sa.Column("header_digest", sa.LargeBinary),
    sa.Column("holder", sa.String),
    sa.Column("sent_at", sa.Float),
)
_ADD = sa.text(
    "INSERT INTO worksheets (spreadsheet, title) VALUES (:spreadsheet, :title) "
    "ON CONFLICT (spreadsheet, title) DO NOTHING"
)


class WorksheetRow(msgspec.Struct, frozen=True, kw_only=True):
    """Data about a worksheet that a process stores for the next writer. None means unknown."""

    epoch: str | None = None
    """Random text that each write replaces, so that a process detects writes by others."""
    open_fence: OpenFence | None = None
    """Fence of a batch with an unknown outcome, and the time at which the batch was sent."""
    sheet_id: int | None = None
    last_row: int | None = None
    header_digest: bytes | None = None


async def take_row(
    connection: AsyncConnection, worksheet: WorksheetId, holder: str
) -> WorksheetRow:
    """Store `holder` (a random ID) in a worksheet's database row, within a transaction.

    Returns the data of the previous writer, with None for unknown values. Raises DamagedRow.
    """
    place = {"spreadsheet": worksheet.spreadsheet, "title": worksheet.title}
    await connection.execute(_ADD, place)
    query = sa.select(worksheets).where(_is(worksheet)).with_for_update()
    found = (await connection.execute(query)).mappings().one()
    await connection.execute(sa.update(worksheets).where(_is(worksheet)).values(holder=holder))
    return _row(found)


async def open_fence(
    connection: AsyncConnection, worksheet: WorksheetId, holder: str, fence: OpenFence
) -> bool:
    """Store a batch's fence before the batch is sent. Returns False if `holder` was replaced."""
    return await _update(connection, worksheet, holder, _fence_values(fence))


async def leave_row(
    connection: AsyncConnection, worksheet: WorksheetId, holder: str, row: WorksheetRow
) -> bool:
    """Store data for the next writer, and remove the holder. Returns False if it was replaced."""
    values = msgspec.structs.asdict(row) | _fence_values(row.open_fence) | {"holder": None}
    del values["open_fence"]
    return await _update(connection, worksheet, holder, values)


async def _update(
    connection: AsyncConnection, worksheet: WorksheetId, holder: str, values: dict[str, object]
) -> bool:
    is_held = _is(worksheet) & (worksheets.c.holder == holder)
    query = sa.update(worksheets).where(is_held).values(values)
    return (await connection.execute(query)).rowcount == 1


def _is(worksheet: WorksheetId) -> sa.ColumnElement[bool]:
    is_spreadsheet = worksheets.c.spreadsheet == worksheet.spreadsheet
    return is_spreadsheet & (worksheets.c.title == worksheet.title)


def _fence_values(open_fence: OpenFence | None) -> dict[str, object]:
    values = fence_values(open_fence and open_fence.fence)
    return {**values, "sent_at": open_fence and open_fence.sent_at}


class _SentAt(msgspec.Struct, frozen=True):
    sent_at: Annotated[float, msgspec.Meta(ge=0, le=1e11)] | None


def _row(found: sa.RowMapping) -> WorksheetRow:
    """Decode a database row. Raises DamagedRow."""
    fence, open_fence = fence_of(worksheets, found), None
    sent_at = checked(worksheets, found, _SentAt).sent_at
    if fence is not None:
        if sent_at is None:
            raise DamagedRow(worksheets, found, "its fence is incomplete")
        open_fence = OpenFence(fence, sent_at)
    row = checked(worksheets, {**found, "open_fence": open_fence}, WorksheetRow)
    is_row = row.last_row is None or row.last_row > 0
    return row if is_row else msgspec.structs.replace(row, last_row=None)
