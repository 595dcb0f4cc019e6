"""The commands `sheets-gateway storage`."""

# ruff: noqa: PLC0415 - heavy imports stay inside the commands, so that --help is quick

from pathlib import Path
from typing import Annotated

import typer

from gateway.commands.options import ConfigOption, fail, run, say, settings_of

storage = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Upgrade the database, or move to PostgreSQL."
)


@storage.command("migrate")
def migrate(config: ConfigOption = None) -> None:
    """Create or upgrade the tables of the database."""
    from gateway.storage.database import SCHEMA, migrate_database

    database = settings_of(config).access.database
    run(migrate_database(database))
    say(f"{database} has the tables of schema {SCHEMA}")


@storage.command("copy")
def copy(
    source: Annotated[
        Path, typer.Option("--from", metavar="FILE", help="SQLite file to copy from.")
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="URL", help="Empty PostgreSQL database; by default access.database."
        ),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Copy all keys and records of writes from a SQLite file to PostgreSQL."""
    from gateway.server.lock import LockError
    from gateway.server.session_lock import store_lock
    from gateway.settings.database import PostgresUrl, parse_database
    from gateway.storage.database import migrate_database
    from gateway.storage.store_copy import copy_store

    try:
        database = parse_database(target or settings_of(config).access.database)
    except ValueError as error:
        fail([f"--to: {error}"])
    if not isinstance(database, PostgresUrl):
        fail(["--to: must be the URL of a PostgreSQL database"])
    if not source.is_file():
        fail([f"--from: {source} does not exist"])
    run(migrate_database(database))
    try:
        with store_lock(source), store_lock(database):
            counts = run(copy_store(source, database))
    except LockError as error:
        fail([str(error)], status=1)
    say(
        f"Copied {counts['api_keys']} keys and {counts['idempotency_records']} records of writes "
        f"from {source} to {database}"
    )
    say("Use the same pepper there: access.pepper, or its file as access.pepper_file")
