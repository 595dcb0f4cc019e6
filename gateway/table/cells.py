"""Classification of cells and operands: a class such as number or date, a sort key, Unicode NFC.

Rules
- A cell has a displayed text, and a typed value, which is Google's `UNFORMATTED_VALUE`.
- `cell_kinds` and `read_cell` decide the class of a cell for order, conditions, upserts and typed
  answers.
- A cell is a number, a date, a clock (a time of day or a duration), a text, a boolean, an error, or
  empty. Classes sort in this order. A number, date or clock is a typed value of the sheet, or a
  text in plain or ISO 8601 notation.
- Each class has two kinds if its cells can be typed values or texts, else one kind (`CLASSES`).
- Cells of a class sort by their keys. If keys are equal, typed values come first, then texts by
  code point.
- No content raises an error. A text is a number only in plain ASCII notation and only if the number
  is finite: `007`, `+44…`, `1,250`, `nan` and `１２３` are texts.
- Texts of cells and field names are compared in Unicode's composed form (NFC). A text with very
  many consecutive combining marks stays as it is, because Python sorts each run of marks by
  insertion (`nfd_nfkd` in Modules/unicodedata.c), which takes seconds for a full cell. No language
  uses so many marks.
- A text above `LONGEST_NUMBER` characters is not parsed, because a cell can have 50,000 characters.
"""

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from types import NoneType
from typing import Any
from unicodedata import combining, normalize

from gateway.table.moments import LONGEST_DISPLAY, NUMBER_DISPLAY, displayed_moment, moment_in

EMPTY = 0
NUMBER = 1
NUMERAL = 2
"""Kind of a text that is a number in plain notation."""
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
"""Kinds of each class, in sort order: the kind of typed values, then the kind of texts."""

CLASS: Mapping[int, int] = {kind: kinds[0] for kinds in CLASSES for kind in kinds}
"""Class of each kind. The first kind of a class identifies the class."""

FILLED = tuple(kind for kinds in CLASSES for kind in kinds)
"""Kinds of cells that are not empty."""

ERRORS = frozenset(
    {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#ERROR!", "#SPILL!"}
)
"""Displayed texts of errors (https://developers.google.com/sheets/api/reference/rest/v4/
spreadsheets/other#ErrorType)."""

_KINDS: Mapping[type, int] = {
    str: TEXT, NoneType: TEXT, int: NUMBER, float: NUMBER, bool: BOOLEAN,
}  # fmt: skip
"""Preliminary kind of a cell, by the Python type of its typed value."""

LONGEST_NUMBER = 400
"""Maximum characters of a text that is parsed as a number."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_FIRST_OF_VALUES = ("P", "#")
"""First characters of durations (`PT5M`) and errors (`#N/A`)."""

READ_AT_ONCE = 64
"""Maximum number of cells that are parsed before the generator yields again."""

_READ_STEPS, _MOMENT_STEPS = 30, 200
"""Steps of work to parse any cell, and additional steps for a cell that can be a date or clock."""

_LIKE_A_MOMENT = re.compile(r"[^0-9.,$€%()\s+-]|.-|\..*\.")

_DIGITS = re.compile(r"(\d+)")

_PLAIN_LINES = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\n)*")

MOST_MARKS = 256
"""Maximum number of consecutive combining marks in a text that is changed to NFC.

Unicode's stream-safe format (UAX 15) allows 30.
"""

_MARKS_ONLY = frozenset("\u0f73\u0f75\u0f81")
"""Characters that Python decomposes to combining marks, but does not count as combining marks."""
_MAY_BE_MARKS = re.compile(
    rf"[^\0-\x7f\u3000-\u3029\u3030-\u3098\u309b-\u9fff\uac00-\ud7a3]{{{MOST_MARKS + 1}}}"
)
"""Fast first check for many consecutive combining marks.

The pattern excludes ASCII, kana, ideographs and Hangul, because texts in these scripts can be long
without spaces.
"""


def cell_kinds(
    texts: Sequence[str], values: Sequence[object]
) -> tuple[bytearray, list[object], Sequence[int]]:
    """Classify the cells that need no parsing, by displayed text (in NFC) and typed value.

    Returns the kinds, the sort keys, and the indexes of the cells for which the caller must call
    `read_cell`. The kinds of these cells are preliminary. The key of a number, a boolean or a text
    is the value itself. The key of an empty cell has no meaning.
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
    """Classify a cell by its preliminary kind, its displayed text (in NFC) and its typed value.

    Returns the final kind, the sort key, and a flag. The key of a date or clock is in milliseconds.
    The flag is True for an odd cell, whose displayed text does not parse to the typed value, such
    as 5 displayed as `$5.00`. All booleans are odd.
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
    """Estimate the steps of work to parse cells with these displayed texts."""
    moments = sum(1 for text in texts if _LIKE_A_MOMENT.search(text, 0, LONGEST_DISPLAY))
    return _READ_STEPS * len(texts) + _MOMENT_STEPS * moments


def text_key(text: str) -> tuple[int, object]:
    """Returns the kind and the sort key of a text, which must be in NFC and not empty."""
    number = number_in(text)
    if number is not None:
        return NUMERAL, number
    moment = moment_in(text)
    if moment is not None:
        return CLOCK_TEXT if moment.is_clock else DATE_TEXT, moment.milliseconds
    return ERROR if text in ERRORS else TEXT, text


def number_in(text: str) -> float | None:
    """Parse a number in plain notation, such as `-1250.5`, or return None for other texts."""
    if len(text) > LONGEST_NUMBER or _NUMBER.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def displayed_number(text: str) -> float | None:
    """Parse a displayed number such as `$1,250.00`, `(20)`, `5%` or `007`.

    Returns None for other texts. The last separator is the decimal separator, with one exception:
    in `1,250` and `1,250,000`, three digits follow and all separators are equal, so they separate
    thousands. A single point is always a decimal point.
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
    """Format a number without exponent and separators, such as `1250` or `-0.5`."""
    if isinstance(number, int):
        return str(number)
    text = f"{Decimal(repr(number + 0)):f}"  # + 0: there is no -0 in plain notation
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_encodable(text: str) -> bool:
    """True if a text can be encoded in UTF-8, that is, has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def composed(text: str) -> str:
    """Returns the text in NFC, or the same object if NFC does not change the text."""
    if text.isascii():
        return text
    if len(text) > MOST_MARKS and _MAY_BE_MARKS.search(text):
        runs = groupby(text, lambda each: bool(combining(each)) or each in _MARKS_ONLY)
        if any(is_mark and sum(1 for _ in run) > MOST_MARKS for is_mark, run in runs):
            return text
    return normalize("NFC", text)
