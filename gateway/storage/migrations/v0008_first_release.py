"""The schema of the first release, which `gateway.storage.upgrade` creates."""

revision = "0008"
down_revision = None


def upgrade() -> None:
    pass
