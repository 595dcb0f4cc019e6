"""The meaning of a cell or operand: its class, and its key within the class.

Rules
- `read_cell` decides the class of a cell for order, conditions, upserts and typed answers.
- A cell is a number, a date, a clock (a time of day or a duration), a text, a boolean, an error, or
  empty; classes sort in this order. The first three hold a value of the sheet, or a text in plain
  or ISO 8601 notation. Within a class cells sort by their keys; of equal keys values of the sheet
  come first, then texts by code point.
- Odd content raises nothing. Text is a number only in plain ASCII notation and only if finite:
  `007`, `+44…`, `1,250`, `nan` and `１２３` are text.
- No text costs more to read than its first characters: a cell may hold 50,000 digits.
"""

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import NoneType
from typing import Any

from gateway.table.moments import LONGEST_DISPLAY, NUMBER_DISPLAY, displayed_moment, moment_in

EMPTY = 0
NUMBER = 1
NUMERAL = 2
"""Kind of a text that is a number."""
DATE = 3
DATE_TEXT = 4
CLOCK = 5
CLOCK_TEXT = 6
TEXT = 7
BOOLEAN = 8
ERROR = 9

CLASSES: Sequence[tuple[int, ...]] = (
    (NUMBER, NUMERAL), (DATE, DATE_TEXT), (CLOCK, CLOCK_TEXT), (TEXT,), (BOOLEAN,), (ERROR,),
)  # fmt: skip
"""The kinds of each class: values of the sheet, then texts; in sort order."""

CLASS: Mapping[int, int] = {kind: kinds[0] for kinds in CLASSES for kind in kinds}
"""The first kind of the class of each kind."""

FILLED = tuple(kind for kinds in CLASSES for kind in kinds)
"""The kinds of cells that are not empty."""

ERRORS = frozenset(
    {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#ERROR!", "#SPILL!"}
)
"""Displayed texts of errors (https://developers.google.com/sheets/api/reference/rest/v4/
spreadsheets/other#ErrorType)."""

_KINDS: Mapping[type, int] = {
    str: TEXT, NoneType: TEXT, int: NUMBER, float: NUMBER, bool: BOOLEAN,
}  # fmt: skip
"""First kind by the type of a typed value; `read_cell` refines texts and numbers."""

LONGEST_NUMBER = 400
"""Maximum characters of a number as text; any double has a shorter plain notation."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_FIRST_OF_VALUES = ("P", "#")
"""First characters of durations and errors; other values begin with a digit or a minus."""

READ_AT_ONCE = 64
"""Number of cells that are read as one block of steps."""

_READ_STEPS, _MOMENT_STEPS = 30, 200
"""Steps of reading a cell, and a cell that may be a moment."""

_LIKE_A_MOMENT = re.compile(r"[^0-9.,$€%()\s+-]|.-|\..*\.")

_DIGITS = re.compile(r"(\d+)")

_PLAIN_LINES = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\n)*")


def cell_kinds(
    texts: Sequence[str], values: Sequence[object]
) -> tuple[bytearray, list[object], Sequence[int]]:
    """The kind and the key of each cell, and the positions of cells that need `read_cell`.

    Cells are given by displayed text in NFC and typed value. Numbers, booleans and texts are their
    own keys; an empty cell may have any key.
    """
    types = set(map(type, values))
    keys = [*values]
    if len(types) == 1:
        kinds = bytearray([_KINDS[next(iter(types))]]) * len(values)
        if types == {int} and [*map(str, values)] == [*texts]:
            return kinds, keys, ()
    else:
        kinds = bytearray(map(_KINDS.__getitem__, map(type, values)))
    if (
        types <= {int, float}
        and _PLAIN_LINES.fullmatch("\n".join([*texts, ""]))
        and [*map(float, texts)] == keys
    ):
        return kinds, keys, ()
    unread: list[int] = []
    for at, text in enumerate(texts):
        if kinds[at] != TEXT:
            unread.append(at)
        elif text == "" and not values[at]:
            kinds[at] = EMPTY
        else:
            keys[at] = text
            if "-" <= text < ":" or text[:1] in _FIRST_OF_VALUES:
                unread.append(at)
    return kinds, keys, unread


def read_cell(kind: int, text: str, value: Any) -> tuple[int, object, bool]:
    """The kind and the key of a cell whose type does not decide its kind.

    Also returns True for a value of the sheet whose display does not name it. The key of a date or
    clock is its milliseconds.
    """
    if kind == TEXT:
        return *text_key(text), False
    if kind == BOOLEAN:
        return kind, value, True
    number = number_in(text)
    if number is not None:
        return NUMBER, value, number != value
    moment = displayed_moment(text, value)
    if moment is None:
        return NUMBER, value, True
    named = moment_in(text)
    is_odd = named is None or named[:2] != moment[:2]
    return CLOCK if moment.is_clock else DATE, moment.milliseconds, is_odd


def read_steps(texts: Sequence[str]) -> int:
    """Steps of `read_cell` for cells with these displays."""
    moments = sum(1 for text in texts if _LIKE_A_MOMENT.search(text, 0, LONGEST_DISPLAY))
    return _READ_STEPS * len(texts) + _MOMENT_STEPS * moments


def text_key(text: str) -> tuple[int, object]:
    """The kind and the key of a text that is not empty, in NFC."""
    number = number_in(text)
    if number is not None:
        return NUMERAL, number
    moment = moment_in(text)
    if moment is not None:
        return CLOCK_TEXT if moment.is_clock else DATE_TEXT, moment.milliseconds
    return ERROR if text in ERRORS else TEXT, text


def number_in(text: str) -> float | None:
    """Parse a number in plain notation; None for other texts."""
    if len(text) > LONGEST_NUMBER or _NUMBER.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def displayed_number(text: str) -> float | None:
    """Parse a displayed number such as `$1,250.00`, `(20)`, `5%` or `007`; None for other texts.

    A single point before three digits separates decimals, any other sign thousands.
    """
    if len(text) > LONGEST_DISPLAY or NUMBER_DISPLAY.fullmatch(text) is None or "E" in text.upper():
        return None
    pieces = _DIGITS.split(text)  # groups of digits at odd places
    *whole, last = pieces[1::2]
    marks = pieces[2:-1:2]
    if not whole or (len(last) == 3 and len({*marks}) == 1 and marks != ["."]):
        whole, last = [*whole, last], "0"
    sign = "-" if "-" in text or "(" in text else ""
    return float(f"{sign}{''.join(whole)}.{last}{'e-2' if '%' in text else ''}")


def plain_notation(number: float | int) -> str:
    """Format a number without exponent, separators or a needless fraction: 1250, -0.5."""
    if isinstance(number, int):
        return str(number)
    text = f"{Decimal(repr(number + 0)):f}"  # + 0: there is no -0 in plain notation
    return text.rstrip("0").rstrip(".") if "." in text else text
