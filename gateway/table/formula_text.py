"""Escape texts that a spreadsheet would take for formulas.

Rules
- A typed `=1+1` or `+A1` is a formula; `-1+1` and `@x` are formulas in other spreadsheets. Programs
  that import such texts take them for formulas too, so all of them count, also after blanks and in
  their wide forms (`＝`).
- Escaping a text too many does no harm: a leading apostrophe forces text, and is not part of it.
"""

import unicodedata

from gateway.table.record import Stored

FORCES_TEXT = "'"
"""Typed in front of a value, it makes a text of it (Google and others)."""

_STARTS = frozenset("=+-@−")
"""Characters that formulas begin with; the last is U+2212, the minus sign."""

_CONTROL_STARTS = ("\t", "\r")
"""Some programs cut these off, and read on."""

_BLANK_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
"""Blanks, line ends and invisible characters."""


def is_formula_text(text: str) -> bool:
    """Whether a typed text might be a formula, also after blanks."""
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
