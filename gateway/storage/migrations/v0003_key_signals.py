"""PostgreSQL notifies all gateways of changes of keys."""

from alembic import op

revision = "0003"
down_revision = "0002"

_TRIGGERS = (
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
    if connection.dialect.name == "postgresql":
        for statement in _TRIGGERS:
            connection.exec_driver_sql(statement)
