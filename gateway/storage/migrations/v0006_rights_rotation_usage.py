"""Rights and second secrets of keys, the log of their edits, and the use of keys by the hour."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_metadata = sa.MetaData()
# As text, with one meaning of "earlier": the order of other texts depends on the server's language.
_time = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_big = sa.BigInteger().with_variant(sa.Integer, "sqlite")
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

# As in the first migration, for both digests of a key.
_OF_NEW = (
    "INSERT INTO key_changes (digest) SELECT digest FROM "
    "(SELECT NEW.digest AS digest UNION SELECT NEW.old_digest) WHERE digest IS NOT NULL"
)
_OF_OLD = _OF_NEW.replace("NEW.", "OLD.")
_SQLITE_TRIGGERS = (
    *(f"DROP TRIGGER key_{name}" for name in ("added", "replaced", "deleted", "changed")),
    f"CREATE TRIGGER key_added AFTER INSERT ON api_keys BEGIN {_OF_NEW}; END",
    "CREATE TRIGGER key_replaced BEFORE INSERT ON api_keys BEGIN "
    "INSERT INTO key_changes (digest) SELECT digest FROM api_keys WHERE id = NEW.id "
    "UNION SELECT old_digest FROM api_keys WHERE id = NEW.id AND old_digest IS NOT NULL; END",
    f"CREATE TRIGGER key_deleted AFTER DELETE ON api_keys BEGIN {_OF_OLD}; END",
)
_POSTGRESQL_FUNCTIONS = (
    """
    CREATE OR REPLACE FUNCTION lock_key_changes() RETURNS trigger LANGUAGE plpgsql AS $$
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
    CREATE OR REPLACE FUNCTION log_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
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
)


def upgrade() -> None:
    connection = op.get_bind()
    op.add_column("api_keys", sa.Column("rights", sa.String))
    op.add_column("api_keys", sa.Column("old_digest", sa.LargeBinary))
    op.add_column("api_keys", sa.Column("old_ends_at", _time))
    op.create_index("api_keys_by_old_digest", "api_keys", ["old_digest"], unique=True)
    _metadata.create_all(connection, checkfirst=False)
    if connection.dialect.name == "postgresql":
        for statement in _POSTGRESQL_FUNCTIONS:
            connection.exec_driver_sql(statement)
        return
    for statement in _SQLITE_TRIGGERS:
        connection.exec_driver_sql(statement)
    # All columns but `last_used_at`, which every use writes.
    names = [each["name"] for each in sa.inspect(connection).get_columns("api_keys")]
    columns = ", ".join(f'"{name}"' for name in names if name != "last_used_at")
    connection.exec_driver_sql(
        f"CREATE TRIGGER key_changed AFTER UPDATE OF {columns} ON api_keys BEGIN "  # noqa: S608
        "INSERT INTO key_changes (digest) SELECT digest FROM (SELECT OLD.digest AS digest "
        "UNION SELECT OLD.old_digest UNION SELECT NEW.digest UNION SELECT NEW.old_digest) "
        "WHERE digest IS NOT NULL; END"
    )
