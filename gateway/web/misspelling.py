"""Names of parameters and preferences that differ from a known one in capitals, blanks, `_` or `-`.

Such a name is refused, not ignored: a write without its bound changes more rows than were meant.
"""

import re
from collections.abc import Iterable, Mapping, Set

from gateway.errors import InvalidQuery
from gateway.table.quoting import quoted

_NAME = re.compile(rb"([A-Za-z _-]+)(?:[\[=]|%5[Bb]|%3[Dd]|$)")
"""A name until its brackets, or until a value that is folded into it."""
_CACHE_BUSTER = b"nocache"
"""Pages send it with random values: it is not a misspelt `no-cache`."""


def by_letters(names: Iterable[str]) -> Mapping[bytes, str]:
    """The names by their letters in lower case."""
    return {_letters(name.encode()): name for name in names}


def misspelling(
    name: bytes, names: Mapping[bytes, str], bracketless: Set[bytes] = frozenset()
) -> str:
    """Describe the mistake in an unknown name, after "Unknown parameter "; "" for another word.

    `names` are those of `by_letters`; with brackets, those in `bracketless` are misspelt, too.
    """
    found = _NAME.match(name)
    if found is None or name.lower() == _CACHE_BUSTER:
        return ""
    right = names.get(_letters(found[1]), "")
    is_exact = found[1] == right.encode()
    if not right or (is_exact and found[1] not in bracketless):
        return ""
    return f"{quoted(found[0].decode())}: send {right} instead."


def check_spelling(mistake: str) -> None:
    """Raise InvalidQuery for a mistake in the name of a parameter."""
    if mistake:
        raise InvalidQuery(f"Unknown parameter {mistake}")


def _letters(name: bytes) -> bytes:
    return name.lower().translate(None, b" _-")
