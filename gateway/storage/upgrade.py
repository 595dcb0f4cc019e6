"""Alembic's migrations, run in a given transaction."""

from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

MIGRATIONS = Path(__file__).with_name("migrations")


def scripts() -> ScriptDirectory:
    """All migrations."""
    return ScriptDirectory(str(MIGRATIONS), version_locations=[str(MIGRATIONS)])


def upgrade(connection: Connection) -> None:
    """Run the migrations that the database lacks; the caller commits."""
    found = scripts()

    def all_of(current: str, _context: object) -> Any:
        return found._upgrade_revs("head", current)  # noqa: SLF001 - as alembic's own command does

    with EnvironmentContext(Config(), found, fn=all_of) as environment:
        environment.configure(connection=connection)
        environment.run_migrations()
