"""Escape texts that a spreadsheet would take for formulas.

Rules
- Whoever typed `=1+1` into a cell typed a formula; so did who typed `+A1`, and in other
  spreadsheets `-1+1` and `@x`. Programs that such texts are exported to take them for formulas
  too, so all of them count, also after blanks and in their wide forms (`＝`).
- A text too many does no harm: a leading apostrophe forces text, and is not part of it.
"""

import unicodedata

from gateway.table.record import Stored

FORCES_TEXT = "'"
"""Typed before anything else it makes a text of it (Google and others)."""

_STARTS = frozenset("=+-@−")
"""Characters that formulas begin with; the last is U+2212, the minus sign."""

_CONTROL_STARTS = ("\t", "\r")
"""Some programs cut these off, and read on."""

_BLANK_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
"""Blanks, line ends, and characters that nobody sees."""


def is_formula_text(text: str) -> bool:
    """Whether a typed text might begin a formula, blanks before it aside."""
    if text.startswith(_CONTROL_STARTS):
        return True
    for character in text:
        if unicodedata.category(character) not in _BLANK_CATEGORIES:
            return unicodedata.normalize("NFKC", character) in _STARTS
    return False


def typed_value(value: Stored, *, may_write_formulas: bool) -> Stored:
    """What to type so that a formula is one only for those who may write formulas.

    A lone apostrophe would leave the cell empty; it is forced to be a text for everybody.
    """
    if not isinstance(value, str):
        return value
    is_forced = value == FORCES_TEXT or (not may_write_formulas and is_formula_text(value))
    return FORCES_TEXT + value if is_forced else value
