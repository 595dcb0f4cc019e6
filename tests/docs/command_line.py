"""Commands of `sheets-gateway` in texts, validated against the command line."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.exceptions import TyperException

from gateway.commands.cli import main

_COMMAND = re.compile(r"(?:^|[\s/;&|(])sheets-gateway((?:\s+[^\n;&|#]*)?)")
_NOT_IN_SHELL = re.compile(r"\\\n\s*")


def commands_in(text: str) -> Iterator[Sequence[str]]:
    """Yield the arguments of each call of `sheets-gateway` in a shell text."""
    for found in _COMMAND.finditer(_NOT_IN_SHELL.sub(" ", text)):
        words = shlex.split(found[1])
        if words and words[0] in COMMANDS:
            yield words


def problems_of(words: Sequence[str]) -> list[str]:
    """Return the problems of a command, which is parsed but not run."""
    command: Any = typer.main.get_command(main)
    rest = list(words)
    while hasattr(command, "commands"):
        if not rest or rest[0] not in command.commands:
            return [f"there is no command {' '.join(words)}"]
        command = command.commands[rest.pop(0)]
    try:
        command.make_context(command.name, rest)
    except TyperException as error:
        return [f"sheets-gateway {' '.join(words)}: {error}"]
    return []


COMMANDS: Sequence[str] = sorted(
    typer.main.get_command(main).commands  # type: ignore[attr-defined]
)
