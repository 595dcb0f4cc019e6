"""Table of sent batches: what each may still change, and the rows that earlier ones removed.

Rules
- A batch that changes cells, removes rows or adds rows by key is noted before it is sent, without
  cells: the next process settles it by its fence. Its note is deleted when its outcome is known.
- A batch that removed or emptied rows is kept while there are records from before it: their rows
  may be elsewhere. A record knows the last batch before it. Of a removal that was open when the
  record was made, nobody knows whether the record is of before.
"""

from collections.abc import Mapping, Sequence
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
    bindparam,
    delete,
    insert,
    select,
    true,
    update,
)
from sqlalchemy.sql import Select

from gateway.google.sheets import Fence
from gateway.storage.damaged_rows import AsStoredFlag, DamagedRow, Flag, checked
from gateway.storage.database import BIG, metadata
from gateway.worksheets.idempotency import Entry, Sending

sent_batches = Table(
    "row_removals",  # its first use; migrations only add
    metadata,
    Column("id", BIG, primary_key=True),
    Column("worksheet", String, nullable=False),  # indexed: records follow those of one worksheet
    Column("removed", String, nullable=False),
    Column("sent_at", Float, nullable=False),
    Column("is_applied", AsStoredFlag, nullable=False),
    Column("fence_id", Integer, nullable=False),
    Column("fence_key", String, nullable=False),
    Column("token", String, nullable=False),
    Column("updated", String, nullable=False, server_default="[]"),
    Column("is_exclusive", AsStoredFlag, nullable=False, server_default=true()),
    Column("sheet_id", Integer),  # unknown of removals that older versions noted
    sqlite_autoincrement=True,  # no id is used again
)
_REMOVES_NONE = sent_batches.c.removed == "[]"
Index("row_removals_by_worksheet", sent_batches.c.worksheet, sent_batches.c.id)
Index("row_removals_by_token", sent_batches.c.token)

OPEN_BATCHES = select(sent_batches).where(~sent_batches.c.is_applied)
LAST_REMOVAL = (
    "coalesce((SELECT -min(id) FROM row_removals WHERE worksheet = :worksheet "
    "AND NOT is_applied AND removed <> '[]'), (SELECT max(id) FROM row_removals), 0)"
)
"""The last batch of all; of a removal that is open in this worksheet, the negative."""


ADD = insert(sent_batches)
_IS_IT = sent_batches.c.token.in_(bindparam("tokens", expanding=True))
FORGET = delete(sent_batches).where(_IS_IT)
"""For the batches with these `tokens`, of which no record needs to know."""
FORGET_OLD = delete(sent_batches).where(sent_batches.c.id == bindparam("old"))
APPLIED = (
    update(sent_batches).where(_IS_IT & ~_REMOVES_NONE).values(is_applied=True),
    delete(sent_batches).where(_IS_IT & _REMOVES_NONE),
)
"""For batches with these `tokens` that were applied."""


def is_noted(sending: Sending) -> bool:
    """True if the write changes or moves rows."""
    return bool(sending.updated or sending.removed or sending.is_exclusive)


def note_of(
    place: str, sheet_id: int | None, fence: Fence, sendings: Sequence[Sending], now: float
) -> Mapping[str, object] | None:
    """The note of a batch that is about to be sent, by row numbers of before it."""
    noted = [each for each in sendings if is_noted(each)]
    if not noted:
        return None
    is_exclusive = any(each.is_exclusive for each in noted)
    removed = sorted({row for each in noted for row in each.removed})
    return {
        "worksheet": place,
        "sheet_id": sheet_id,
        "updated": _json(sorted({row for each in noted for row in each.updated})),
        "removed": _json(removed[:1] if is_exclusive else removed),  # all rows below it move
        "is_exclusive": is_exclusive,
        "sent_at": now,
        "is_applied": False,
        "fence_id": fence.id,
        "fence_key": fence.key,
        "token": fence.token,
    }


_Rows = tuple[Annotated[int, msgspec.Meta(ge=1)], ...]
_rows = msgspec.json.Decoder(_Rows)


class StoredBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a batch, but for its fence and its worksheet."""

    id: int
    sheet_id: int | None
    updated: str
    removed: str
    is_exclusive: Flag
    is_applied: Flag
    sent_at: Annotated[float, msgspec.Meta(ge=0, le=1e11)]
    token: str


class BatchRows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a batch; of an exclusive one the first removed row is enough."""

    sheet_id: int | None
    updated: Sequence[int]
    removed: Sequence[int]
    is_exclusive: bool

    def moves(self, entry: Entry) -> bool:
        """True if it moves or empties rows of a record, should it be applied after it."""
        if entry.is_at_end and (self.is_exclusive or self.removed[-1] >= entry.first_row):
            return True
        if self.is_exclusive:
            return self.removed[0] <= max(entry.row_numbers, default=0)
        return not set(self.removed).isdisjoint(entry.row_numbers)


def rows_of(row: RowMapping) -> BatchRows:
    """The rows of a batch. Raises DamagedRow."""
    stored = checked(sent_batches, row, StoredBatch)
    try:
        updated, removed = _rows.decode(stored.updated), _rows.decode(stored.removed)
    except msgspec.MsgspecError as error:
        raise DamagedRow(sent_batches, row, "it has no JSON list of row numbers") from error
    if not removed and stored.removed != "[]":
        raise DamagedRow(sent_batches, row, "its JSON list has no row number")
    return BatchRows(
        sheet_id=stored.sheet_id,
        updated=updated,
        removed=removed,
        is_exclusive=bool(stored.is_exclusive),
    )


def later_removals(record: RowMapping) -> Select[tuple[object, ...]]:
    """The removals in the worksheet of a record that may have been applied after it was made."""
    last = record["last_removal"]
    first = -last if last < 0 else last + 1
    is_later = (sent_batches.c.worksheet == record["worksheet"]) & (sent_batches.c.id >= first)
    return select(sent_batches).where(is_later & ~_REMOVES_NONE).order_by(sent_batches.c.id)


def _json(rows: Sequence[int]) -> str:
    return msgspec.json.encode(rows).decode()
