"""Texts that spreadsheet programs read as formulas when they open CSV, and the guard before them.

Rules
- A text is a formula if it begins with `=`, `@`, a tab or a return; or with `+` or `-` if it
  contains a letter or one of `(!|=`. So amounts and phone numbers are not changed.
- Only texts are guarded: a number, moment or boolean of the sheet is never a formula.

Source: https://owasp.org/www-community/attacks/CSV_Injection
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import Final

GUARD: Final = "'"
"""Prefix with which spreadsheet programs read a formula as text."""

_SURE = frozenset("=@\t\r")
_SIGNS = _SURE | frozenset("+-")
_MARKS = frozenset("(!|=")
_first = itemgetter(slice(1))


def is_formula(text: str) -> bool:
    """True for a text that needs the guard."""
    first = text[:1]
    if first not in _SIGNS:
        return False
    return first in _SURE or not _MARKS.isdisjoint(text) or any(map(str.isalpha, text))


def has_sign(texts: Iterable[str]) -> bool:
    """True if the first character of a text may begin a formula; the texts are not empty."""
    return not _SIGNS.isdisjoint(map(_first, texts))


def guarded(text: str) -> str:
    """The text, with the guard if it is a formula."""
    return f"{GUARD}{text}" if is_formula(text) else text
