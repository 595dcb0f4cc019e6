"""Where the records of a worksheet end, below which columns may be filled down in advance.

Rules
- Only trailing rows can be no records: a row in the middle is one, even if it is blank.
- A cell is blank if it displays nothing, whatever it holds: a formula, a format that hides.
- The word of a boolean depends on the locale (FALSE, FALSCH, FAUX), and a text may be the same
  word. So the typed rendering decides; displayed cells only show whether it has to be read.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

Columns = Sequence[Sequence[object]]
"""Cells by column, of neighbouring rows; blank cells at the end of a column may be left out."""

_LONGEST_WORD = 20
"""Characters of the word of a boolean in any locale."""


class EndRule(NamedTuple):
    """Which trailing rows are no records, besides blank ones.

    With a `column`, those that display nothing in it, whatever others display. Else, if
    `skips_false`, those with nothing but the boolean `FALSE` and blank cells.
    """

    column: int | None = None
    skips_false: bool = True


BLANK_ONLY = EndRule(skips_false=False)
"""Each row that is not blank is a record."""


def last_record(rule: EndRule, displayed: Columns, typed: Columns | None = None) -> int | None:
    """The last row that is a record, the first row is 1; 0 if there is none.

    `typed` is the typed rendering of the same rows. Without it the result is None if the last row
    may show only booleans: then the typed rendering is needed. With a column it never is.
    """
    is_automatic = rule.skips_false and rule.column is None
    if rule.column is not None:
        displayed = displayed[rule.column : rule.column + 1]
    nothing: Sequence[object] = ()
    values = typed if is_automatic and typed is not None else ()
    columns = [*zip_longest(displayed, values[: len(displayed)], fillvalue=nothing)]
    # Columns of data first: those that are filled down are walked as far as these end.
    columns.sort(key=lambda pair: [*pair[1][len(pair[0]) - 1 : len(pair[0])]] == [False])
    last = 0
    for cells, held in columns:
        row = len(cells)
        while row > last and (
            cells[row - 1] in ("", None) or (row <= len(held) and held[row - 1] is False)
        ):
            row -= 1
        last = max(last, row)
    if is_automatic and typed is None and last:
        shown = {cells[last - 1] for cells in displayed if len(cells) >= last} - {"", None}
        if len(shown) == 1 and _may_be_boolean(*shown):
            return None
    return last


def _may_be_boolean(text: object) -> bool:
    """True if a displayed text may be the word of a boolean: short, in capitals, no digits."""
    return (
        isinstance(text, str)
        and len(text) <= _LONGEST_WORD
        and text[:1].isalpha()
        and text == text.upper()
        and not any(map(str.isdigit, text))
    )
