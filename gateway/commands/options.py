"""Options and failures that all commands share."""

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
        "--config", metavar="FILE", help="Configuration file; config.toml if it is there."
    ),
]


def settings_of(config: Path | None, overrides: Mapping[str, object] | None = None) -> "Settings":
    """The settings, or the end of the command with all that is wrong with them."""
    from gateway.settings.model import ConfigError, load_settings

    try:
        return load_settings(config, os.environ, overrides or {})
    except ConfigError as error:
        fail(error.problems)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Carry out a command's work; what is wrong with its set-up ends it."""
    from gateway.settings.model import ConfigError

    try:
        return asyncio.run(work)
    except ConfigError as error:
        fail(error.problems)


def fail(problems: Sequence[str], *, status: int = 2) -> NoReturn:
    """End the command, each problem in a line."""
    for problem in problems:
        typer.echo(f"sheets-gateway: {problem}", err=True)
    raise typer.Exit(status)
