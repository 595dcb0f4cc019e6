"""Findings of `check`: lines for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gateway.table import quoting

MOST_NAMED = 10
LONGEST_NAME = 60

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """A line of the report: the problem, then the solution. A `problem` makes the command fail.

    It has no full stop, because it may end with a command or URL to be copied.
    """

    level: Level
    text: str


def ok(text: str) -> Finding:
    return _finding("ok", text)


def warning(text: str) -> Finding:
    return _finding("warning", text)


def problem(text: str) -> Finding:
    return _finding("problem", text)


def quoted(name: str) -> str:
    """A name in quotes, shortened, with invisible characters escaped."""
    return quoting.quoted(name, longest=LONGEST_NAME)


def listed(names: Sequence[str]) -> str:
    """Join the names, at most the first ten."""
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _finding(level: Level, text: str) -> Finding:
    """Escape invisible characters: the text may quote Google or another server."""
    return Finding(level, quoting.printable(text.removesuffix(".")))
