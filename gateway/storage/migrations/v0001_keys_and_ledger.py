"""Keys, their change log, the pepper's mark, write records and row removals.

SQLite files of versions before migrations have some of it, which is completed: tables, columns,
indexes and triggers.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
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
    sa.Column("formulas", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("last_used_at", _time),
    sa.Column("may_delete", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("may_refresh", sa.Boolean, nullable=False, server_default=sa.false()),
)
_pepper = sa.Table(
    "pepper",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("mark", sa.LargeBinary, nullable=False),
)
_key_changes = sa.Table(
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
_removals = sa.Table(
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
    sqlite_autoincrement=True,
)
_is_completed = _records.c.answer.is_not(None)
_INDEXES = (
    sa.Index("idempotency_records_by_age", _records.c.sent_at),
    sa.Index("idempotency_records_by_removal", _records.c.worksheet, _records.c.last_removal),
    sa.Index("row_removals_by_worksheet", _removals.c.worksheet, _removals.c.id),
    sa.Index(
        "idempotency_records_by_key",
        _records.c.key_id,
        _records.c.sent_at,
        _records.c.size,
        sqlite_where=_is_completed,
        postgresql_where=_is_completed,
    ),
)
_BYTES_BESIDE = 400
_OLD_COLUMNS = ("taken", "is_create")

_SQLITE_TRIGGERS = (
    "CREATE TRIGGER key_added AFTER INSERT ON api_keys BEGIN "
    "INSERT INTO key_changes (digest) VALUES (NEW.digest); END",
    # REPLACE deletes without the trigger of a deletion (sqlite.org/lang_replace.html).
    "CREATE TRIGGER key_replaced BEFORE INSERT ON api_keys BEGIN "
    "INSERT INTO key_changes (digest) SELECT digest FROM api_keys WHERE id = NEW.id; END",
    "CREATE TRIGGER key_deleted AFTER DELETE ON api_keys BEGIN "
    "INSERT INTO key_changes (digest) VALUES (OLD.digest); END",
)
# Sequences are not transactional: a change that takes the next number could be committed before
# the previous one, and a reader that has seen it would never look at the other. So changes are made
# one after the other: the lock ends with the transaction, after its changes are visible. Statements
# take it before they lock rows, so that no two wait for each other.
_POSTGRESQL_TRIGGERS = (
    """
    CREATE FUNCTION lock_key_changes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_advisory_xact_lock('key_changes'::regclass::oid::bigint);
        IF TG_OP = 'TRUNCATE' THEN
            INSERT INTO key_changes (digest) SELECT digest FROM api_keys;
        END IF;
        RETURN NULL;
    END $$
    """,
    """
    CREATE FUNCTION log_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            INSERT INTO key_changes (digest) VALUES (OLD.digest);
        END IF;
        IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NEW.digest <> OLD.digest THEN
            INSERT INTO key_changes (digest) VALUES (NEW.digest);
        END IF;
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
)


def upgrade() -> None:
    connection = op.get_bind()
    found = set(sa.inspect(connection).get_table_names())
    has_log = _key_changes.name in found
    for table in _metadata.sorted_tables:
        if table.name not in found:
            op.execute(sa.schema.CreateTable(table))
    has_new_columns = _keys.name in found and _add_missing_columns(_keys)
    if _records.name in found and _add_missing_columns(_records):
        _complete_records()
    for index in _INDEXES:
        op.execute(sa.schema.CreateIndex(index, if_not_exists=True))
    if connection.dialect.name == "postgresql":
        _execute(*_POSTGRESQL_TRIGGERS)
    elif not has_log:
        _execute(*_SQLITE_TRIGGERS, _change_trigger())
        _execute("INSERT INTO key_changes (digest) SELECT digest FROM api_keys")
    elif has_new_columns:
        _execute("DROP TRIGGER IF EXISTS key_changed", _change_trigger())


def _execute(*statements: str) -> None:
    for statement in statements:
        op.get_bind().exec_driver_sql(statement)


def _columns(table: sa.Table) -> list[str]:
    return [column["name"] for column in sa.inspect(op.get_bind()).get_columns(table.name)]


def _add_missing_columns(table: sa.Table) -> bool:
    """Add the columns that the table of an earlier version lacks; False if there are none."""
    found = _columns(table)
    missing = [column for column in table.columns if column.name not in found]
    for column in missing:
        op.add_column(table.name, column)
    return bool(missing)


def _complete_records() -> None:
    """Fill the new columns of records of an earlier version, and drop the columns that it had."""
    found = _columns(_records)
    if "is_create" in found:
        numbers = sa.literal("[").concat(_records.c.first_row).concat("]")
        are_updates = ~sa.literal_column("is_create", sa.Boolean)
        op.execute(sa.update(_records).where(are_updates).values(numbers=numbers))
    for name in _OLD_COLUMNS:
        if name in found:
            op.drop_column(_records.name, name)
    length = sa.func.length(_records.c.rows) + sa.func.coalesce(
        sa.func.length(_records.c.answer), 0
    )
    op.execute(sa.update(_records).values(size=length + _BYTES_BESIDE))


def _change_trigger() -> str:
    """A trigger on updates of all columns but `last_used_at`, which every use writes."""
    names = ", ".join(f'"{name}"' for name in _columns(_keys) if name != "last_used_at")
    return (
        f"CREATE TRIGGER key_changed AFTER UPDATE OF {names} ON api_keys BEGIN "
        "INSERT INTO key_changes (digest) SELECT OLD.digest UNION SELECT NEW.digest; END"
    )
