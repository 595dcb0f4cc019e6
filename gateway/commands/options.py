"""Options and output shared by all commands."""

# ruff: noqa: PLC0415 - heavy imports stay inside the commands, so that --help is quick

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from gateway.table.quoting import printable

if TYPE_CHECKING:
    from gateway.settings.database import Database
    from gateway.settings.model import Settings

T = TypeVar("T")

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Configuration file; by default config.toml if it exists."
    ),
]


def settings_of(config: Path | None, overrides: Mapping[str, object] | None = None) -> "Settings":
    """Load the settings; print all problems and exit if they are invalid."""
    from gateway.settings.model import ConfigError, load_settings

    try:
        return load_settings(config, os.environ, overrides or {})
    except ConfigError as error:
        fail(error.problems)


def configuration_words(config: Path | None) -> str:
    """The configuration file that is used, or where there is none."""
    from gateway.settings.layers import DEFAULT_FILE

    file = config or DEFAULT_FILE
    if file.exists():
        return str(file.absolute())
    return f"no {file} in {Path.cwd()}, so defaults and variables GATEWAY_… only"


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine; print the problems and exit on ConfigError, or a failing store."""
    from sqlalchemy.exc import SQLAlchemyError

    from gateway.settings.model import ConfigError
    from gateway.storage.damaged_rows import DamagedRow
    from gateway.storage.database import reason_of

    try:
        return asyncio.run(work)
    except ConfigError as error:
        fail(error.problems)
    except DamagedRow as error:
        fail([f"access.database: {error}"], status=1)
    except SQLAlchemyError as error:
        fail([unusable_store(reason_of(error))], status=1)


def missing_store(database: "Database") -> str | None:
    """The problem of a SQLite file that is not there."""
    if not isinstance(database, Path) or database.exists():
        return None
    return f"{database.absolute()} does not exist. If you have keys, correct access.database"


def unusable_store(reason: str) -> str:
    """The problem of a key store that was opened, and cannot be read or written."""
    return (
        f"access.database: the key store cannot be read or written: {reason}. If it is damaged, "
        "restore it from a backup"
    )


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def say(*lines: str, err: bool = False) -> None:
    """Print lines, with escapes for all characters in them that a terminal obeys.

    Names of files, worksheets and keys, and texts of servers may have any.
    """
    for line in lines:
        typer.echo(printable(line), err=err)


def fail(problems: Sequence[str], *, status: int = 2) -> NoReturn:
    """Print one line per problem and exit."""
    say(*(f"sheets-gateway: {problem}" for problem in problems), err=True)
    raise typer.Exit(status)
