"""A finding of `check`: one line for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gateway.table import quoting

MOST_NAMED = 10
LONGEST_NAME = 60

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One line of the report, what is wrong and then what to do; a `problem` fails the command.

    It ends without a full stop, for it may end with a command or a URL to be copied.
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
    """A name of somebody else's, in quotes; what cannot be seen is escaped."""
    return quoting.quoted(name, longest=LONGEST_NAME)


def listed(names: Sequence[str]) -> str:
    """The names as words, not all of very many."""
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _finding(level: Level, text: str) -> Finding:
    """Words of Google's may be in it, and of whoever answers in its place."""
    return Finding(level, quoting.printable(text.removesuffix(".")))
