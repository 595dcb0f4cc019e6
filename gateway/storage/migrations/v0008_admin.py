"""Secrets of administrators."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_metadata = sa.MetaData()
# As text, with one meaning of "earlier": the order of other texts depends on the server's language.
_time = sa.String().with_variant(sa.String(collation="C"), "postgresql")
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


def upgrade() -> None:
    _metadata.create_all(op.get_bind(), checkfirst=False)
