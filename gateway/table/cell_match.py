"""Cell match: comparison of cells with the values written to them.

Rules
- A cell that was not written may hold anything.
- A value stored as it is (RAW) is compared typed; the result is certain.
- A value typed in (USER_ENTERED) depends on the language of the spreadsheet: `1.5` is a number here
  and a date there, and a cell formatted as a percentage makes 0.05 of 5. The result is OPEN if it
  depends on that, and certain for values that mean the same in every language.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from itertools import zip_longest

from gateway.table.cells import number_in, serial_in
from gateway.table.formula_text import FORCES_TEXT, is_formula_text
from gateway.table.record import Stored


class CellMatch(IntEnum):
    """Result of comparing a cell with the written value; the minimum over several cells counts."""

    OTHER = 0
    OPEN = 1
    SAME = 2


Compare = Callable[[object, Stored], CellMatch]

_BOOLEANS = {"true": True, "false": False}
_DIGITS = re.compile(r"[0-9]{1,15}")


def cell_match(cells: Sequence[object], written: Sequence[Stored], compare: Compare) -> CellMatch:
    """The match of the first cells of a row with the values written to them."""
    least = CellMatch.SAME
    for column, value in enumerate(written):
        if value is not None:
            least = min(least, compare(cells[column] if column < len(cells) else None, value))
            if least is CellMatch.OTHER:
                break
    return least


def holds_no_more(cells: Sequence[object], written: Sequence[Stored]) -> bool:
    """True if the cells that were not written are blank."""
    return all(
        cell in (None, "") for cell, value in zip_longest(cells, written) if value in (None, "")
    )


def as_stored(cell: object, written: Stored) -> CellMatch:
    """The match of a value stored as it is (RAW)."""
    if written is None:
        return CellMatch.SAME
    if isinstance(written, str):
        is_same = written == ("" if cell is None else cell)
    elif isinstance(cell, bool) or isinstance(written, bool):
        is_same = cell is written
    else:
        is_same = isinstance(cell, int | float) and _is_number(cell, written)
    return CellMatch.SAME if is_same else CellMatch.OTHER


def as_entered(cell: object, written: Stored) -> CellMatch:
    """The match of a value typed in (USER_ENTERED)."""
    if as_stored(cell, written) is CellMatch.SAME:
        return CellMatch.SAME
    if not isinstance(written, str):
        return _entered_value(cell, written)
    if written.startswith(FORCES_TEXT):
        return as_stored(cell, written.removeprefix(FORCES_TEXT))
    if is_formula_text(written) and number_in(written) is None:
        return CellMatch.OPEN
    if isinstance(cell, bool | int | float):
        return _entered_text(cell, written)
    shown = cell if isinstance(cell, str) else ""
    return CellMatch.OPEN if shown.strip() == written.strip() else CellMatch.OTHER


def _entered_value(cell: object, written: bool | float | int | None) -> CellMatch:
    """The match of a number or boolean, which the format of the cell may have changed."""
    if isinstance(cell, str):
        is_open = cell.casefold() == str(written).casefold() or number_in(cell) == written
    else:
        is_open = _is_percentage(cell, written)
    return CellMatch.OPEN if is_open else CellMatch.OTHER


def _entered_text(cell: bool | float | int, written: str) -> CellMatch:
    """The match of a text that became a number or a boolean."""
    text = written.strip()
    if any(as_stored(cell, reading) is CellMatch.SAME for reading in _readings(text)):
        return CellMatch.SAME
    if _DIGITS.fullmatch(text) is None or _is_percentage(cell, int(text)):
        return CellMatch.OPEN
    return CellMatch.OTHER


def _readings(text: str) -> Iterator[Stored]:
    """The numbers, dates and booleans that a text means in most languages."""
    if _DIGITS.fullmatch(text):
        yield int(text)
    for found in (number_in(text), serial_in(text), _BOOLEANS.get(text.casefold())):
        if found is not None:
            yield found


def _is_number(cell: float | int, written: object) -> bool:
    # Google stores doubles; how many of their digits it prints is unknown.
    return isinstance(written, int | float) and math.isclose(cell, written, rel_tol=1e-13)


def _is_percentage(cell: object, written: object) -> bool:
    if isinstance(cell, bool) or isinstance(written, bool) or not isinstance(cell, int | float):
        return False
    return _is_number(cell * 100, written)
