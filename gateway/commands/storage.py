"""The commands `sheets-gateway storage`, for backups and upgrades of the database."""

# ruff: noqa: PLC0415 - heavy imports stay inside the commands, so that --help is quick

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.command_line import CommandLine
from gateway.commands.options import (
    ConfigOption,
    counted,
    fail,
    flag,
    reported,
    run,
    say_done,
    settings_of,
    warn,
)
from gateway.commands.terminal import say, waiting

if TYPE_CHECKING:
    from gateway.commands.store_files import Done

storage = CommandLine("Back up, restore or upgrade the database, or move to PostgreSQL.")


@storage.command("backup", examples=["sheets-gateway storage backup monday.db"])
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New file for the backup.")],
    without_pepper: Annotated[
        bool, flag("--without-pepper", "Do not write FILE.pepper: you keep the pepper elsewhere.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Copy the SQLite database to a new file. The gateway can serve meanwhile."""
    from gateway.commands.store_files import back_up

    access = settings_of(config).access
    _carry_out(lambda: back_up(access, file, with_pepper=not without_pepper))


@storage.command("restore", examples=["sheets-gateway storage restore --replace monday.db"])
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Backup to restore.")],
    replace: Annotated[
        bool, flag("--replace", "Rename an existing file, and restore in its place.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Replace the SQLite database by a backup. The gateway must be stopped."""
    from gateway.commands import store_files

    access = settings_of(config).access
    _carry_out(lambda: store_files.restore(access, file, replaces=replace, now=datetime.now(UTC)))


def _carry_out(work: "Callable[[], Done]") -> None:
    """Run `work` and print its result. Prints errors and exits as `reported` does."""
    try:
        with reported(), waiting("Waiting for the database"):
            done = work()
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    try:
        say_done(*done.lines)
    finally:
        for each in done.warnings:
            warn(each)


@storage.command("migrate", examples=["sheets-gateway storage migrate --config config.toml"])
def migrate(config: ConfigOption = None) -> None:
    """Create or upgrade the tables of the database."""
    from gateway.storage.database import SCHEMA, migrate_database

    database = settings_of(config).access.database
    run(migrate_database(database), waits_for="the database")
    say_done(f"{database} has the tables of schema {SCHEMA}")


@storage.command(
    "copy",
    examples=[
        "sheets-gateway storage copy --from keys.db",
        "sheets-gateway storage copy --from keys.db --to postgresql://HOST/DATABASE",
    ],
)
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
    from gateway.settings.database import PostgresUrl, parse_database
    from gateway.storage.database import migrate_database
    from gateway.storage.lock import store_lock
    from gateway.storage.store_copy import copy_store

    try:
        database = parse_database(target or settings_of(config).access.database)
    except ValueError as error:
        fail(f"--to: {error}")
    if not isinstance(database, PostgresUrl):
        fail("--to: must be the URL of a PostgreSQL database")
    if not source.is_file():
        fail(f"--from: {source} does not exist. Name the SQLite file to copy")
    with reported(), store_lock(source):
        for store, name in (
            (source, "--from"),
            (database, "--to" if target else "access.database"),
        ):
            run(migrate_database(store), waits_for="the database", database=name)
        with store_lock(database):
            counts = run(copy_store(source, database), waits_for="the database")
    say_done(
        f"Copied {counted(counts['api_keys'], 'key')} and "
        f"{counted(counts['idempotency_records'], 'record')} of writes from {source} to {database}"
    )
    say("The gateway needs the same pepper as before: set access.pepper, or access.pepper_file")
