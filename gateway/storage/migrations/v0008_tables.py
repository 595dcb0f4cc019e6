"""All tables of the first release. Development versions before it used the lower numbers."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = None

_metadata = sa.MetaData()
_big = sa.BigInteger().with_variant(sa.Integer, "sqlite")
# As text, with one meaning of "earlier": the order of other texts depends on the server's language.
_time = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_keys = sa.Table(
    "api_keys",
    _metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("last4", sa.String, nullable=False),
    sa.Column("plan", sa.String, nullable=False),
    sa.Column("spreadsheets", sa.String),
    sa.Column("worksheets", sa.String),
    sa.Column("read_only", sa.Boolean, nullable=False),
    sa.Column("origins", sa.String, nullable=False),
    sa.Column("created_at", _time, nullable=False),
    sa.Column("expires_at", _time),
    sa.Column("revoked_at", _time),
    sa.Column("readable", sa.String),
    sa.Column("writable", sa.String),
    sa.Column("last_used_at", _time),
    sa.Column("may_delete", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("may_refresh", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("rights", sa.String),
    sa.Column("old_digest", sa.LargeBinary),
    sa.Column("old_ends_at", _time),
    sa.Column("next_url", sa.String, nullable=False, server_default=""),
    sa.Column("needs_challenge", sa.Boolean, nullable=False, server_default=sa.false()),
)
sa.Table(
    "pepper",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("mark", sa.LargeBinary, nullable=False),
)
sa.Table(
    "key_changes",
    _metadata,
    sa.Column("number", _big, primary_key=True),
    sa.Column("digest", sa.LargeBinary, nullable=False),
)
_records = sa.Table(
    "idempotency_records",
    _metadata,
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
    sa.Column("removes_rows", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("last_removal", _big, nullable=False, server_default="0"),
)
_batches = sa.Table(
    "row_removals",
    _metadata,
    sa.Column("id", _big, primary_key=True),
    sa.Column("worksheet", sa.String, nullable=False),
    sa.Column("removed", sa.String, nullable=False),
    sa.Column("sent_at", sa.Float, nullable=False),
    sa.Column("is_applied", sa.Boolean, nullable=False),
    sa.Column("fence_id", sa.Integer, nullable=False),
    sa.Column("fence_key", sa.String, nullable=False),
    sa.Column("token", sa.String, nullable=False),
    sa.Column("updated", sa.String, nullable=False, server_default="[]"),
    sa.Column("is_exclusive", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("sheet_id", sa.Integer),
    sqlite_autoincrement=True,
)
sa.Table(
    "worksheets",
    _metadata,
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
sa.Table(
    "spent_quota",
    _metadata,
    sa.Column("account", sa.String, primary_key=True),
    sa.Column("is_write", sa.Boolean, primary_key=True),
    sa.Column("full_at", sa.Float, nullable=False),
)
sa.Table(
    "key_edits",
    _metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("key_id", sa.String, nullable=False, index=True),
    sa.Column("at", _time, nullable=False),
    sa.Column("by", sa.String, nullable=False),
    sa.Column("action", sa.String, nullable=False),
    sa.Column("changes", sa.String, nullable=False),
)
sa.Table(
    "key_usage",
    _metadata,
    sa.Column("hour", _time, primary_key=True),
    sa.Column("key_id", sa.String, primary_key=True),
    sa.Column("spreadsheet", sa.String, primary_key=True),
    sa.Column("worksheet", sa.String, primary_key=True),
    sa.Column("code", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("requests", _big, nullable=False),
    sa.Column("reads", _big, nullable=False),
    sa.Column("writes", _big, nullable=False),
    sa.Column("rows", _big, nullable=False),
    sa.Column("bytes", _big, nullable=False),
)
sa.Table(
    "admin_secrets",
    _metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("key_id", sa.String, nullable=False, index=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("last4", sa.String, nullable=False),
    sa.Column("created_at", _time, nullable=False),
    sa.Column("expires_at", _time),
)
_is_completed, _is_open = _records.c.answer.is_not(None), sa.text("answer IS NULL")
sa.Index("api_keys_by_old_digest", _keys.c.old_digest, unique=True)
sa.Index("idempotency_records_by_age", _records.c.sent_at)
sa.Index("idempotency_records_by_removal", _records.c.worksheet, _records.c.last_removal)
sa.Index(
    "idempotency_records_by_key",
    _records.c.key_id,
    _records.c.sent_at,
    _records.c.size,
    sqlite_where=_is_completed,
    postgresql_where=_is_completed,
)
sa.Index(
    "idempotency_records_by_fence",
    _records.c.fence_id,
    sqlite_where=_is_open,
    postgresql_where=_is_open,
)
sa.Index("row_removals_by_worksheet", _batches.c.worksheet, _batches.c.id)
sa.Index("row_removals_by_token", _batches.c.token)

# All columns but `last_used_at`, which every use writes.
_CHANGING = ", ".join(f'"{each.name}"' for each in _keys.columns if each.name != "last_used_at")
# For both digests of a key.
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
# Sequences are not transactional: a change that takes the next number could be committed before
# the previous one, and a reader that has seen it would never read the other. So changes are made
# one after the other: the lock ends with the transaction, after its changes are visible. Statements
# take it before they lock rows, so that no two wait for each other. Each change notifies all
# gateways.
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


def upgrade() -> None:
    connection = op.get_bind()
    _metadata.create_all(connection, checkfirst=False)
    is_server = connection.dialect.name == "postgresql"
    for statement in _POSTGRESQL_TRIGGERS if is_server else _SQLITE_TRIGGERS:
        connection.exec_driver_sql(statement)
