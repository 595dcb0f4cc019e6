"""A later version of the gateway: this version's code with one more migration."""

import shutil
import subprocess
import sys
from pathlib import Path

from gateway.settings.database import Database, PostgresUrl
from gateway.storage.database import SCHEMA

TOP = Path(__file__).parents[2]
NEXT_SCHEMA = "9000"
FAILING = 'op.execute("INSERT INTO nowhere VALUES (1)")'
_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = {revision!r}, {before!r}


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("later", sa.String, nullable=False, server_default="new"))
    {then}
"""
_OPENS_IT_EIGHT_TIMES = """
import asyncio, sys
from gateway.settings.database import parse_database
from gateway.settings.model import ConfigError
from gateway.storage.database import migrate_database
from gateway.storage.key_store import KeyStore

async def open_it(database):
    await migrate_database(database)
    async with KeyStore.open(database) as store:
        return [record.id for record in await store.list()]

async def main():
    database = parse_database(sys.argv[1])
    print(*await asyncio.gather(*(open_it(database) for _ in range(8))), sep="\\n")

try:
    asyncio.run(main())
except ConfigError as error:
    sys.exit(f"{error}")
"""


def make_next_version(folder: Path, then: str = "") -> Path:
    """Copy the gateway to `folder` with a new migration whose last statement is `then`."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(TOP / "gateway", folder / "gateway", ignore=ignored)
    storage = folder / "gateway" / "storage"
    migration = _MIGRATION.format(revision=NEXT_SCHEMA, before=SCHEMA, then=then)
    (storage / "migrations" / f"v{NEXT_SCHEMA}_later.py").write_text(migration)
    database = (storage / "database.py").read_text()
    (storage / "database.py").write_text(
        database.replace(f'\nSCHEMA = "{SCHEMA}"\n', f'\nSCHEMA = "{NEXT_SCHEMA}"\n')
    )
    return folder


def open_at_once(version: Path, database: Database) -> subprocess.CompletedProcess[str]:
    """Migrate and open a store in 8 concurrent tasks. Each task prints a line of key IDs."""
    url = str(database)
    if isinstance(database, PostgresUrl):
        url = database.url.get_secret_value()
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _OPENS_IT_EIGHT_TIMES, url],
        cwd=version,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
