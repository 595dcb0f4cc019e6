"""Names of parameters and preferences whose letters are those of a known one.

They differ in capitals, blanks, dashes and other signs, are encoded once more, or stand behind an
`&` that was escaped for HTML. Such a name is refused, not ignored: a write without its bound
changes more rows than were meant.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import unquote

from gateway.table.header import letters
from gateway.table.quoting import quoted

_NAME = re.compile(r"(?P<escaped>amp;)?(?P<name>[^\[=]+)(?:\[[^\]=]*\]?)?")
"""A name and its brackets; behind them, a value may be folded into it."""


def by_letters(names: Iterable[str]) -> Mapping[str, str]:
    """The names by their letters in lower case."""
    return {letters(name): name for name in names}


def misspelling(name: str, names: Mapping[str, str], bracketless: Collection[str] = ()) -> str:
    """Describe the mistake in an unknown name, after "Unknown parameter "; "" for another word.

    `names` are those of `by_letters`; with brackets, those in `bracketless` are misspelt, too.
    """
    found = _NAME.match(unquote(name) if "%" in name else name)
    if found is None:
        return ""
    right = names.get(letters(found["name"]), "")
    is_exact = found["name"] == right and not found["escaped"]
    if not right or (is_exact and right not in bracketless):
        return ""
    return f"{quoted(found[0])}: send {right} instead."
