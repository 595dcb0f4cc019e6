"""What one cell is: its displayed text beside its typed value, and when texts are numbers or dates.

Rules (the contract's *Comparison*): nothing here raises for odd content. Text is a number only in
plain ASCII notation and only if finite, so `007`, `+44…`, `1,250`, `nan` and `１２３` are text.
"""

import math
import re
import unicodedata
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

TOLERANCE_DAYS = 0.001 / 86_400
"""Serial dates within a millisecond of each other are the same moment."""

_EPOCH = datetime(1899, 12, 30)  # without a zone: serial dates are wall-clock times
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_MOMENT = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<minute>[0-9]{2}:[0-9]{2})"
    r"(?:(?P<second>:[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r" ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)


class Cell(NamedTuple):
    """One cell, classified; at most one of number and boolean is there, and neither for text."""

    text: str
    """As displayed; "" also for a cell that is empty."""
    number: float | int | None = None
    """Of a number cell, or of text that is a number."""
    boolean: bool | None = None
    is_native: bool = False
    """The sheet itself holds a number, not text that looks like one."""
    is_empty: bool = False

    @property
    def is_text(self) -> bool:
        return self.number is None and self.boolean is None and not self.is_empty


EMPTY = Cell(text="", is_empty=True)


def classify(text: str, value: object) -> Cell:
    """Make a cell of its displayed text and its typed value (None or "" where it is empty)."""
    if isinstance(value, bool):
        return Cell(text, boolean=value)
    if isinstance(value, int | float):
        return Cell(text, number=value, is_native=True)
    if not text and not value:
        return EMPTY
    return Cell(text, number=number_in(text))


def number_in(text: str) -> float | None:
    """The number that a text is, or None."""
    if _NUMBER.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def plain_notation(number: float | int) -> str:
    """A number without exponent, separators or a needless fraction: 1250, -0.5."""
    text = f"{Decimal(repr(number + 0)):f}"  # + 0: there is no -0 in plain notation
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_date(cell: Cell) -> bool:
    """A number cell that displays something which is no number, whatever its format adds."""
    return cell.is_native and number_in(_undecorated(cell.text)) is None and cell.text != ""


def serial_in(text: str) -> float | None:
    """The serial date of an ISO 8601 date or date with time: wall clock, any offset dropped."""
    match = _MOMENT.fullmatch(text)
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
    return "".join(
        character
        for character in text
        if character not in "%,'’" and unicodedata.category(character) not in ("Sc", "Zs")
    )
