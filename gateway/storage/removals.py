"""Table of row removals: the rows that writes of the gateway removed, in their order.

A record of a write knows the last removal before it; its numbers follow the later ones. A removal
is open until its outcome is known. So is an upsert that adds rows, which removes none: it is
deleted when it is settled.
"""

from collections.abc import Iterator, Sequence

import msgspec
from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Integer,
    MetaData,
    RowMapping,
    ScalarSelect,
    String,
    Table,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql import Executable, Select

from gateway.google.sheets import Fence
from gateway.worksheets.idempotency import Entry, OpenWrite
from gateway.worksheets.row_numbers import entry_after
from gateway.worksheets.worksheet_id import WorksheetId

removals = Table(
    "row_removals",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("worksheet", String, nullable=False),
    Column("removed", String, nullable=False),
    Column("sent_at", Float, nullable=False),
    Column("is_applied", Boolean, nullable=False),
    Column("fence_id", Integer, nullable=False),
    Column("fence_key", String, nullable=False),
    Column("token", String, nullable=False),
    sqlite_autoincrement=True,  # no id is used again
)
_REMOVES_NONE = removals.c.removed == "[]"

CREATE_REMOVALS = CreateTable(removals, if_not_exists=True)
OPEN_REMOVALS = select(removals).where(~removals.c.is_applied)
LAST_REMOVAL = select(func.coalesce(func.max(removals.c.id), 0)).scalar_subquery()


def open_removal(place: str, fence: Fence, removed: Sequence[int], now: float) -> Executable:
    """Note that rows are about to be removed, by their numbers of before."""
    return insert(removals).values(
        worksheet=place,
        removed=msgspec.json.encode(removed).decode(),
        sent_at=now,
        is_applied=False,
        fence_id=fence.id,
        fence_key=fence.key,
        token=fence.token,
    )


def settle_removal(fence: Fence, *, is_applied: bool) -> Iterator[Executable]:
    """Note the outcome of a removal."""
    is_it = removals.c.token == fence.token
    if is_applied:
        yield update(removals).where(is_it & ~_REMOVES_NONE).values(is_applied=True)
        yield delete(removals).where(is_it & _REMOVES_NONE)
    else:
        yield delete(removals).where(is_it)


def removals_after(place: str, removal: int) -> Select[tuple[object, ...]]:
    """The removals in a worksheet after one."""
    is_later = (removals.c.worksheet == place) & (removals.c.id > removal) & ~_REMOVES_NONE
    return select(removals).where(is_later).order_by(removals.c.id)


def purge_removals(oldest: ScalarSelect[int]) -> Executable:
    """Delete the removals up to `oldest`, or all without it, but for open ones."""
    is_old = oldest.is_(None) | (removals.c.id <= oldest)
    return delete(removals).where(removals.c.is_applied & is_old)


def as_open_write(row: RowMapping, sent_at: float) -> OpenWrite:
    spreadsheet, _, title = row["worksheet"].partition("/")
    return OpenWrite(
        worksheet=WorksheetId(spreadsheet, title),
        fence=Fence(id=row["fence_id"], key=row["fence_key"], token=row["token"]),
        sent_at=sent_at,
        updated_rows=frozenset(),
        is_exclusive=True,
    )


def followed(entry: Entry, later: Sequence[RowMapping]) -> Entry:
    """A record after later removals; while one is open, numbers from there on are unknown."""
    for row in later:
        removed = msgspec.json.decode(row["removed"], type=list[int])
        entry = entry_after(entry, removed, is_known=row["is_applied"])
    return entry
