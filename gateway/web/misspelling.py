"""Names of parameters and preferences whose letters are those of a known one.

They differ in capitals, blanks, dashes and other signs, are encoded once more, or stand behind an
`&` that was escaped for HTML. Such a name is refused, not ignored: a write without its bound
changes more rows than were meant.
"""

import re
from collections.abc import Iterable, Mapping, Set
from urllib.parse import unquote

from gateway.errors import InvalidQuery
from gateway.table.quoting import quoted

_NAME = re.compile(r"(?:amp;)?([^\[=]+)[\[=]?")
"""A name until its brackets, or until a value that is folded into it."""
_CACHE_BUSTERS = frozenset({"nocache", "no_cache"})
"""Pages send them with random values: none is a misspelt `no-cache`."""


def by_letters(names: Iterable[str]) -> Mapping[str, str]:
    """The names by their letters in lower case."""
    return {_letters(name): name for name in names}


def misspelling(name: str, names: Mapping[str, str], bracketless: Set[bytes] = frozenset()) -> str:
    """Describe the mistake in an unknown name, after "Unknown parameter "; "" for another word.

    `names` are those of `by_letters`; with brackets, those in `bracketless` are misspelt, too.
    """
    found = _NAME.match(unquote(name) if "%" in name else name)
    if found is None or name.lower() in _CACHE_BUSTERS:
        return ""
    right = names.get(_letters(found[1]), "")
    is_exact = found[0].rstrip("[=") == right
    if not right or (is_exact and right.encode() not in bracketless):
        return ""
    return f"{quoted(found[0])}: send {right} instead."


def check_spelling(mistake: str) -> None:
    """Raise InvalidQuery for a mistake in the name of a parameter."""
    if mistake:
        raise InvalidQuery(f"Unknown parameter {mistake}")


def _letters(name: str) -> str:
    """Letters and digits; a sign of a word processor, such as a dash, is none."""
    return "".join(filter(str.isalnum, name.lower()))
