"""Table of row removals: the rows that writes of the gateway removed, in their order.

A record of a write knows the last removal before it; its numbers follow the later ones. Of one that
was open when the record was made, nobody knows whether its numbers are of before. A removal is open
until its outcome is known. So is an upsert that adds rows, which removes none: it is deleted when
it is settled.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import msgspec
from sqlalchemy import (
    Column,
    Float,
    Index,
    Integer,
    RowMapping,
    String,
    Table,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.sql import Executable, Select

from gateway.google.sheets import Fence
from gateway.storage.damaged_rows import AsStoredFlag, DamagedRow, Flag, checked
from gateway.storage.database import BIG, metadata
from gateway.worksheets.idempotency import Entry
from gateway.worksheets.row_numbers import entry_after

removals = Table(
    "row_removals",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("worksheet", String, nullable=False),  # indexed: numbers follow those of one worksheet
    Column("removed", String, nullable=False),
    Column("sent_at", Float, nullable=False),
    Column("is_applied", AsStoredFlag, nullable=False),
    Column("fence_id", Integer, nullable=False),
    Column("fence_key", String, nullable=False),
    Column("token", String, nullable=False),
    sqlite_autoincrement=True,  # no id is used again
)
_REMOVES_NONE = removals.c.removed == "[]"
Index("row_removals_by_worksheet", removals.c.worksheet, removals.c.id)

OPEN_REMOVALS = select(removals).where(~removals.c.is_applied)
LAST_REMOVAL = (
    "coalesce((SELECT -min(id) FROM row_removals WHERE worksheet = :worksheet "
    "AND NOT is_applied AND removed <> '[]'), (SELECT max(id) FROM row_removals), 0)"
)
"""The last removal of all; of one that is open in this worksheet, the negative."""


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


def settle_removal(fence: Fence, is_applied: bool) -> Iterator[Executable]:
    """Note the outcome of a removal."""
    is_it = removals.c.token == fence.token
    if is_applied:
        yield update(removals).where(is_it & ~_REMOVES_NONE).values(is_applied=True)
        yield delete(removals).where(is_it & _REMOVES_NONE)
    else:
        yield delete(removals).where(is_it)


class _Removal(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    removed: str
    is_applied: Flag


_numbers = msgspec.json.Decoder(Annotated[list[int], msgspec.Meta(min_length=1)])


def later_removals(record: RowMapping) -> Select[tuple[object, ...]]:
    """The removals in the worksheet of a record that it has to follow."""
    last = record["last_removal"]
    first = -last if last < 0 else last + 1
    is_later = (removals.c.worksheet == record["worksheet"]) & (removals.c.id >= first)
    return select(removals).where(is_later & ~_REMOVES_NONE).order_by(removals.c.id)


def followed(entry: Entry, record: RowMapping, later: Iterable[RowMapping]) -> Entry:
    """The entry of a record after later removals.

    Numbers below the rows of a removal that is open, or was when the record was made, are unknown.
    Raises DamagedRow.
    """
    for row in later:
        removal = checked(removals, row, _Removal)
        try:
            removed = _numbers.decode(removal.removed)
        except msgspec.MsgspecError as error:
            raise DamagedRow(removals, row, "it has no JSON list of row numbers") from error
        is_known = bool(removal.is_applied) and removal.id > abs(record["last_removal"])
        entry = entry_after(entry, removed, is_known=is_known)
    return entry
