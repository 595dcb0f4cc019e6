"""Worksheets, one row each, and the quota of Google that is spent."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "worksheets",
        sa.Column("spreadsheet", sa.String, primary_key=True),
        sa.Column("title", sa.String, primary_key=True),
        sa.Column("sheet_id", sa.Integer),
        sa.Column("fence_id", sa.Integer),
        sa.Column("fence_key", sa.String),
        sa.Column("token", sa.String),
        sa.Column("epoch", sa.String),
        sa.Column("last_row", sa.Integer),
        sa.Column("header_digest", sa.LargeBinary),
    )
    op.create_table(
        "spent_quota",
        sa.Column("account", sa.String, primary_key=True),
        sa.Column("is_write", sa.Boolean, primary_key=True),
        sa.Column("full_at", sa.Float, nullable=False),
    )
