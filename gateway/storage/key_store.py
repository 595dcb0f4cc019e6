"""The key store: a SQLite table of grants by key digest.

The ledger of `gateway.storage.write_ledger` has its table in the same database.

Rules:
- Neither a key nor the pepper is ever in here, nor enough to make one of the other columns.
- What is kept of the pepper tells another one from it, and is too short to find it by trying.
- Each call is one statement in one transaction; what another process commits is seen by the next.
- Instants are UTC; SQLite has no such type, so they are kept as ISO 8601 text.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    bindparam,
    false,
    select,
    type_coerce,
    update,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.schema import CreateColumn, CreateTable

from gateway.storage.database import open_database
from gateway.storage.key_changes import key_changes, prepare_key_changes
from gateway.storage.write_ledger import DEFAULT_BYTES, SqlLedger, open_ledger
from gateway.storage.write_records import TABLES
from gateway.table.view import ALL_COLUMNS, ColumnGrant

_keys = Table(
    "api_keys",
    MetaData(),
    Column("id", String, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("name", String, nullable=False),
    Column("last4", String, nullable=False),
    Column("plan", String, nullable=False),
    Column("spreadsheets", JSON(none_as_null=True)),
    Column("worksheets", JSON(none_as_null=True)),
    Column("read_only", Boolean, nullable=False),
    Column("origins", JSON, nullable=False),
    Column("created_at", String, nullable=False),
    Column("expires_at", String),
    Column("revoked_at", String),
    Column("readable", JSON(none_as_null=True)),
    Column("writable", JSON(none_as_null=True)),
    Column("formulas", Boolean, nullable=False, server_default=false()),
    Column("last_used_at", String),
)
_pepper = Table(
    "pepper",
    MetaData(),
    Column("id", Integer, primary_key=True),  # 0: there is one pepper
    Column("mark", LargeBinary, nullable=False),
)
_PAGE_SIZE = 500  # read in about a millisecond of the event loop
_RECORD_COLUMNS = [
    type_coerce(column, String).label(column.name) if isinstance(column.type, JSON) else column
    for column in _keys.columns
    if column.name != "digest"
]
_RECORD_NAMES = [column.name for column in _RECORD_COLUMNS]
_may_count = _keys.c.revoked_at.is_(None) & (
    _keys.c.expires_at.is_(None) | (_keys.c.expires_at > bindparam("long_ago"))
)
_CHANGES = (
    select(key_changes.c.number, key_changes.c.digest, *_RECORD_COLUMNS)
    .select_from(
        key_changes.outerjoin(_keys, (key_changes.c.digest == _keys.c.digest) & _may_count)
    )
    .where(key_changes.c.number >= bindparam("first"))
    .order_by(key_changes.c.number)
    .limit(_PAGE_SIZE)
)
LONG_EXPIRED = timedelta(days=1)
"""Keys that expired longer ago never count; those of late may, if the clock is set back."""

StoredKey = tuple[Any, ...]
"""A key as it lies in the table, for `record_of`: texts and numbers, which take little memory, and
none of the garbage collector's time."""


@dataclass(frozen=True, kw_only=True)
class KeyRecord:
    """What is known of a key; `None` is any spreadsheet, all worksheets, never.

    `last_used_at` is the hour of the last use.
    """

    id: str
    name: str
    last4: str
    plan: str
    spreadsheets: frozenset[str] | None
    worksheets: frozenset[str] | None
    read_only: bool
    origins: frozenset[str]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    columns: ColumnGrant = ALL_COLUMNS
    formulas: bool = False
    last_used_at: datetime | None = None


class KeyChange(NamedTuple):
    """A change of a key: they are numbered in the order of commits; `digest` is the key's."""

    number: int
    digest: bytes


class KeyStore:
    """The keys of one database; made by `KeyStore.open`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @classmethod
    @asynccontextmanager
    async def open(cls, database: Path) -> AsyncIterator["KeyStore"]:
        """Opens the store, making file and tables where they are not there, and closes it.

        A store that an earlier version made gets the columns that it lacks.
        Raises `ConfigError` for a file that cannot be had or is no key store.
        """
        async with open_database(database, _prepare) as engine:
            yield cls(engine)

    def open_ledger(
        self,
        clock: Callable[[], float],
        *,
        longest_call_seconds: float = 0.0,
        max_bytes: int = DEFAULT_BYTES,
    ) -> AbstractAsyncContextManager[SqlLedger]:
        """Opens the ledger beside the keys; `clock` gives seconds since the epoch.

        `longest_call_seconds`: so long after its note may a write leave for Google. `max_bytes` is
        what the records may take on disk.
        """
        return open_ledger(
            self._engine, clock, longest_call_seconds=longest_call_seconds, max_bytes=max_bytes
        )

    async def add(self, record: KeyRecord, digest: bytes) -> None:
        """Keeps a new key."""
        async with self._engine.begin() as connection:
            await connection.execute(insert(_keys).values(**_row(record), digest=digest))

    async def changes(
        self, last: KeyChange | None, now: datetime
    ) -> Sequence[tuple[KeyChange, StoredKey | None]] | None:
        """Some changes after the last one known, each with the key as it is now; none at the end.

        The key is None if it is revoked, deleted or `LONG_EXPIRED`. Without a last change they
        begin with the first. Gives None if the last one is none of this store: it was replaced.
        """
        values = {
            "first": 0 if last is None else last.number,
            "long_ago": (now.astimezone(UTC) - LONG_EXPIRED).isoformat(),
        }
        async with self._engine.connect() as connection:
            rows = (await connection.execute(_CHANGES, values)).all()
        found = [
            (KeyChange(number, digest), None if key[0] is None else tuple(key))
            for number, digest, *key in rows
        ]
        if last is None:
            return found
        return found[1:] if found and found[0][0] == last else None

    async def revoke(self, key_id: str, now: datetime) -> bool:
        """Revokes a key for ever; False if there is none of this id, or it was revoked already."""
        is_valid = (_keys.c.id == key_id) & _keys.c.revoked_at.is_(None)
        statement = update(_keys).where(is_valid).values(revoked_at=now.isoformat())
        async with self._engine.begin() as connection:
            return (await connection.execute(statement)).rowcount == 1

    async def touch(self, key_id: str, now: datetime) -> None:
        """Notes that a key is used, to the hour: at most one change an hour."""
        hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0).isoformat()
        used = _keys.c.last_used_at
        is_news = (_keys.c.id == key_id) & (used.is_(None) | (used < hour))
        async with self._engine.begin() as connection:
            await connection.execute(update(_keys).where(is_news).values(last_used_at=hour))

    async def has_keys(self) -> bool:
        """Whether there is a key that is not revoked."""
        query = select(_keys.c.id).where(_keys.c.revoked_at.is_(None)).limit(1)
        async with self._engine.connect() as connection:
            return (await connection.execute(query)).first() is not None

    async def pepper_mark(self) -> bytes | None:
        """The mark of the pepper that the keys were made with; None if that is not known."""
        async with self._engine.connect() as connection:
            return (await connection.execute(select(_pepper.c.mark))).scalar_one_or_none()

    async def keep_pepper_mark(self, mark: bytes) -> None:
        """Keeps the mark of the pepper that keys are made with from now on."""
        statement = insert(_pepper).values(id=0, mark=mark)
        change = statement.on_conflict_do_update(index_elements=["id"], set_={"mark": mark})
        async with self._engine.begin() as connection:
            await connection.execute(change)

    async def ping(self) -> None:
        """Returns if keys can be looked up now, and raises otherwise."""
        async with self._engine.connect() as connection:
            await connection.execute(select(_keys.c.id).limit(1))

    async def list(self) -> Sequence[KeyRecord]:
        """All keys, the oldest first."""
        query = select(*_RECORD_COLUMNS).order_by(_keys.c.created_at, _keys.c.id)
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        return [record_of(tuple(row)) for row in rows]


async def _prepare(connection: AsyncConnection) -> None:
    own = (CreateTable(_keys, if_not_exists=True), CreateTable(_pepper, if_not_exists=True))
    for statement in (*own, *TABLES):
        await connection.execute(statement)
    await connection.commit()
    await _add_columns(connection)
    await connection.commit()
    await prepare_key_changes(connection)
    await connection.commit()


async def _add_columns(connection: AsyncConnection) -> None:
    """Add what later versions know of a key to the table of an earlier one."""
    if not await _missing_columns(connection):
        return
    # Of several who open it at once the others wait here, and then find nothing to do.
    await connection.exec_driver_sql("BEGIN IMMEDIATE")
    for column in await _missing_columns(connection):
        definition = CreateColumn(column).compile(dialect=connection.dialect)
        await connection.exec_driver_sql(f"ALTER TABLE {_keys.name} ADD COLUMN {definition}")


async def _missing_columns(connection: AsyncConnection) -> list[Column[Any]]:
    found = await connection.exec_driver_sql(f"PRAGMA table_info({_keys.name})")
    names = {row.name for row in found}
    return [column for column in _keys.columns if column.name not in names]


def _row(record: KeyRecord) -> dict[str, object]:
    return {
        "id": record.id,
        "name": record.name,
        "last4": record.last4,
        "plan": record.plan,
        "spreadsheets": _sorted(record.spreadsheets),
        "worksheets": _sorted(record.worksheets),
        "read_only": record.read_only,
        "origins": sorted(record.origins),
        "created_at": record.created_at.isoformat(),
        "expires_at": record.expires_at and record.expires_at.isoformat(),
        "revoked_at": record.revoked_at and record.revoked_at.isoformat(),
        "readable": _sorted(record.columns.readable),
        "writable": _sorted(record.columns.writable),
        "formulas": record.formulas,
        "last_used_at": record.last_used_at and record.last_used_at.isoformat(),
    }


def record_of(key: StoredKey) -> KeyRecord:
    """What is known of a stored key; ValueError if somebody has spoiled it by hand."""
    values = dict(zip(_RECORD_NAMES, key, strict=True))
    columns = ColumnGrant(_set(values.pop("readable")), _set(values.pop("writable")))
    return KeyRecord(
        **values
        | {
            "spreadsheets": _set(values["spreadsheets"]),
            "worksheets": _set(values["worksheets"]),
            "origins": _set(values["origins"]),
            "created_at": datetime.fromisoformat(values["created_at"]),
            "expires_at": _instant(values["expires_at"]),
            "revoked_at": _instant(values["revoked_at"]),
            "columns": columns,
            "last_used_at": _instant(values["last_used_at"]),
        }
    )


def _sorted(names: frozenset[str] | None) -> Sequence[str] | None:
    return None if names is None else sorted(names)


def _set(names: str | None) -> frozenset[str] | None:
    return None if names is None else msgspec.json.decode(names, type=frozenset[str])


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
