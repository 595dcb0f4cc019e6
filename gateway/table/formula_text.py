"""Escape texts that a spreadsheet would parse as formulas.

Rules
- A typed `=1+1` or `+A1` is a formula; `-1+1` and `@x` are formulas in other spreadsheets, and in
  programs that import such texts. So all of them are escaped, also after blanks and in their wide
  forms (`＝`).
- Unnecessary escaping does no harm: a leading apostrophe forces text, and is not part of it.
"""

import unicodedata

from gateway.table.record import Stored

FORCES_TEXT = "'"
"""As the first typed character, it makes the value a text (Google and others)."""

_STARTS = frozenset("=+-@−")
"""Characters that formulas begin with; the last is U+2212, the minus sign."""

_CONTROL_STARTS = ("\t", "\r")
"""Some programs remove these before they parse a text."""

_BLANK_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
"""Blanks, line ends and invisible characters."""


def is_formula_text(text: str) -> bool:
    """True if a typed text might be a formula, also after blanks."""
    if text.startswith(_CONTROL_STARTS):
        return True
    for character in text:
        if unicodedata.category(character) not in _BLANK_CATEGORIES:
            return unicodedata.normalize("NFKC", character) in _STARTS
    return False


def typed_value(value: Stored, *, may_write_formulas: bool) -> Stored:
    """The value to type in: a formula becomes text unless the key may write formulas.

    A lone apostrophe would leave the cell empty; it becomes text for every key.
    """
    if not isinstance(value, str):
        return value
    is_forced = value == FORCES_TEXT or (not may_write_formulas and is_formula_text(value))
    return FORCES_TEXT + value if is_forced else value
