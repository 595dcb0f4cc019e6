"""Table of worksheets: the holder of each, and the state that the last writer left.

Rules: a process takes the row over before it writes, and every later change of the row names it as
the holder. So a holder that lost its lock notices that another process has taken over.
"""

from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class WorksheetRow:
    """State that a writer leaves; None is unknown. `epoch` changes with each write."""

    epoch: str | None = None
    open_fence: OpenFence | None = None
    sheet_id: int | None = None
    last_row: int | None = None
    header_digest: bytes | None = None


async def take_row(
    connection: AsyncConnection, worksheet: WorksheetId, holder: str
) -> WorksheetRow:
    """Become the holder of a worksheet's row within a transaction; returns the earlier state.

    Raises DamagedRow.
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
    """Store the fence of a batch before it is sent; False if another process holds the row."""
    is_held = _is(worksheet) & (worksheets.c.holder == holder)
    query = sa.update(worksheets).where(is_held).values(_fence_values(fence))
    return (await connection.execute(query)).rowcount == 1


async def leave_row(
    connection: AsyncConnection, worksheet: WorksheetId, holder: str, row: WorksheetRow
) -> bool:
    """Store a holder's state and release the row; False if another process holds it."""
    values = {
        **_fence_values(row.open_fence),
        "epoch": row.epoch,
        "sheet_id": row.sheet_id,
        "last_row": row.last_row,
        "header_digest": row.header_digest,
        "holder": None,
    }
    is_held = _is(worksheet) & (worksheets.c.holder == holder)
    return (
        await connection.execute(sa.update(worksheets).where(is_held).values(values))
    ).rowcount == 1


def _is(worksheet: WorksheetId) -> sa.ColumnElement[bool]:
    is_spreadsheet = worksheets.c.spreadsheet == worksheet.spreadsheet
    return is_spreadsheet & (worksheets.c.title == worksheet.title)


def _fence_values(open_fence: OpenFence | None) -> dict[str, object]:
    values = fence_values(open_fence and open_fence.fence)
    return {**values, "sent_at": open_fence and open_fence.sent_at}


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    epoch: str | None
    sheet_id: int | None
    last_row: int | None
    header_digest: bytes | None
    sent_at: Annotated[float, msgspec.Meta(ge=0, le=1e11)] | None


def _row(found: sa.RowMapping) -> WorksheetRow:
    """Decode the row. Raises DamagedRow, because an unreadable open fence is never settled."""
    fence, row, open_fence = fence_of(worksheets, found), checked(worksheets, found, _Stored), None
    if fence is not None:
        if row.sent_at is None:
            raise DamagedRow(worksheets, found, "its fence is incomplete")
        open_fence = OpenFence(fence, row.sent_at)
    return WorksheetRow(
        epoch=row.epoch,
        open_fence=open_fence,
        sheet_id=row.sheet_id,
        last_row=row.last_row if (row.last_row or 0) > 0 else None,
        header_digest=row.header_digest,
    )
