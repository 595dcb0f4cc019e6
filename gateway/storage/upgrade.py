"""Creation and upgrade of the database schema, in a transaction of the caller.

A new store gets the tables of this version, and counts as migrated. Alembic's migrations upgrade
older stores, so each change of a table or trigger needs a migration. No release has needed one.
"""

from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from gateway.storage import worksheet_rows  # noqa: F401 - its table
from gateway.storage.database import metadata
from gateway.storage.key_store import keys
from gateway.storage.write_records import PARTIAL_INDEXES

MIGRATIONS = Path(__file__).with_name("migrations")

# All columns but `last_used_at`, which every use writes.
_CHANGING = ", ".join(f'"{each.name}"' for each in keys.columns if each.name != "last_used_at")
# Logs a change of both digests of a key.
_OF_NEW = (
    "INSERT INTO key_changes (digest) SELECT digest FROM "
    "(SELECT NEW.digest AS digest UNION SELECT NEW.old_digest) WHERE digest IS NOT NULL"
)
_SQLITE_TRIGGERS = (
    f"CREATE TRIGGER key_added AFTER INSERT ON api_keys BEGIN {_OF_NEW}; END",
    # REPLACE deletes without the trigger of a deletion (sqlite.org/lang_replace.html).
    "CREATE TRIGGER key_replaced BEFORE INSERT ON api_keys BEGIN "
    "INSERT INTO key_changes (digest) SELECT digest FROM api_keys WHERE id = NEW.id "
    "UNION SELECT old_digest FROM api_keys WHERE id = NEW.id AND old_digest IS NOT NULL; END",
    "CREATE TRIGGER key_deleted AFTER DELETE ON api_keys BEGIN "
    f"{_OF_NEW.replace('NEW.', 'OLD.')}; END",
    f"CREATE TRIGGER key_changed AFTER UPDATE OF {_CHANGING} ON api_keys BEGIN "  # noqa: S608
    "INSERT INTO key_changes (digest) SELECT digest FROM (SELECT OLD.digest AS digest "
    "UNION SELECT OLD.old_digest UNION SELECT NEW.digest UNION SELECT NEW.old_digest) "
    "WHERE digest IS NOT NULL; END",
)
# Sequences are not transactional: the change with the higher number could be committed first, and
# a reader that has seen it would never read the change with the lower number. So a lock makes
# changes sequential until the end of the transaction. Statements take the lock before they lock
# rows, which prevents deadlocks. Each change notifies all gateways.
_POSTGRESQL_TRIGGERS = (
    """
    CREATE FUNCTION lock_key_changes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_advisory_xact_lock('key_changes'::regclass::oid::bigint);
        IF TG_OP = 'TRUNCATE' THEN
            INSERT INTO key_changes (digest) SELECT digest FROM api_keys
            UNION ALL SELECT old_digest FROM api_keys WHERE old_digest IS NOT NULL;
        END IF;
        RETURN NULL;
    END $$
    """,
    """
    CREATE FUNCTION log_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        digests bytea[] := ARRAY[]::bytea[];
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            digests := digests || OLD.digest || OLD.old_digest;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            digests := digests || NEW.digest || NEW.old_digest;
        END IF;
        INSERT INTO key_changes (digest)
        SELECT DISTINCT changed.digest FROM unnest(digests) AS changed (digest)
        WHERE changed.digest IS NOT NULL;
        RETURN NULL;
    END $$
    """,
    "CREATE TRIGGER keys_locked BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON api_keys "
    "FOR EACH STATEMENT EXECUTE FUNCTION lock_key_changes()",
    "CREATE TRIGGER key_added_or_deleted AFTER INSERT OR DELETE ON api_keys "
    "FOR EACH ROW EXECUTE FUNCTION log_key_change()",
    "CREATE TRIGGER key_changed AFTER UPDATE ON api_keys FOR EACH ROW WHEN "
    "(to_jsonb(NEW) - 'last_used_at' IS DISTINCT FROM to_jsonb(OLD) - 'last_used_at') "
    "EXECUTE FUNCTION log_key_change()",
    """
    CREATE FUNCTION signal_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('gateway_keys', '');
        RETURN NULL;
    END $$
    """,
    "CREATE TRIGGER key_change_signalled AFTER INSERT ON key_changes "
    "FOR EACH STATEMENT EXECUTE FUNCTION signal_key_change()",
)


def scripts() -> ScriptDirectory:
    """Returns Alembic's directory of all migrations."""
    return ScriptDirectory(str(MIGRATIONS), version_locations=[str(MIGRATIONS)])


def upgrade(connection: Connection) -> None:
    """Create the schema, or run missing migrations. The caller commits."""
    found = scripts()
    # `_upgrade_revs` has the missing migrations, as in Alembic's own command.
    options = {"fn": lambda current, _: found._upgrade_revs("head", current)}  # noqa: SLF001
    context = MigrationContext.configure(connection, opts=options)
    if context.get_current_revision() is None:
        metadata.create_all(connection, checkfirst=False)
        is_server = connection.dialect.name == "postgresql"
        triggers = _POSTGRESQL_TRIGGERS if is_server else _SQLITE_TRIGGERS
        for statement in (*PARTIAL_INDEXES, *triggers):
            connection.exec_driver_sql(statement)
        context.stamp(found, "head")
        return
    with Operations.context(context):
        context.run_migrations()
