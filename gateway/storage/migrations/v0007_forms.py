"""Columns for the page after a form, and for keys that need a challenge."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_FLAG = sa.Column("needs_challenge", sa.Boolean, nullable=False, server_default=sa.false())


def upgrade() -> None:
    connection = op.get_bind()
    op.add_column("api_keys", sa.Column("next_url", sa.String, nullable=False, server_default=""))
    op.add_column("api_keys", _FLAG)
    if connection.dialect.name == "postgresql":  # its trigger is for all columns
        return
    # The trigger of the migration before, for the new columns, too.
    names = [each["name"] for each in sa.inspect(connection).get_columns("api_keys")]
    columns = ", ".join(f'"{name}"' for name in names if name != "last_used_at")
    connection.exec_driver_sql("DROP TRIGGER key_changed")
    connection.exec_driver_sql(
        f"CREATE TRIGGER key_changed AFTER UPDATE OF {columns} ON api_keys BEGIN "  # noqa: S608
        "INSERT INTO key_changes (digest) SELECT digest FROM (SELECT OLD.digest AS digest "
        "UNION SELECT OLD.old_digest UNION SELECT NEW.digest UNION SELECT NEW.old_digest) "
        "WHERE digest IS NOT NULL; END"
    )
