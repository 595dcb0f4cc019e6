"""Tables and SQL of the write ledger: records of idempotent writes, and notes of sent batches.

A batch is the writes in one request to Google. A removal is a batch that removes or empties rows. A
record, a note or a removal is open while the outcome at Google is unknown. A fence is metadata in
the spreadsheet that proves that a batch was applied. Its token is unique to the batch.

Rules
- JSON is encoded here, so that its size is known. The size of a record is the size of its JSON
  texts plus a constant.
- A batch that changes cells, removes rows, or adds rows by key (upsert) has a note without cells.
  The note is stored before the batch is sent. After a crash, the next process finds the batch's
  outcome by its fence. The note is deleted when the outcome is known.
- The note of a removal is kept while there are earlier records, whose rows may have moved. A record
  stores the ID of the last batch before it, so removals with higher IDs are later. If a removal was
  open when the record was made, the order is unknown. Then the record stores minus the removal's
  ID, and this removal also counts as later.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import sqlalchemy as sa

from gateway.google.sheets import MAX_FENCE_ID, Fence
from gateway.storage.damaged_rows import AsStoredFlag, DamagedRow, Flag, Row, checked
from gateway.storage.database import BIG, metadata, upsert
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.idempotency import Answer, Entry, OpenWrite, Sending
from gateway.worksheets.replay import encode_answer, shortened
from gateway.worksheets.writes import WriteIdentity

sent_batches = sa.Table(
    "row_removals",  # named for its first use
    metadata,
    sa.Column("id", BIG, primary_key=True),
    sa.Column("worksheet", sa.String, nullable=False),  # indexed for records
    sa.Column("removed", sa.String, nullable=False),
    sa.Column("sent_at", sa.Float, nullable=False),
    sa.Column("is_applied", AsStoredFlag, nullable=False),
    sa.Column("fence_id", sa.Integer, nullable=False),
    sa.Column("fence_key", sa.String, nullable=False),
    sa.Column("token", sa.String, nullable=False),
    sa.Column("updated", sa.String, nullable=False, server_default="[]"),
    sa.Column("is_exclusive", AsStoredFlag, nullable=False, server_default=sa.true()),
    sa.Column("sheet_id", sa.Integer),  # NULL in notes of older versions
    sqlite_autoincrement=True,  # no id is used again
)
_REMOVES_NONE = sent_batches.c.removed == "[]"
sa.Index("row_removals_by_worksheet", sent_batches.c.worksheet, sent_batches.c.id)
sa.Index("row_removals_by_token", sent_batches.c.token)

OPEN_BATCHES = sa.select(sent_batches).where(~sent_batches.c.is_applied)
LAST_REMOVAL = (
    "coalesce((SELECT -min(id) FROM row_removals WHERE worksheet = :worksheet "
    "AND NOT is_applied AND removed <> '[]'), (SELECT max(id) FROM row_removals), 0)"
)
"""SQL: minus the lowest ID of the worksheet's open removals, or else the ID of the latest batch."""


ADD = sa.insert(sent_batches)
_IS_IT = sent_batches.c.token.in_(sa.bindparam("tokens", expanding=True))
SETTLED: Mapping[bool, Sequence[sa.Executable]] = {
    False: [sa.delete(sent_batches).where(_IS_IT)],
    True: [
        sa.update(sent_batches).where(_IS_IT & ~_REMOVES_NONE).values(is_applied=True),
        sa.delete(sent_batches).where(_IS_IT & _REMOVES_NONE),
    ],
}
"""SQL by outcome of the batches with `tokens`: marks applied removals, deletes other notes."""
FORGET_OLD = sa.delete(sent_batches).where(sent_batches.c.id == sa.bindparam("old"))


def is_noted(sending: Sending) -> bool:
    """True if the write changes or moves rows, so that its batch needs a note in the database."""
    return bool(sending.updated or sending.removed or sending.is_exclusive)


def note_of(
    place: str, sheet_id: int | None, fence: Fence, sendings: Sequence[Sending], now: float
) -> Mapping[str, object] | None:
    """Returns the database row for the note of a batch, or None if no write needs a note.

    The row numbers are those before the batch. `place` is "SPREADSHEET_ID/TITLE". `now` is stored
    as the time at which the batch was sent.
    """
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


class BatchRows(msgspec.Struct, frozen=True, kw_only=True):
    """Row numbers and state of a batch in the database, without fence and worksheet.

    If `is_exclusive` is True, `removed` has at most the first removed row, below which all rows
    move.
    """

    id: int
    sheet_id: int | None
    updated: _Rows
    removed: _Rows
    is_exclusive: Flag
    is_applied: Flag
    sent_at: Annotated[float, msgspec.Meta(ge=0, le=1e11)]
    token: str

    def moves(self, entry: Entry) -> bool:
        """True if this removal, applied after the entry's write, moves or empties rows of it."""
        if entry.is_at_end and (self.is_exclusive or self.removed[-1] >= entry.first_row):
            return True
        if self.is_exclusive:
            return self.removed[0] <= max(entry.row_numbers, default=0)
        return not set(self.removed).isdisjoint(entry.row_numbers)


def rows_of(row: sa.RowMapping) -> BatchRows:
    """Decode a batch's note. Raises DamagedRow."""
    try:
        lists = {name: _rows.decode(row[name]) for name in ("updated", "removed")}
    except (msgspec.MsgspecError, TypeError, UnicodeEncodeError) as error:
        raise DamagedRow(sent_batches, row, "it has no JSON list of row numbers") from error
    if not lists["removed"] and row["removed"] != "[]":
        raise DamagedRow(sent_batches, row, "its JSON list has no row number")
    return checked(sent_batches, {**row, **lists}, BatchRows)


def later_removals(record: sa.RowMapping) -> sa.Select[tuple[object, ...]]:
    """SQL: batches that removed rows of a record's worksheet, perhaps after the record's write."""
    last = record["last_removal"]
    first = -last if last < 0 else last + 1
    is_later = (sent_batches.c.worksheet == record["worksheet"]) & (sent_batches.c.id >= first)
    return sa.select(sent_batches).where(is_later & ~_REMOVES_NONE).order_by(sent_batches.c.id)


KEPT_SECONDS = 86_400.0
"""Seconds for which a record is valid."""

PURGED_AT_LEAST = 20
"""Minimum number of expired records that are deleted with each group of new records."""

BYTES_BESIDE = 400
"""Approximate bytes of a record and its index entries, without its rows and its answer."""

MAX_SIZE = 64 * 1024 * 1024
"""Maximum bytes of a record. A larger stored size is damaged, and is ignored."""

records = sa.Table(
    "idempotency_records",
    metadata,
    sa.Column("scope", sa.String, primary_key=True),
    sa.Column("fingerprint", sa.String, nullable=False),
    sa.Column("worksheet", sa.String, nullable=False),
    sa.Column("sent_at", sa.Float, nullable=False),
    sa.Column("first_row", sa.Integer, nullable=False),
    sa.Column("rows", sa.String, nullable=False),
    sa.Column("answer", sa.String),
    sa.Column("key_id", sa.String, nullable=False, server_default=""),
    sa.Column("size", sa.Integer, nullable=False, server_default="0"),
    sa.Column("fence_id", sa.Integer),
    sa.Column("fence_key", sa.String),
    sa.Column("token", sa.String),
    sa.Column("numbers", sa.String, nullable=False, server_default="[]"),
    sa.Column("removes_rows", AsStoredFlag, nullable=False, server_default=sa.false()),
    sa.Column("last_removal", BIG, nullable=False, server_default="0"),
)
_is_completed = records.c.answer.is_not(None)
_may_expire = _is_completed | records.c.token.is_(None)
sa.Index("idempotency_records_by_age", records.c.sent_at)
sa.Index("idempotency_records_by_removal", records.c.worksheet, records.c.last_removal)
PARTIAL_INDEXES = (
    "CREATE INDEX idempotency_records_by_key ON idempotency_records (key_id, sent_at, size) "
    "WHERE answer IS NOT NULL",
    "CREATE INDEX idempotency_records_by_fence ON idempotency_records (fence_id) "
    "WHERE answer IS NULL",
)
"""SQL for both dialects: `sa.Index` would load all drivers of PostgreSQL, which take 2 MB."""

PUT = upsert(records, {"last_removal": LAST_REMOVAL})
PUT_UNLESS_TAKEN = upsert(
    records,
    {"last_removal": LAST_REMOVAL},
    where="idempotency_records.token = :seen AND idempotency_records.answer IS NULL "
    "OR idempotency_records.answer IS NOT NULL AND idempotency_records.sent_at <= :valid_from",
)
"""SQL: insert a record, unless a record with the same scope exists.

An existing record is replaced only if it is completed and was sent at `valid_from` or earlier, or
if it is open and has the token `seen`.
"""
OPEN = sa.select(records).where(~_is_completed)

ROW: Mapping[str, sa.ColumnElement[Any]] = {
    "sqlite": sa.literal_column("rowid", sa.Integer),
    "postgresql": records.c.scope,
}
"""Column that identifies a record, by SQL dialect. SQLite's indexes contain row IDs."""

_SIZE = sa.case((records.c.size.between(0, MAX_SIZE), records.c.size), else_=BYTES_BESIDE)
SIZES = (
    sa.select(records.c.key_id, sa.func.sum(_SIZE).label("size"))
    .where(_is_completed)
    .group_by(records.c.key_id)
)


def place_of(worksheet: WorksheetId) -> str:
    return f"{worksheet.spreadsheet}/{worksheet.title}"


def is_valid(now: float) -> sa.ColumnElement[bool]:
    """SQL condition of valid records, which are at most 24 h old, or open with a fence."""
    return ~_may_expire | (records.c.sent_at > now - KEPT_SECONDS)


_Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Fence(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of a fence. If `token` is not NULL, the other columns must not be NULL."""

    fence_id: Annotated[int, msgspec.Meta(ge=1, le=MAX_FENCE_ID)] | None
    fence_key: _Text | None
    token: _Text | None


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    worksheet: Annotated[str, msgspec.Meta(pattern="./")]


class StoredRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of a record, without its fence."""

    scope: str
    fingerprint: str
    worksheet: str
    sent_at: Annotated[float, msgspec.Meta(ge=0, le=1e11)]
    first_row: int
    rows: str
    answer: str | None
    numbers: str
    removes_rows: Flag
    last_removal: int


def fence_of(table: sa.Table, row: sa.RowMapping) -> Fence | None:
    """Returns the fence of a row, or None if the row has no fence. Raises DamagedRow."""
    found = checked(table, row, _Fence)
    if found.token is None:
        return None
    if found.fence_id is None or found.fence_key is None:
        raise DamagedRow(table, row, "its fence is incomplete")
    return Fence(id=found.fence_id, key=found.fence_key, token=found.token)


def fence_values(fence: Fence | None) -> dict[str, object]:
    """Values of a fence by column name, all None without a fence."""
    return {
        "fence_id": fence and fence.id,
        "fence_key": fence and fence.key,
        "token": fence and fence.token,
    }


def open_write(
    table: sa.Table,
    row: sa.RowMapping,
    sent_at: float,
    *,
    numbers: Iterable[int] = (),
    is_exclusive: bool = False,
) -> OpenWrite | None:
    """Decode an open write of an earlier process from a record or a note.

    `numbers` are the numbers of the changed rows. Numbers below 1 are of new rows, and are ignored.
    `is_exclusive`: other writes to the worksheet wait for the outcome. Returns None if the row has
    no fence. Raises DamagedRow.
    """
    fence = fence_of(table, row)
    if fence is None:
        return None
    spreadsheet, _, title = checked(table, row, _Place).worksheet.partition("/")
    return OpenWrite(
        worksheet=WorksheetId(spreadsheet, title),
        fence=fence,
        sent_at=sent_at,
        updated_rows=frozenset(number for number in numbers if number > 0),
        is_exclusive=is_exclusive,
    )


def record_of(
    identity: WriteIdentity,
    now: float,
    *,
    sending: Sending | None = None,
    fence: Fence | None = None,
    answer: Answer | None = None,
) -> Mapping[str, Any]:
    """Returns the record of a write by column name.

    The record is open with `sending` and `fence`, or completed with `answer`. `now` is stored as
    the time of the write. The texts `identity.texts` become digests.
    """
    cells: Sequence[Sequence[object]] = sending.rows if sending else ()
    if identity.texts:
        cells = [[shortened(value, identity.texts) for value in row] for row in cells]
    rows = _json(cells)
    text = None if answer is None else encode_answer(answer, identity.texts)
    return {
        "scope": identity.scope,
        "fingerprint": identity.fingerprint,
        "numbers": _json(sending.numbers if sending else ()),
        "removes_rows": identity.removes_rows,
        "worksheet": place_of(identity.worksheet),
        "sent_at": now,
        "first_row": sending.first_row if sending else 0,
        "rows": rows,
        "answer": text,
        "key_id": identity.key_id,
        "size": BYTES_BESIDE + len(rows.encode()) + len((text or "").encode()),
        **fence_values(fence),
    }


def size_of(record: Row) -> int:
    size = record["size"]
    return size if isinstance(size, int) and 0 <= size <= MAX_SIZE else BYTES_BESIDE


def purge(now: float, added: int) -> sa.Executable:
    """SQL: delete the oldest expired records: up to twice `added`, or up to 20 if that is more."""
    old = (
        sa.select(records.c.scope)
        .where(_may_expire & (records.c.sent_at <= now - KEPT_SECONDS))
        .order_by(records.c.sent_at)
        .limit(max(PURGED_AT_LEAST, 2 * added))
    )
    return sa.delete(records).where(records.c.scope.in_(old))


def purge_removals(place: str | None = None) -> sa.Delete:
    """SQL: delete notes of applied removals that are older than all records of the worksheet.

    `place` limits the statement to one worksheet ("SPREADSHEET_ID/TITLE"). None means all.
    """
    is_before = records.c.last_removal < sent_batches.c.id
    has_records = sa.exists().where((records.c.worksheet == sent_batches.c.worksheet) & is_before)
    query = sa.delete(sent_batches).where(sent_batches.c.is_applied & ~has_records)
    return query if place is None else query.where(sent_batches.c.worksheet == place)


def forget_oldest(key_id: str, kept_bytes: int, row: sa.ColumnElement[Any]) -> sa.Executable:
    """SQL: delete an API key's oldest completed records until at most `kept_bytes` are left.

    The newest record stays. `row` is the column that identifies a record (`ROW`).
    """
    newest_first = [records.c.sent_at.desc(), row.desc()]
    upto = sa.func.sum(_SIZE).over(order_by=newest_first).label("upto")
    of_key = _is_completed & (records.c.key_id == key_id)
    sized = sa.select(row.label("id"), _SIZE.label("size"), upto).where(of_key).subquery()
    is_too_much = (sized.c.upto > kept_bytes) & (sized.c.upto > sized.c.size)
    return sa.delete(records).where(row.in_(sa.select(sized.c.id).where(is_too_much)))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
