"""Who holds the write lock of a worksheet, and an index of open records by their fence."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("worksheets", sa.Column("holder", sa.String))
    op.add_column("worksheets", sa.Column("sent_at", sa.Float))
    op.create_index(
        "idempotency_records_by_fence",
        "idempotency_records",
        ["fence_id"],
        sqlite_where=sa.text("answer IS NULL"),
        postgresql_where=sa.text("answer IS NULL"),
    )
