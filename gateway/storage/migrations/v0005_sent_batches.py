"""Row removals become sent batches: sheet id, the rows that a batch changes, an index of tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    updated = sa.Column("updated", sa.String, nullable=False, server_default="[]")
    is_exclusive = sa.Column("is_exclusive", sa.Boolean, nullable=False, server_default=sa.true())
    op.add_column("row_removals", updated)
    op.add_column("row_removals", is_exclusive)
    op.add_column("row_removals", sa.Column("sheet_id", sa.Integer))
    op.create_index("row_removals_by_token", "row_removals", ["token"])
