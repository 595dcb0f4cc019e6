"""Change log of the key table, in commit order.

Rules:
- Triggers write it, so that it has every change, whoever makes it: the command line of another
  version of the gateway, or an operator's SQL.
- A last use is no change: it would be one for each key in each hour.
- It is never shortened: a key has two entries or so in its life, of 50 bytes.
"""

from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.schema import CreateTable

key_changes = Table(
    "key_changes",
    MetaData(),
    Column("number", Integer, primary_key=True),  # SQLite counts on from the highest
    Column("digest", LargeBinary, nullable=False),
)
_IS_THERE = text("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'key_changes'")
_NEW = (
    CreateTable(key_changes),
    text(
        "CREATE TRIGGER key_added AFTER INSERT ON api_keys BEGIN "
        "INSERT INTO key_changes (digest) VALUES (NEW.digest); END"
    ),
    # REPLACE deletes without the trigger of a deletion (sqlite.org/lang_replace.html).
    text(
        "CREATE TRIGGER key_replaced BEFORE INSERT ON api_keys BEGIN "
        "INSERT INTO key_changes (digest) SELECT digest FROM api_keys WHERE id = NEW.id; END"
    ),
    text(
        "CREATE TRIGGER key_deleted AFTER DELETE ON api_keys BEGIN "
        "INSERT INTO key_changes (digest) VALUES (OLD.digest); END"
    ),
    text("INSERT INTO key_changes (digest) SELECT digest FROM api_keys"),
)


async def prepare_key_changes(connection: AsyncConnection) -> None:
    """Begin the log of a key table that has none, with all of its keys: all or nothing."""
    if await _is_there(connection):
        return
    # Of several who open it at once the others wait here, and then find nothing to do.
    await connection.exec_driver_sql("BEGIN IMMEDIATE")
    if not await _is_there(connection):
        for statement in (*_NEW, await _change_trigger(connection)):
            await connection.execute(statement)


async def _change_trigger(connection: AsyncConnection) -> TextClause:
    """A trigger for updates of all columns but that of the last use, which every use writes."""
    found = await connection.execute(text("PRAGMA table_info(api_keys)"))
    names = ", ".join(f'"{name}"' for _, name, *_ in found if name != "last_used_at")
    return text(
        f"CREATE TRIGGER key_changed AFTER UPDATE OF {names} ON api_keys BEGIN "
        "INSERT INTO key_changes (digest) SELECT OLD.digest UNION SELECT NEW.digest; END"
    )


async def _is_there(connection: AsyncConnection) -> bool:
    return (await connection.execute(_IS_THERE)).first() is not None
