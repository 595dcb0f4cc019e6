"""Row removals become sent batches: the rows that a batch changes, and an index of their tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    updated = sa.Column("updated", sa.String, nullable=False, server_default="[]")
    is_exclusive = sa.Column("is_exclusive", sa.Boolean, nullable=False, server_default=sa.true())
    op.add_column("row_removals", updated)
    op.add_column("row_removals", is_exclusive)
    op.create_index("row_removals_by_token", "row_removals", ["token"])
