"""Key store: a table of grants by key digest, a log of key changes, and a log of edits.

Gateways read the log of changes to know which keys to load again. Operators read the log of edits,
with author and values. The write ledger (`gateway.storage.write_ledger`) is in the same database.

Rules:
- The store contains neither a key nor the pepper, the secret that the digests need. Neither can be
  computed from the store.
- The stored mark (a short HMAC) shows whether a gateway has the pepper of the keys. It is too short
  to find the pepper by brute force.
- Each call is one transaction, and sees all commits of other processes.
- Times are UTC in ISO 8601, as text because SQLite has no type for times. Lists are JSON texts.
- Triggers write the change log, in the order of commits. So the log contains every change, even one
  by another version's command line or by an operator's SQL. Updates of the last use are not logged,
  because they would be one entry per key and hour.
- A damaged key is invalid, and does not prevent other keys from being read.
- The change log is never shortened. An edit of a key adds one or two entries of 50 bytes.
- After a rotation, the old secret of a key is valid until the overlap ends. Both secrets are in one
  row. The old secret is read as a key that expires when the overlap ends.
- The column `rights` is NULL if `read_only` and `may_delete` express the rights of a key. Otherwise
  these two columns grant less than `rights`, because earlier versions read only them.
- These columns cannot remove the right to read. So the stored plan of a create-only key has the
  prefix `CREATE_ONLY`. No configured plan has this prefix, so earlier versions reject the key.
- An edit of a key and its author are stored in the same transaction.
"""

import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.settings.database import Database
from gateway.settings.model import ConfigError
from gateway.storage.admin_secrets import AdminSecrets
from gateway.storage.damaged_rows import AsStoredBytes, AsStoredFlag, DamagedRow, Flag, checked
from gateway.storage.database import (
    BIG,
    TIME,
    IdleConnections,
    is_server,
    metadata,
    open_database,
    upsert,
)
from gateway.storage.spent_quota import stored_spent_quota
from gateway.storage.usage import SumsOfUse, begin_of_hour, stored_usage
from gateway.storage.write_ledger import open_ledger
from gateway.storage.write_records import OPEN, OPEN_BATCHES
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from gateway.table.quoting import printable

keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("digest", AsStoredBytes, nullable=False, unique=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("last4", sa.String, nullable=False),
    sa.Column("plan", sa.String, nullable=False),
    sa.Column("spreadsheets", sa.String),
    sa.Column("worksheets", sa.String),
    sa.Column("read_only", AsStoredFlag, nullable=False),
    sa.Column("origins", sa.String, nullable=False),
    sa.Column("created_at", TIME, nullable=False),
    sa.Column("expires_at", TIME),
    sa.Column("revoked_at", TIME),
    sa.Column("readable", sa.String),
    sa.Column("writable", sa.String),
    sa.Column("last_used_at", TIME),
    sa.Column("may_delete", AsStoredFlag, nullable=False, server_default=sa.false()),
    sa.Column("may_refresh", AsStoredFlag, nullable=False, server_default=sa.false()),
    sa.Column("rights", sa.String),
    sa.Column("old_digest", AsStoredBytes),
    sa.Column("old_ends_at", TIME),
    sa.Column("next_url", sa.String, nullable=False, server_default=""),
    sa.Column("needs_challenge", AsStoredFlag, nullable=False, server_default=sa.false()),
)
sa.Index("api_keys_by_old_digest", keys.c.old_digest, unique=True)
key_edits = sa.Table(
    "key_edits",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("key_id", sa.String, nullable=False, index=True),
    sa.Column("at", TIME, nullable=False),
    sa.Column("by", sa.String, nullable=False),
    sa.Column("action", sa.String, nullable=False),
    sa.Column("changes", sa.String, nullable=False),
)
pepper_marks = sa.Table(
    "pepper",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # always 0: one mark
    sa.Column("mark", AsStoredBytes, nullable=False),
)
_key_changes = sa.Table(
    "key_changes",
    metadata,
    sa.Column("number", BIG, primary_key=True),  # SQLite continues from the highest number
    sa.Column("digest", AsStoredBytes, nullable=False),
)

_PUT_MARK = upsert(pepper_marks)
_PAGE_SIZE = 500  # takes about a millisecond of the event loop
_ALWAYS = sa.true()
_SECRETS = (keys.c.digest, keys.c.old_digest)
_RECORD_COLUMNS = [each for each in keys.columns if each not in {*_SECRETS}]
_RECORD_NAMES = [column.name for column in _RECORD_COLUMNS]
_RECORDS = sa.select(*_RECORD_COLUMNS)
_RIGHTS = ("read", "create", "update")
_NAMES = msgspec.json.Decoder(frozenset[str])
_LISTS: Mapping[str, msgspec.json.Decoder[Any]] = {
    **dict.fromkeys(("spreadsheets", "worksheets", "origins", "readable", "writable"), _NAMES),
    "rights": msgspec.json.Decoder(frozenset[Literal["read", "create", "update"]]),
}
"""Decoders by name of each column that contains a JSON list of texts."""
_EXPIRES_AT, _OLD_ENDS_AT = map(_RECORD_NAMES.index, ("expires_at", "old_ends_at"))
_BY_AGE = (keys.c.created_at, keys.c.id)
_OF_USE = ("last4", "last_used_at", "old_ends_at")
_may_count = keys.c.revoked_at.is_(None) & (
    keys.c.expires_at.is_(None) | (keys.c.expires_at > sa.bindparam("expired_by"))
)
# Two look-ups in unique indexes. With OR in the join, the query plan would depend on statistics.
_other = keys.alias("other")
_found_ids = [
    sa.select(_other.c.id).where(column == _key_changes.c.digest).scalar_subquery()
    for column in (_other.c.digest, _other.c.old_digest)
]
_CHANGES = (
    sa.select(
        _key_changes.c.number,
        _key_changes.c.digest,
        _key_changes.c.digest == keys.c.digest,
        *_RECORD_COLUMNS,
    )
    .select_from(
        _key_changes.outerjoin(keys, (keys.c.id == sa.func.coalesce(*_found_ids)) & _may_count)
    )
    .where(_key_changes.c.number >= sa.bindparam("first"))
    .order_by(_key_changes.c.number)
    .limit(_PAGE_SIZE)
)
LONG_EXPIRED = timedelta(days=1)
"""Keys that expired longer ago are not loaded. Others are, in case the clock is set back."""

CREATE_ONLY = "create-only:"
"""Prefix of the stored plan of a key without the right to read."""

Right = Literal["read", "create", "update", "delete"]
"""Right to use rows. `Grants` has a flag for each right."""
RIGHTS: Sequence[Right] = get_args(Right)

StoredKey = tuple[Any, ...]
"""Stored values of a key, in the order of `_RECORD_COLUMNS`. `record_of` decodes them.

This tuple needs less memory than a `KeyRecord`, and no garbage collection.
"""


@dataclass(frozen=True, kw_only=True)
class Grants:
    """Rights and restrictions of an API key."""

    spreadsheets: frozenset[str] | None
    """IDs of the spreadsheets that the key is allowed to use, or None for all."""
    worksheets: frozenset[str] | None = None
    """Titles of the worksheets that the key is allowed to use, or None for all."""
    may_read: bool = True
    """False for a create-only key, which is allowed to create rows, and nothing else."""
    may_create: bool = True
    may_update: bool = True
    origins: frozenset[str] = frozenset()
    """Origins of web pages that can use the key, as `normal_origin` returns them. Empty for all."""
    columns: ColumnGrant = ALL_COLUMNS
    may_delete: bool = False
    """True if the key can delete rows, even with hidden columns. Its plan must allow deletes."""
    may_refresh: bool = False
    """True if the key can report changes of a sheet, so that the gateway reads the rows again."""
    next_url: str = ""
    """URL that a browser opens after sending a form, or "" for the gateway's page."""
    needs_challenge: bool = False
    """True if a create needs a token of Cloudflare Turnstile."""

    @property
    def names(self) -> tuple[object, ...]:
        """All grants that contain names of Google Sheets: spreadsheets, worksheets and fields."""
        return self.spreadsheets, self.worksheets, self.columns

    @property
    def rights(self) -> Sequence[Right]:
        """Rights to use rows, in the order of `RIGHTS`."""
        return [right for right in RIGHTS if getattr(self, f"may_{right}")]


@dataclass(frozen=True, kw_only=True)
class KeyRequest:
    """Fields of a key that an operator decides. `expires_at` None means no expiry."""

    name: str
    plan: str = "paid"
    grants: Grants
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class KeyRecord(KeyRequest):
    """Stored API key. A time is None for "never". `last4` is the end of the present secret."""

    id: str
    last4: str
    created_at: datetime
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    """Start of the hour of the last use."""
    old_ends_at: datetime | None = None
    """Time at which the secret before the last rotation expires, or None."""

    def is_active(self, now: datetime) -> bool:
        """True if the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def state(self, now: datetime) -> Literal["active", "revoked", "expired"]:
        if self.revoked_at is not None:
            return "revoked"
        return "active" if self.is_active(now) else "expired"

    def old_secret_until(self, now: datetime) -> datetime | None:
        """Return the end of the secret before the last rotation, or None if it is not valid."""
        return self.old_ends_at if self.old_ends_at is not None and now < self.old_ends_at else None


EditAction = Literal["created", "updated", "rotated", "ended", "revoked"]
"""Kind of an edit. `ended` means that an operator ended the old secret of a rotation."""


@dataclass(frozen=True, kw_only=True)
class KeyEdit:
    """Edit of a key. `by` is its author or "". `changes` has [old value, new value] by field."""

    key_id: str
    at: datetime
    by: str = ""
    action: EditAction
    changes: Mapping[str, Sequence[object]] = field(default_factory=dict)


class KeyChange(NamedTuple):
    """Entry of the change log for the key with this digest. A later commit has a higher number."""

    number: int
    digest: bytes


def _raise(error: DamagedRow) -> None:
    raise error


class KeyStore:
    """Keys of one database. Use `KeyStore.open` to open the database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._idle = IdleConnections(engine) if is_server(engine) else None
        self.open_ledger = partial(open_ledger, engine)
        self.open_spent_quota = partial(stored_spent_quota, engine)
        self.storing_usage = partial(stored_usage, engine)
        self.usage = SumsOfUse(engine).find
        self.admin_secrets = AdminSecrets(engine)

    @classmethod
    @asynccontextmanager
    async def open(cls, database: Database) -> AsyncIterator["KeyStore"]:
        """Open the database like `open_database`, and close it at the end."""
        async with open_database(database) as engine:
            yield cls(engine)

    async def names(self, key_ids: Collection[str]) -> Mapping[str, str]:
        """Returns the names of keys by key ID, without unknown IDs."""
        known = keys.c.id.in_([printable(each) for each in key_ids])  # no ID has a NUL
        rows = await self._rows(sa.select(keys.c.id, keys.c.name).where(known))
        return {row.id: row.name for row in rows}

    def abort_idle(self) -> None:
        """Close idle connections to PostgreSQL, which can be dead. Later calls connect again."""
        if self._idle is not None:
            self._idle.abort()

    async def add(self, record: KeyRecord, digest: bytes, *, by: str = "") -> None:
        """Store a new key, and log its author `by`. `digest` is the digest of the key's secret."""
        edit = KeyEdit(key_id=record.id, at=record.created_at, by=by, action="created")
        async with self._engine.begin() as connection:
            await connection.execute(sa.insert(keys).values(**_row(record), digest=digest))
            await connection.execute(_log_of(edit))

    async def changes(
        self, last: KeyChange | None, now: datetime
    ) -> Sequence[tuple[KeyChange, StoredKey | None]] | None:
        """Read up to 500 changes after `last`, or from the first change if `last` is None.

        Returns pairs of a change and the present columns of its key, or [] at the end of the log.
        The columns are None if the key is revoked, deleted or `LONG_EXPIRED`. Returns None if the
        log does not contain `last`, because the store was replaced.
        """
        expired_by = (now.astimezone(UTC) - LONG_EXPIRED).isoformat()
        values = {"first": 0 if last is None else last.number, "expired_by": expired_by}
        rows = await self._rows(_CHANGES, values)
        found = [
            (KeyChange(number, digest), _key_of(key, expired_by, is_current=bool(is_current)))
            for number, digest, is_current, *key in rows
        ]
        if last is None:
            return found
        return found[1:] if found and found[0][0] == last else None

    async def revoke(self, key_id: str, now: datetime, *, by: str = "") -> bool:
        """Revoke a key permanently. Returns False if no active key has this ID."""
        edit = KeyEdit(key_id=key_id, at=now, by=by, action="revoked")
        return await self._edit(edit, {"revoked_at": now.isoformat()})

    async def update(self, before: KeyRecord, after: KeyRecord, edit: KeyEdit) -> bool:
        """Store the columns of a key in which `after` differs from `before`, and log `edit`.

        Returns False if another edit has changed or revoked the key since `before` was read.
        Rotations and uses do not count as edits.
        """
        old, new = _row(before), _row(after)
        changed = {name: value for name, value in new.items() if value != old[name]}
        kept = {name: value for name, value in old.items() if name not in _OF_USE}
        return await self._edit(edit, changed, kept)

    async def rotate(self, edit: KeyEdit, digest: bytes, last4: str, ends_at: datetime) -> bool:
        """Give a key a new secret, and log `edit`. The present secret stays valid until `ends_at`.

        `digest` and `last4` (the last four characters) are of the new secret. Returns False if the
        key does not exist, is revoked, or has two valid secrets.
        """
        ends = ends_at.astimezone(UTC).isoformat()
        has_one = keys.c.old_ends_at.is_(None) | (keys.c.old_ends_at <= edit.at.isoformat())
        new = {"digest": digest, "last4": last4, "old_digest": keys.c.digest, "old_ends_at": ends}
        return await self._edit(edit, new, condition=has_one)

    async def end_rotation(self, edit: KeyEdit) -> bool:
        """Delete the old secret of the key `edit.key_id`. Returns False if it has no old secret."""
        nothing = {"old_digest": None, "old_ends_at": None}
        return await self._edit(edit, nothing, condition=keys.c.old_digest.is_not(None))

    async def _edit(
        self,
        edit: KeyEdit,
        changed: Mapping[str, object],
        before: Mapping[str, object] = MappingProxyType({}),
        *,
        condition: sa.ColumnElement[bool] = _ALWAYS,
    ) -> bool:
        """Set the columns `changed` of the key `edit.key_id`, and log the edit.

        Returns False if the key is revoked, if its columns differ from `before`, or if the SQL
        `condition` is false.
        """
        is_meant = (keys.c.id == edit.key_id) & keys.c.revoked_at.is_(None) & condition
        for name, value in before.items():
            is_meant &= keys.c[name].is_not_distinct_from(value)
        async with self._engine.begin() as connection:
            statement = sa.update(keys).where(is_meant).values(**changed)
            if (await connection.execute(statement)).rowcount != 1:
                return False
            await connection.execute(_log_of(edit))
        return True

    async def edits(self, key_id: str | None = None) -> Sequence[KeyEdit]:
        """Returns the edits of one key, or of all keys, the oldest first. Raises DamagedRow."""
        query = sa.select(key_edits).order_by(key_edits.c.at, key_edits.c.id)
        if key_id is not None:
            query = query.where(key_edits.c.key_id == key_id)
        return [_edit_of(row._asdict()) for row in await self._rows(query)]

    async def touch(self, key_id: str, now: datetime) -> None:
        """Store the hour in which a key was used. Writes at most once per hour and key."""
        hour = begin_of_hour(now).isoformat()
        used = keys.c.last_used_at
        is_news = (keys.c.id == key_id) & (used.is_(None) | (used < hour))
        async with self._engine.begin() as connection:
            await connection.execute(sa.update(keys).where(is_news).values(last_used_at=hour))

    async def has_keys(self) -> bool:
        """True if there is a key that is not revoked."""
        query = sa.select(keys.c.id).where(keys.c.revoked_at.is_(None)).limit(1)
        return bool(await self._rows(query))

    async def count(self, now: datetime) -> int:
        """Number of keys that are neither revoked nor expired."""
        query = sa.select(sa.func.count()).select_from(keys).where(_may_count)
        [row] = await self._rows(query, {"expired_by": now.astimezone(UTC).isoformat()})
        count: int = row[0]
        return count

    async def pepper_mark(self) -> bytes | None:
        """Returns the mark (short HMAC) of the pepper of the keys, or None if no mark is stored.

        Raises ConfigError if the mark is damaged.
        """
        marks = [mark for (mark,) in await self._rows(sa.select(pepper_marks.c.mark))]
        if len(marks) > 1 or not all(isinstance(each, bytes) for each in marks):
            raise ConfigError(
                "access.database: the table named pepper is damaged. Delete its rows if the "
                "gateway has the pepper of these keys, or restore the key store from a backup"
            )
        return marks[0] if marks else None

    async def keep_pepper_mark(self, mark: bytes) -> None:
        """Store the mark of the pepper for new keys. Replaces an earlier mark."""
        async with self._engine.begin() as connection:
            await connection.execute(_PUT_MARK, {"id": 0, "mark": mark})

    async def ping(self) -> None:
        """Query one key. Raises one of `STORE_ERRORS` if the database does not answer."""
        await self._rows(sa.select(keys.c.id).limit(1))

    async def check(self) -> None:
        """Run the queries that a gateway runs at its start. Raises SQLAlchemyError."""
        flags = sa.select(sa.func.count(keys.c.may_refresh))
        for query in (_RECORDS.limit(1), flags, OPEN, OPEN_BATCHES):
            await self._rows(query)

    async def find(self, key_id: str) -> KeyRecord | None:
        """Returns the key with this ID, or None if the key does not exist or is damaged."""
        rows = await self._rows(_RECORDS.where(keys.c.id == printable(key_id)))
        return next(iter(_readable(rows, lambda _: None)), None)

    async def list(self, damaged: Callable[[DamagedRow], object] = _raise) -> Sequence[KeyRecord]:
        """Returns all keys, the oldest first. Calls `damaged` with the error of a damaged key."""
        return _readable(await self._rows(_RECORDS.order_by(*_BY_AGE)), damaged)

    async def page(
        self,
        damaged: Callable[[DamagedRow], object],
        *,
        skip: int = 0,
        limit: int,
        text: str = "",
        active_first_at: datetime | None = None,
        is_newest_first: bool = False,
    ) -> tuple[Sequence[KeyRecord], bool]:
        """Returns at most `limit` keys after the first `skip`, and True if more keys follow.

        `text` selects keys by a part of the name, by the ID, or by the last four characters of the
        secret; "" selects all. Keys that are active at `active_first_at` come first, then the
        oldest, or the newest with `is_newest_first`. Calls `damaged` with the error of each damaged
        key, which is left out.
        """
        query = _RECORDS.offset(skip).limit(limit + 1)
        if text:
            sought = printable(text)  # PostgreSQL takes no NUL; no name has one
            is_named = keys.c.name.icontains(sought, autoescape=True)
            query = query.where(is_named | (keys.c.id == sought) | (keys.c.last4 == sought))
        values = {}
        if active_first_at is not None:
            query = query.order_by(_may_count.desc())
            values = {"expired_by": active_first_at.astimezone(UTC).isoformat()}
        query = query.order_by(*([each.desc() for each in _BY_AGE] if is_newest_first else _BY_AGE))
        rows = await self._rows(query, values)
        return _readable(rows[:limit], damaged), len(rows) > limit

    async def _rows(
        self, query: sa.Select[Any], values: Mapping[str, object] = MappingProxyType({})
    ) -> Sequence[sa.Row[*tuple[Any, ...]]]:
        async with self._engine.connect() as connection:
            rows: Sequence[sa.Row[*tuple[Any, ...]]] = (
                await connection.execute(query, values)
            ).all()
        return rows


def _readable(
    rows: Iterable[sa.Row[Any]], damaged: Callable[[DamagedRow], object]
) -> list[KeyRecord]:
    found: list[KeyRecord] = []
    for row in rows:
        try:
            found.append(record_of(tuple(row)))
        except DamagedRow as error:
            damaged(error)
    return found


def _key_of(key: Sequence[Any], expired_by: str, *, is_current: bool) -> StoredKey | None:
    """Returns the stored key for a digest, or None if the key does not exist.

    `key` has the columns of the key, or None values. `is_current` is False for the digest of the
    old secret. Then the returned key expires when the old secret expires, and the result is None if
    that was before `expired_by`.
    """
    if key[0] is None:
        return None
    if is_current:
        return tuple(key)
    ends, expires = key[_OLD_ENDS_AT], key[_EXPIRES_AT]
    if isinstance(ends, str) and isinstance(expires, str | None):
        ends = min(ends, expires or ends)
        if ends <= expired_by:
            return None
    # A damaged time stays as it is, so `record_of` raises DamagedRow.
    found = [*key]
    found[_EXPIRES_AT] = "" if ends is None else ends
    return tuple(found)


def _log_of(edit: KeyEdit) -> sa.Insert:
    at, changes = edit.at.astimezone(UTC).isoformat(), msgspec.json.encode(edit.changes).decode()
    values = {**vars(edit), "id": secrets.token_hex(8), "at": at, "changes": changes}
    return sa.insert(key_edits).values(values)


def _edit_of(row: Mapping[str, Any]) -> KeyEdit:
    values = {str(name): value for name, value in row.items()}  # not SQLAlchemy's kind of text
    try:
        return msgspec.convert({**values, "changes": msgspec.json.decode(row["changes"])}, KeyEdit)
    except (msgspec.MsgspecError, TypeError) as error:
        raise DamagedRow(key_edits, row, "invalid edit of a key") from error


def _row(record: KeyRecord) -> dict[str, object]:
    grants = record.grants
    rights = frozenset(right for right in _RIGHTS if getattr(grants, f"may_{right}"))
    is_by_flags = rights == {*_RIGHTS} or (rights == {"read"} and not grants.may_delete)
    values = {
        **vars(record),
        **vars(grants),
        **vars(grants.columns),
        "plan": record.plan if grants.may_read else CREATE_ONLY + record.plan,
        "read_only": not (grants.may_create and grants.may_update),
        "rights": None if is_by_flags else rights,
    }
    row = {name: values[name] for name in _RECORD_NAMES}
    row |= {name: _json(values[name]) for name in _LISTS}
    return row | {
        name: value.isoformat() for name, value in row.items() if isinstance(value, datetime)
    }


def _kind(column: sa.Column[Any]) -> Any:
    """Python type that a stored value of a column must have."""
    kind: Any = Flag if isinstance(column.type, AsStoredFlag) else str
    if column.name.endswith("_at"):
        kind = Annotated[datetime, msgspec.Meta(tz=True)]
    return kind | None if column.nullable else kind


_GRANTED = [each.name for each in fields(Grants)]
_Key = msgspec.defstruct("_Key", [(str(each.name), _kind(each)) for each in _RECORD_COLUMNS])


def record_of(key: StoredKey) -> KeyRecord:
    """Decode the stored values of a key. Raises DamagedRow."""
    values = dict(zip(_RECORD_NAMES, key, strict=True))
    found: dict[str, Any] = msgspec.structs.asdict(checked(keys, values, _Key))
    try:
        for name, decoder in _LISTS.items():
            if found[name] is not None:
                found[name] = decoder.decode(found[name])
    except msgspec.MsgspecError as error:
        raise DamagedRow(keys, values, "a column is not a JSON list of texts") from error
    is_read_only, rights = found.pop("read_only"), found.pop("rights")
    if rights is None:
        rights = {"read"} if is_read_only else {*_RIGHTS}
        found["may_delete"] = found["may_delete"] and not is_read_only
    if "read" not in rights:
        found["plan"] = found["plan"].removeprefix(CREATE_ONLY)
    for name in ("may_delete", "may_refresh", "needs_challenge"):
        found[name] = bool(found[name])
    found |= {f"may_{right}": right in rights for right in _RIGHTS}
    found["columns"] = ColumnGrant(found.pop("readable"), found.pop("writable"))
    grants = Grants(**{name: found.pop(name) for name in _GRANTED})
    return KeyRecord(grants=grants, **found)


def _json(names: frozenset[str] | None) -> str | None:
    return None if names is None else msgspec.json.encode(sorted(names)).decode()
