"""Key store: a table of grants by key digest, and a log of its changes.

The write ledger (`gateway.storage.write_ledger`) is in the same database.

Rules:
- The store contains neither a key nor the pepper, nor enough to derive one from the other columns.
- The stored mark of the pepper detects another pepper, and is too short to find the pepper by brute
  force.
- Each call is one transaction, and sees all commits of other processes.
- Times are UTC, stored as ISO 8601 text, because SQLite has no such type; lists as JSON text.
- Triggers write the change log, in commit order. So it contains every change, even by another
  version's command line or by an operator's SQL. Updates of the last use are not logged: they would
  be one entry per key and hour.
- A damaged key is invalid, and does not prevent the reading of others.
- The change log is never shortened: an edit of a key adds one or two entries of 50 bytes.
- While a rotation overlaps, two secrets have one record. The old one is read as a key that expires
  when the overlap ends.
- `rights` is None if the flags express the rights. Otherwise the flags are narrower than `rights`,
  because earlier versions know only the flags.
- No flag removes the right to read. So the stored plan of a create-only key begins with
  `CREATE_ONLY`, which no plan of a configuration does: earlier versions refuse the key.
- Each edit of a key is stored with its author, in the same transaction.
"""

import secrets
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    Index,
    Insert,
    Integer,
    Row,
    RowMapping,
    Select,
    String,
    Table,
    bindparam,
    false,
    func,
    insert,
    select,
    true,
    update,
)
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.google.quota import SpentQuota
from gateway.settings.database import Database
from gateway.settings.model import ConfigError
from gateway.storage.admin_secrets import AdminSecrets
from gateway.storage.damaged_rows import AsStoredBytes, AsStoredFlag, DamagedRow, Flag, checked
from gateway.storage.database import (
    BIG,
    IdleConnections,
    is_server,
    metadata,
    open_database,
    upsert,
)
from gateway.storage.spent_quota import stored_spent_quota
from gateway.storage.usage import HourOfUse, SumsOfUse, find_usage, stored_usage
from gateway.storage.write_ledger import DEFAULT_BYTES, SqlLedger, open_ledger
from gateway.storage.write_records import OPEN, OPEN_BATCHES
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from gateway.table.quoting import printable

keys = Table(
    "api_keys",
    metadata,
    Column("id", String, primary_key=True),
    Column("digest", AsStoredBytes, nullable=False, unique=True),
    Column("name", String, nullable=False),
    Column("last4", String, nullable=False),
    Column("plan", String, nullable=False),
    Column("spreadsheets", String),
    Column("worksheets", String),
    Column("read_only", AsStoredFlag, nullable=False),
    Column("origins", String, nullable=False),
    Column("created_at", String, nullable=False),
    Column("expires_at", String),
    Column("revoked_at", String),
    Column("readable", String),
    Column("writable", String),
    Column("last_used_at", String),
    Column("may_delete", AsStoredFlag, nullable=False, server_default=false()),
    Column("may_refresh", AsStoredFlag, nullable=False, server_default=false()),
    Column("rights", String),
    Column("old_digest", AsStoredBytes),
    Column("old_ends_at", String),
    Column("next_url", String, nullable=False, server_default=""),
    Column("needs_challenge", AsStoredFlag, nullable=False, server_default=false()),
)
Index("api_keys_by_old_digest", keys.c.old_digest, unique=True)
key_edits = Table(
    "key_edits",
    metadata,
    Column("id", String, primary_key=True),
    Column("key_id", String, nullable=False, index=True),
    Column("at", String, nullable=False),
    Column("by", String, nullable=False),
    Column("action", String, nullable=False),
    Column("changes", String, nullable=False),
)
pepper_marks = Table(
    "pepper",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 0: there is one pepper
    Column("mark", AsStoredBytes, nullable=False),
)
_key_changes = Table(
    "key_changes",
    metadata,
    Column("number", BIG, primary_key=True),  # SQLite continues from the highest number
    Column("digest", AsStoredBytes, nullable=False),
)

_PUT_MARK = upsert(pepper_marks)
_PAGE_SIZE = 500  # takes about a millisecond of the event loop
_ALWAYS = true()
_SECRETS = (keys.c.digest, keys.c.old_digest)
_RECORD_COLUMNS = [each for each in keys.columns if each not in {*_SECRETS}]
_RECORD_NAMES = [column.name for column in _RECORD_COLUMNS]
_EXPIRES_AT, _OLD_ENDS_AT = map(_RECORD_NAMES.index, ("expires_at", "old_ends_at"))
_BY_AGE = (keys.c.created_at, keys.c.id)
_OF_USE = ("last4", "last_used_at", "old_ends_at")
_may_count = keys.c.revoked_at.is_(None) & (
    keys.c.expires_at.is_(None) | (keys.c.expires_at > bindparam("expired_by"))
)
# Two look-ups in unique indexes: with OR in the join, the plan would depend on statistics.
_other = keys.alias("other")
_found_ids = [
    select(_other.c.id).where(column == _key_changes.c.digest).scalar_subquery()
    for column in (_other.c.digest, _other.c.old_digest)
]
_CHANGES = (
    select(
        _key_changes.c.number,
        _key_changes.c.digest,
        _key_changes.c.digest == keys.c.digest,
        *_RECORD_COLUMNS,
    )
    .select_from(
        _key_changes.outerjoin(keys, (keys.c.id == func.coalesce(*_found_ids)) & _may_count)
    )
    .where(_key_changes.c.number >= bindparam("first"))
    .order_by(_key_changes.c.number)
    .limit(_PAGE_SIZE)
)
LONG_EXPIRED = timedelta(days=1)
"""Keys that expired longer ago are never valid; later ones may be if the clock is set back."""

CREATE_ONLY = "create-only:"
"""Prefix of the stored plan of a key that may not read."""

Right = Literal["read", "create", "update", "delete"]
"""A right to use rows. `Grants` has a flag for each."""
RIGHTS: Sequence[Right] = get_args(Right)

StoredKey = tuple[Any, ...]
"""A key as stored, for `record_of`.

Texts and numbers need little memory and no garbage collection.
"""


@dataclass(frozen=True, kw_only=True)
class Grants:
    """Grants of a key. `None` means any spreadsheet or all worksheets; no origins mean any origin.

    A key that may not read is a create-only key: it may create, and nothing else.
    `may_delete`: whole rows may be deleted, also with columns that the key does not see, if the
    plan allows it.
    `may_refresh`: changes of the sheet may be reported, so that rows are read again.
    `next_url`: the page to which a browser goes after a form, "" for the gateway's own.
    `needs_challenge`: creates need a token of Cloudflare Turnstile.
    Origins of a stored key have the form of `gateway.access.caller.normal_origin`.
    """

    spreadsheets: frozenset[str] | None
    worksheets: frozenset[str] | None = None
    may_read: bool = True
    may_create: bool = True
    may_update: bool = True
    origins: frozenset[str] = frozenset()
    columns: ColumnGrant = ALL_COLUMNS
    may_delete: bool = False
    may_refresh: bool = False
    next_url: str = ""
    needs_challenge: bool = False

    @property
    def names(self) -> tuple[object, ...]:
        """Spreadsheets, worksheets and fields, which must exist in Google."""
        return self.spreadsheets, self.worksheets, self.columns

    @property
    def rights(self) -> Sequence[Right]:
        """The rights to use rows, in the order of `RIGHTS`."""
        return [right for right in RIGHTS if getattr(self, f"may_{right}")]


@dataclass(frozen=True, kw_only=True)
class KeyRecord:
    """A stored key. `None` means never; `last_used_at` is rounded down to the hour.

    `old_ends_at` is the end of the secret before the last rotation, None without one.
    """

    id: str
    name: str
    last4: str
    plan: str
    grants: Grants
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    old_ends_at: datetime | None = None

    def is_active(self, now: datetime) -> bool:
        """True if the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def state(self, now: datetime) -> Literal["active", "revoked", "expired"]:
        if self.revoked_at is not None:
            return "revoked"
        return "active" if self.is_active(now) else "expired"

    def has_old_secret(self, now: datetime) -> bool:
        """True while the secret before the last rotation is valid."""
        return self.old_ends_at is not None and now < self.old_ends_at


EditAction = Literal["created", "updated", "rotated", "ended", "revoked"]
"""Kind of an edit; `ended` means that the old secret of a rotation is no longer valid."""


@dataclass(frozen=True, kw_only=True)
class KeyEdit:
    """An edit of a key: its author, and each changed field with its values before and after."""

    key_id: str
    at: datetime
    by: str = ""
    action: EditAction
    changes: Mapping[str, Sequence[object]] = field(default_factory=dict)


class KeyChange(NamedTuple):
    """A change of the key with this digest; numbers follow the order of commits."""

    number: int
    digest: bytes


def _raise(error: DamagedRow) -> None:
    raise error


class KeyStore:
    """The keys of one database. Use `KeyStore.open`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._idle = IdleConnections(engine) if is_server(engine) else None
        self.usage_by = SumsOfUse(engine).find

    @classmethod
    @asynccontextmanager
    async def open(cls, database: Database) -> AsyncIterator["KeyStore"]:
        """Open the store as `open_database` does, and close it at the end."""
        async with open_database(database) as engine:
            yield cls(engine)

    def open_ledger(
        self,
        clock: Callable[[], float],
        *,
        max_bytes: int = DEFAULT_BYTES,
    ) -> AbstractAsyncContextManager[SqlLedger]:
        """Open the write ledger of this database; `clock` returns seconds since the epoch.

        `max_bytes` limits the disk space of the records.
        """
        return open_ledger(self._engine, clock, max_bytes=max_bytes)

    def open_spent_quota(self, account: str) -> AbstractAsyncContextManager[SpentQuota]:
        """Open the quota of an account that earlier processes with this database spent."""
        return stored_spent_quota(self._engine, account)

    def storing_usage(
        self, now: Callable[[], datetime]
    ) -> AbstractAsyncContextManager[Callable[[], Awaitable[None]]]:
        """Store the use of keys by this process during the block, as `stored_usage` does."""
        return stored_usage(self._engine, now)

    async def usage(self, since: datetime, key_id: str | None = None) -> Sequence[HourOfUse]:
        """The use of one key or of all, as `find_usage` finds it."""
        return await find_usage(self._engine, since, key_id)

    async def names(self, key_ids: Collection[str]) -> Mapping[str, str]:
        """The names of those keys that exist, by their IDs."""
        known = keys.c.id.in_([printable(each) for each in key_ids])  # no ID has a NUL
        query = select(keys.c.id, keys.c.name).where(known)
        async with self._engine.connect() as connection:
            found = await connection.execute(query)
        return {row.id: row.name for row in found}

    @property
    def admin_secrets(self) -> AdminSecrets:
        """The secrets of administrators in this database."""
        return AdminSecrets(self._engine)

    def abort_idle(self) -> None:
        """Abort idle connections to a server, which may be dead; later calls reconnect."""
        if self._idle is not None:
            self._idle.abort()

    async def add(self, record: KeyRecord, digest: bytes, *, by: str = "") -> None:
        """Store a new key that `by` created."""
        edit = KeyEdit(key_id=record.id, at=record.created_at, by=by, action="created")
        async with self._engine.begin() as connection:
            await connection.execute(insert(keys).values(**_row(record), digest=digest))
            await connection.execute(_log_of(edit))

    async def changes(
        self, last: KeyChange | None, now: datetime
    ) -> Sequence[tuple[KeyChange, StoredKey | None]] | None:
        """A page of changes after `last`, each with the key's current state; empty at the end.

        The key is None if it is revoked, deleted or `LONG_EXPIRED`. The key of an old secret
        expires with the secret. Without `last` the page starts at the first change. Returns None if
        this store does not contain `last`, because the store was replaced.
        """
        expired_by = (now.astimezone(UTC) - LONG_EXPIRED).isoformat()
        values = {"first": 0 if last is None else last.number, "expired_by": expired_by}
        async with self._engine.connect() as connection:
            rows = (await connection.execute(_CHANGES, values)).all()
        found = [
            (KeyChange(number, digest), _key_of(key, expired_by, is_current=bool(is_current)))
            for number, digest, is_current, *key in rows
        ]
        if last is None:
            return found
        return found[1:] if found and found[0][0] == last else None

    async def revoke(self, key_id: str, now: datetime, *, by: str = "") -> bool:
        """Revoke a key permanently; False if it does not exist or is already revoked."""
        edit = KeyEdit(key_id=key_id, at=now, by=by, action="revoked")
        return await self._edit(edit, {"revoked_at": now.isoformat()})

    async def update(self, before: KeyRecord, after: KeyRecord, edit: KeyEdit) -> bool:
        """Store changed columns of a key; False if a concurrent edit changed any or revoked it.

        Rotations and uses do not count as edits here.
        """
        old, new = _row(before), _row(after)
        changed = {name: value for name, value in new.items() if value != old[name]}
        kept = {name: value for name, value in old.items() if name not in _OF_USE}
        return await self._edit(edit, changed, kept)

    async def rotate(
        self, key_id: str, digest: bytes, last4: str, ends_at: datetime, edit: KeyEdit
    ) -> bool:
        """Give a key a new secret; the present one stays valid until `ends_at`.

        Returns False if the key does not exist or is revoked, or if its old secret is still valid:
        a third secret would end it early.
        """
        ends = ends_at.astimezone(UTC).isoformat()
        has_one = keys.c.old_ends_at.is_(None) | (keys.c.old_ends_at <= edit.at.isoformat())
        new = {"digest": digest, "last4": last4, "old_digest": keys.c.digest, "old_ends_at": ends}
        return await self._edit(edit, new, condition=has_one)

    async def end_rotation(self, edit: KeyEdit) -> bool:
        """End the old secret of a key at once; False if there is none."""
        nothing = {"old_digest": None, "old_ends_at": None}
        return await self._edit(edit, nothing, condition=keys.c.old_digest.is_not(None))

    async def _edit(
        self,
        edit: KeyEdit,
        changed: Mapping[str, object],
        before: Mapping[str, object] = MappingProxyType({}),
        *,
        condition: ColumnElement[bool] = _ALWAYS,
    ) -> bool:
        """Change columns of an unrevoked key if it has the values `before`; False if it has not."""
        is_meant = (keys.c.id == edit.key_id) & keys.c.revoked_at.is_(None) & condition
        for name, value in before.items():
            is_meant &= keys.c[name].is_not_distinct_from(value)
        async with self._engine.begin() as connection:
            statement = update(keys).where(is_meant).values(**changed)
            if (await connection.execute(statement)).rowcount != 1:
                return False
            await connection.execute(_log_of(edit))
        return True

    async def edits(self, key_id: str | None = None) -> Sequence[KeyEdit]:
        """The edits of one key or of all, oldest first."""
        query = select(key_edits).order_by(key_edits.c.at, key_edits.c.id)
        if key_id is not None:
            query = query.where(key_edits.c.key_id == key_id)
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return [_edit_of(row) for row in rows]

    async def touch(self, key_id: str, now: datetime) -> None:
        """Store the time of a key's use; writes at most once per hour."""
        hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0).isoformat()
        used = keys.c.last_used_at
        is_news = (keys.c.id == key_id) & (used.is_(None) | (used < hour))
        async with self._engine.begin() as connection:
            await connection.execute(update(keys).where(is_news).values(last_used_at=hour))

    async def has_keys(self) -> bool:
        """True if any key is not revoked."""
        query = select(keys.c.id).where(keys.c.revoked_at.is_(None)).limit(1)
        async with self._engine.connect() as connection:
            return (await connection.execute(query)).first() is not None

    async def count(self, now: datetime) -> int:
        """The number of keys that are neither revoked nor expired."""
        query = select(func.count()).select_from(keys).where(_may_count)
        async with self._engine.connect() as connection:
            found = await connection.scalar(query, {"expired_by": now.astimezone(UTC).isoformat()})
        return found or 0

    async def pepper_mark(self) -> bytes | None:
        """The mark of the pepper used for the keys; None if unknown. Raises ConfigError."""
        async with self._engine.connect() as connection:
            marks = (await connection.execute(select(pepper_marks.c.mark))).scalars().all()
        if len(marks) > 1 or not all(isinstance(each, bytes) for each in marks):
            raise ConfigError(
                "access.database: the table pepper of it is damaged: delete its rows if the "
                "pepper is the right one, or restore the key store from a backup"
            )
        return marks[0] if marks else None

    async def keep_pepper_mark(self, mark: bytes) -> None:
        """Store the mark of the pepper used for new keys."""
        async with self._engine.begin() as connection:
            await connection.execute(_PUT_MARK, {"id": 0, "mark": mark})

    async def ping(self) -> None:
        """Raise one of `STORE_ERRORS` unless keys can be looked up."""
        async with self._engine.connect() as connection:
            await connection.execute(select(keys.c.id).limit(1))

    async def check(self) -> None:
        """Test all queries of the gateway's start. Raises SQLAlchemyError."""
        async with self._engine.connect() as connection:
            columns = select(*_RECORD_COLUMNS).limit(1)
            for query in (columns, select(func.count(keys.c.may_refresh)), OPEN, OPEN_BATCHES):
                (await connection.execute(query)).all()

    async def find(self, key_id: str) -> KeyRecord | None:
        """The key with this ID; None if there is none, or if it cannot be read."""
        rows = await self._rows(select(*_RECORD_COLUMNS).where(keys.c.id == printable(key_id)))
        return next(iter(_readable(rows, lambda _: None)), None)

    async def list(self, damaged: Callable[[DamagedRow], object] = _raise) -> Sequence[KeyRecord]:
        """All keys, oldest first; those that cannot be read are passed to `damaged`."""
        return _readable(await self._rows(select(*_RECORD_COLUMNS).order_by(*_BY_AGE)), damaged)

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
        """At most `limit` keys as in `list`, and whether more follow.

        `text` is a part of their names, an ID, or the last four characters of a key.
        `active_first_at` puts those first that are active at this time.
        """
        query = select(*_RECORD_COLUMNS).offset(skip).limit(limit + 1)
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
        self, query: Select[Any], values: Mapping[str, object] = MappingProxyType({})
    ) -> Sequence[Row[Any]]:
        async with self._engine.connect() as connection:
            found: Sequence[Row[Any]] = (await connection.execute(query, values)).all()
        return found


def _readable(rows: Iterable[Row[Any]], damaged: Callable[[DamagedRow], object]) -> list[KeyRecord]:
    found: list[KeyRecord] = []
    for row in rows:
        try:
            found.append(record_of(tuple(row)))
        except DamagedRow as error:
            damaged(error)
    return found


def _key_of(key: Sequence[Any], expired_by: str, *, is_current: bool) -> StoredKey | None:
    """The stored key of one of its secrets; None if the key or the secret does not exist.

    An old secret's key expires with the secret or earlier. None if that was before `expired_by`.
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
    # A damaged time stays as it is, and so the row is refused.
    found = [*key]
    found[_EXPIRES_AT] = "" if ends is None else ends
    return tuple(found)


def _log_of(edit: KeyEdit) -> Insert:
    return insert(key_edits).values(
        id=secrets.token_hex(8),
        key_id=edit.key_id,
        at=edit.at.astimezone(UTC).isoformat(),
        by=edit.by,
        action=edit.action,
        changes=msgspec.json.encode(edit.changes).decode(),
    )


def _edit_of(row: RowMapping) -> KeyEdit:
    """Decode a stored edit. Raises DamagedRow."""
    values = {str(name): value for name, value in row.items() if name != "id"}
    try:
        return msgspec.convert({**values, "changes": msgspec.json.decode(row["changes"])}, KeyEdit)
    except (msgspec.MsgspecError, TypeError) as error:
        raise DamagedRow(key_edits, row, "invalid edit of a key") from error


def _row(record: KeyRecord) -> dict[str, object]:
    grants = record.grants
    may = dict(zip(_RIGHTS, (grants.may_read, grants.may_create, grants.may_update), strict=True))
    rights = frozenset(right for right, has_it in may.items() if has_it)
    is_by_flags = rights == {*_RIGHTS} or (rights == {"read"} and not grants.may_delete)
    return {
        "id": record.id,
        "name": record.name,
        "last4": record.last4,
        "plan": record.plan if grants.may_read else CREATE_ONLY + record.plan,
        "spreadsheets": _json(grants.spreadsheets),
        "worksheets": _json(grants.worksheets),
        "read_only": not (grants.may_create and grants.may_update),
        "origins": _json(grants.origins),
        "created_at": record.created_at.isoformat(),
        "expires_at": record.expires_at and record.expires_at.isoformat(),
        "revoked_at": record.revoked_at and record.revoked_at.isoformat(),
        "readable": _json(grants.columns.readable),
        "writable": _json(grants.columns.writable),
        "last_used_at": record.last_used_at and record.last_used_at.isoformat(),
        "may_delete": grants.may_delete,
        "may_refresh": grants.may_refresh,
        "rights": None if is_by_flags else _json(rights),
        "old_ends_at": record.old_ends_at and record.old_ends_at.isoformat(),
        "next_url": grants.next_url,
        "needs_challenge": grants.needs_challenge,
    }


_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class _Key(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a key."""

    id: str
    name: str
    last4: str
    plan: str
    spreadsheets: str | None
    worksheets: str | None
    read_only: Flag
    origins: str
    created_at: _Time
    expires_at: _Time | None
    revoked_at: _Time | None
    readable: str | None
    writable: str | None
    last_used_at: _Time | None
    may_delete: Flag
    may_refresh: Flag
    rights: str | None
    old_ends_at: _Time | None
    next_url: str
    needs_challenge: Flag


def record_of(key: StoredKey) -> KeyRecord:
    """Decode a stored key. Raises DamagedRow."""
    values = dict(zip(_RECORD_NAMES, key, strict=True))
    stored = checked(keys, values, _Key)
    rights: Collection[str] = ("read",) if stored.read_only else _RIGHTS
    may_delete = bool(stored.may_delete) and (stored.rights is not None or not stored.read_only)
    try:
        if stored.rights is not None:
            rights = _RIGHTS_DECODER.decode(stored.rights)
        return KeyRecord(
            id=stored.id,
            name=stored.name,
            last4=stored.last4,
            plan=stored.plan if "read" in rights else stored.plan.removeprefix(CREATE_ONLY),
            grants=Grants(
                spreadsheets=_set(stored.spreadsheets),
                worksheets=_set(stored.worksheets),
                may_read="read" in rights,
                may_create="create" in rights,
                may_update="update" in rights,
                origins=_set(stored.origins) or frozenset(),
                columns=ColumnGrant(_set(stored.readable), _set(stored.writable)),
                may_delete=may_delete,
                may_refresh=bool(stored.may_refresh),
                next_url=stored.next_url,
                needs_challenge=bool(stored.needs_challenge),
            ),
            created_at=stored.created_at,
            expires_at=stored.expires_at,
            revoked_at=stored.revoked_at,
            last_used_at=stored.last_used_at,
            old_ends_at=stored.old_ends_at,
        )
    except msgspec.MsgspecError as error:
        raise DamagedRow(keys, values, "a list in it is not a JSON list of texts") from error


_RIGHTS = ("read", "create", "update")
_RIGHTS_DECODER = msgspec.json.Decoder(frozenset[Literal["read", "create", "update"]])


def _json(names: frozenset[str] | None) -> str | None:
    return None if names is None else msgspec.json.encode(sorted(names)).decode()


def _set(names: str | None) -> frozenset[str] | None:
    return None if names is None else msgspec.json.decode(names, type=frozenset[str])
