"""Protection of CSV answers against formulas: a `'` before texts that spreadsheet programs execute.

Rules
- A text is a formula if it begins with `=`, `@`, a tab or a carriage return. A text that begins
  with `+` or `-` is a formula if it contains a letter or one of `(!|=`, so that amounts and phone
  numbers are not changed.
- Only texts get the `'`. A number, date or boolean of the sheet is not a formula.

Source: https://owasp.org/www-community/attacks/CSV_Injection
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import Final

GUARD: Final = "'"
"""Prefix that makes spreadsheet programs read a formula as a text."""

_SURE = frozenset("=@\t\r")
_SIGNS = _SURE | frozenset("+-")
_MARKS = frozenset("(!|=")
_first = itemgetter(slice(1))


def is_formula(text: str) -> bool:
    """True if a spreadsheet program would execute the text as a formula."""
    first = text[:1]
    if first not in _SIGNS:
        return False
    return first in _SURE or not _MARKS.isdisjoint(text) or any(map(str.isalpha, text))


def has_sign(texts: Iterable[str]) -> bool:
    """Fast first check: True if any text begins with a character that can begin a formula."""
    return not _SIGNS.isdisjoint(map(_first, texts))


def guarded(text: str) -> str:
    """Returns the text, with the prefix `'` if the text is a formula."""
    return f"{GUARD}{text}" if is_formula(text) else text
