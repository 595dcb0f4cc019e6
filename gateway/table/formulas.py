"""Texts that spreadsheet programs take for formulas when they open CSV, and the guard before them.

Rules
- A text is one if it begins with `=`, `@`, a tab or a return; or with `+` or `-` if it contains a
  letter or one of `(!|=`. So amounts and phone numbers stay as they are.
- Only texts are guarded: a number, moment or boolean of the sheet is none, whatever it displays.

Source: https://owasp.org/www-community/attacks/CSV_Injection
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import Final

GUARD: Final = "'"
"""In front of a text, it makes spreadsheet programs take it for text."""

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
    """True if a text may be a formula by its first character. Empty ones are left out."""
    return not _SIGNS.isdisjoint(map(_first, texts))


def guarded(text: str) -> str:
    """The text with the guard if it needs it."""
    return f"{GUARD}{text}" if is_formula(text) else text
