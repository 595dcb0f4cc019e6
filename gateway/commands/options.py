"""Options and error output shared by all commands."""

# ruff: noqa: PLC0415 - heavy imports stay inside the commands, so that --help is quick

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
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


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine; print the problems and exit on ConfigError."""
    from gateway.settings.model import ConfigError

    try:
        return asyncio.run(work)
    except ConfigError as error:
        fail(error.problems)


def fail(problems: Sequence[str], *, status: int = 2) -> NoReturn:
    """Print one line per problem and exit."""
    for problem in problems:
        typer.echo(f"sheets-gateway: {problem}", err=True)
    raise typer.Exit(status)
