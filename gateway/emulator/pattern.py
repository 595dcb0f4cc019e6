"""Numbers written in a number format: dates, times, grouping, currency, percent, scientific.

Rules
- Only the formats that entering a value gives are known (`entered`); any other one shows the
  number as the automatic format does.
- `m` is the minute after an hour and the month elsewhere, as in Google's formats.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal

from gateway.emulator.serial import to_moment

EXACT = Context(prec=400)  # the largest double has 309 digits
LITERAL = re.compile(r'"([^"]*)"')
NO_LETTERS = re.compile(r'"[^"]*"|\[[^]]*]')
DATE_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
LETTERS = re.compile(r"y+|m+|d+|h+|s+|am/pm", re.IGNORECASE)
NUMBER = re.compile(
    r"(?P<prefix>[^#0]*)(?P<digits>#,##0|0)(?P<decimals>\.0+)?(?P<exponent>E\+00)?(?P<suffix>%?)"
)
PARTS: dict[str, Callable[[datetime], str]] = {
    "yyyy": lambda moment: f"{moment.year:04}",
    "yy": lambda moment: f"{moment.year % 100:02}",
    "mmmm": lambda moment: f"{moment:%B}",
    "mmm": lambda moment: f"{moment:%b}",
    "mm": lambda moment: f"{moment.month:02}",
    "m": lambda moment: str(moment.month),
    "dd": lambda moment: f"{moment.day:02}",
    "d": lambda moment: str(moment.day),
    "h": lambda moment: str(moment.hour),
    "hh": lambda moment: f"{moment.hour:02}",
    "minute": lambda moment: f"{moment.minute:02}",
    "ss": lambda moment: f"{moment.second:02}",
    "s": lambda moment: str(moment.second),
    "am/pm": lambda moment: "AM" if moment.hour < 12 else "PM",
    "half": lambda moment: str((moment.hour + 11) % 12 + 1),
}


@dataclass(frozen=True, kw_only=True)
class NumberForm:
    """A parsed number format."""

    prefix: str
    is_grouped: bool
    decimals: int
    is_scientific: bool
    is_percent: bool


def is_date(pattern: str | None) -> bool:
    """Does the format show a date or a time?"""
    return pattern is not None and bool(DATE_LETTERS.search(NO_LETTERS.sub("", pattern)))


def written(number: float, pattern: str) -> str | None:
    """The number in the format; None where the format is not known or cannot show it."""
    if is_date(pattern):
        moment = to_moment(number)
        return None if moment is None else _written_moment(moment, pattern)
    form = _parsed(pattern)
    return None if form is None else _written_number(number, form)


def _written_moment(moment: datetime, pattern: str) -> str:
    has_half = "am/pm" in pattern.lower()
    seen_hour = False

    def part(match: re.Match[str]) -> str:
        nonlocal seen_hour
        letters = match[0].lower()
        if letters.startswith("h"):
            seen_hour = True
            letters = "half" if has_half else letters
        elif letters.startswith("m") and seen_hour:
            letters = "minute"
        return PARTS[letters](moment) if letters in PARTS else match[0]

    return LETTERS.sub(part, pattern)


def _parsed(pattern: str) -> NumberForm | None:
    match = NUMBER.fullmatch(LITERAL.sub(r"\1", pattern))
    if match is None:
        return None
    return NumberForm(
        prefix=match["prefix"],
        is_grouped="," in match["digits"],
        decimals=len(match["decimals"] or ".") - 1,
        is_scientific=bool(match["exponent"]),
        is_percent=bool(match["suffix"]),
    )


def _written_number(number: float, form: NumberForm) -> str:
    exact = Decimal(repr(number)) * (100 if form.is_percent else 1)
    if form.is_scientific:
        return f"{number:.{form.decimals}E}"
    rounded = exact.quantize(Decimal(1).scaleb(-form.decimals), ROUND_HALF_UP, EXACT)
    sign = "-" if rounded < 0 else ""
    digits = f"{rounded.copy_abs():{',' if form.is_grouped else ''}f}"
    return f"{sign}{form.prefix}{digits}{'%' if form.is_percent else ''}"
