"""The meaning of a cell or operand: kind and key of a cell; number, date, or just text.

Rules
- `cell_keys` alone decides what a cell is: sorted indexes, equality, sets and upserts use its kinds
  and keys. Cells of one kind are in the order of their keys.
- Odd content raises nothing. Text is a number only in plain ASCII notation and only if finite:
  `007`, `+44…`, `1,250`, `nan` and `１２３` are text.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from types import NoneType

EMPTY = 0
TEXT = 1
NUMERAL = 2
"""Text that is a number."""
INTEGER = 3
"""A number of the sheet that Google writes without a fraction."""
DOUBLE = 4
"""Any other number of the sheet."""
BOOLEAN = 5

NUMBERS = frozenset({INTEGER, DOUBLE})
"""The kinds of cells that hold a number."""

_KINDS: Mapping[type, int] = {
    str: TEXT, NoneType: TEXT, int: INTEGER, float: DOUBLE, bool: BOOLEAN,
}  # fmt: skip
"""The kind for the type of a typed value; `cell_keys` finds empty cells and numerals in TEXT."""

TOLERANCE_DAYS = 0.001 / 86_400
"""Serial dates within a millisecond of each other are the same moment."""

_EPOCH = datetime(1899, 12, 30)  # without a zone: serial dates are wall-clock times
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9,]{0,99})(?:\.[0-9]+)?")
_ASCII_DECORATION = re.compile(r"[$%,' ]")
_NOT_IN_A_NUMBER = re.compile(r"[^-+.0-9eE$%,' ]")
_ISO_DATE_TIME = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<minute>[0-9]{2}:[0-9]{2})"
    r"(?:(?P<second>:[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r" ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)


def cell_keys(texts: Sequence[str], values: Sequence[object]) -> tuple[bytearray, Sequence[object]]:
    """The kind and the key of each cell, from its displayed text in NFC and its typed value.

    The key of a number or numeral is the number, that of a boolean the boolean, that of a text the
    text; an empty cell may have any key. Values without a text among them need no `texts`.
    """
    types = set(map(type, values))
    if len(types) == 1:
        kinds = bytearray([_KINDS[types.pop()]]) * len(values)
    else:
        kinds = bytearray(map(_KINDS.__getitem__, map(type, values)))
    keys = [*values]
    for at, text in enumerate(texts):
        if kinds[at] != TEXT:
            continue
        if text == "" and not values[at]:
            kinds[at] = EMPTY
            continue
        keys[at] = text
        if "-" <= text < ":":  # it begins as a number does
            number = number_in(text)
            if number is not None:
                kinds[at], keys[at] = NUMERAL, number
    return kinds, keys


def number_in(text: str) -> float | None:
    """The number that a text represents, or None."""
    if _NUMBER.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def plain_notation(number: float | int) -> str:
    """A number without exponent, separators or a needless fraction: 1250, -0.5."""
    text = f"{Decimal(repr(number + 0)):f}"  # + 0: there is no -0 in plain notation
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_date_text(text: str) -> bool:
    """True if a number cell with this displayed text is a date: undecorated, it is not a number."""
    if _PLAIN_NUMBER.fullmatch(text) is not None:
        return False
    if text.isascii() and _NOT_IN_A_NUMBER.search(text) is not None:
        return True
    return text != "" and number_in(_undecorated(text)) is None


def serial_in(text: str) -> float | None:
    """The serial date of an ISO 8601 date or date with time: wall clock, any offset dropped."""
    match = _ISO_DATE_TIME.fullmatch(text)
    if match is None:
        return None
    clock = (match["minute"] or "00:00") + (match["second"] or ":00")
    try:
        moment = datetime.fromisoformat(f"{match['day']}T{clock}")
    except ValueError:
        return None
    fraction = float(f"0.{match['fraction']}") if match["fraction"] else 0.0
    return (moment - _EPOCH + timedelta(seconds=fraction)) / timedelta(days=1)


def _undecorated(text: str) -> str:
    """Without currency signs, %, blanks and thousands separators."""
    if text.isascii():
        return _ASCII_DECORATION.sub("", text)
    return "".join(
        character
        for character in text
        if character not in "%,'’" and unicodedata.category(character) not in ("Sc", "Zs")
    )
