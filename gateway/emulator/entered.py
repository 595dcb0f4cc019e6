"""What a cell holds after a text was typed into it (USER_ENTERED, en_US) or stored as it is (RAW).

Rules
- Sources: `0042`, `2,000,000.01`, ISO dates, `50%`, `$1,234.50`, `TRUE`, `'` and `3_1_0` are
  recorded or pinned by other projects against Google; the rest follows Google's documentation.
- A text that is nothing else stays the text it is, blanks included.
- Dates without a year and durations of a day and more are left as text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from re import Match, Pattern

from gateway.emulator.cell import BLANK, Cell, CellValue, Json, number_format
from gateway.emulator.serial import from_moment, from_time

BOOLEANS = {"true": True, "false": False}
DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
NUMBER = re.compile(
    rf"(?P<sign>[+-])?(?P<currency>\$)?(?P<sign2>[+-])?"
    rf"(?P<digits>{DIGITS}(?:\.\d*)?|\.\d+)(?P<exponent>[eE][+-]?\d+)?(?P<percent>\s?%)?",
    re.ASCII,
)
TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:\s?(?P<half>[AaPp][Mm]))?"
DATES = (
    r"(?P<year>\d{4})(?P<mark>[-/])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
    r"(?P<month>\d{1,2})(?P<mark>[-/])(?P<day>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})",
    r"(?P<month>[A-Za-z]{3,9})\s(?P<day>\d{1,2}),\s?(?P<year>\d{4})",
    r"(?P<day>\d{1,2})(?P<mark>[ -])(?P<month>[A-Za-z]{3,9})(?P=mark)(?P<year>\d{4})",
)
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
MONTH_NUMBERS = {name.lower(): number for number, name in enumerate(MONTHS, start=1)} | {
    name[:3].lower(): number for number, name in enumerate(MONTHS, start=1)
}
FIRST_YEAR_OF_1900S = 30  # a year of two digits: 30 is 1930, 29 is 2029


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A form of typed text and the cell that its match becomes; None: not a cell of this form."""

    pattern: Pattern[str]
    cell: Callable[[Match[str]], Cell | None]


def stored(value: CellValue) -> Cell:
    """The cell of a JSON value under RAW: types stay, the empty string is a blank."""
    return BLANK if value == "" else Cell(value=value)


def entered(value: CellValue) -> Cell:
    """The cell of a JSON value under USER_ENTERED: strings are read as typed by a person."""
    return typed(value) if isinstance(value, str) else Cell(value=value)


def typed(text: str) -> Cell:
    """The cell that a typed text becomes."""
    if text.startswith("'"):
        return stored(text[1:])
    if text.startswith("=") and len(text) > 1:
        return Cell(formula=text)
    bare = text.strip()
    if bare.lower() in BOOLEANS:
        return Cell(value=BOOLEANS[bare.lower()])
    for reader in READERS:
        match = reader.pattern.fullmatch(bare)
        cell = reader.cell(match) if match else None
        if cell is not None:
            return cell
    return stored(text)


def _number(match: Match[str]) -> Cell | None:
    signs = [sign for sign in (match["sign"], match["sign2"]) if sign]
    if len(signs) > 1 or (match["sign2"] and not match["currency"]):
        return None
    value = float(match["digits"].replace(",", "") + (match["exponent"] or ""))
    if value in (float("inf"), float("-inf")):
        return None
    value = -value if signs == ["-"] else value
    return Cell(value=value / 100 if match["percent"] else value, format=_number_format(match))


def _number_format(match: Match[str]) -> Json | None:
    """The number format that Google gives a number for the way it was typed."""
    decimals = ".00" if re.search(r"\.\d", match["digits"]) else ""
    if match["percent"]:
        return number_format("PERCENT", f"0{decimals}%")
    if match["exponent"]:
        return number_format("SCIENTIFIC", "0.00E+00")
    if match["currency"]:
        return number_format("CURRENCY", f'"$"#,##0{decimals}')
    return number_format("NUMBER", f"#,##0{decimals}") if "," in match["digits"] else None


def _dated(match: Match[str]) -> Cell | None:
    parts = match.groupdict()
    month = MONTH_NUMBERS.get(parts["month"].lower()) or _digits(parts["month"])
    clock = _clock(parts)
    if month is None or clock is None:
        return None
    try:
        moment = datetime(_year(parts["year"]), month, int(parts["day"]), *clock)
    except ValueError:
        return None
    pattern = " ".join(part for part in (_date_pattern(match), _time_pattern(parts)) if part)
    kind = "DATE" if parts.get("hour") is None else "DATE_TIME"
    return Cell(value=from_moment(moment), format=number_format(kind, pattern))


def _timed(match: Match[str]) -> Cell | None:
    parts = match.groupdict()
    clock = _clock(parts)
    if clock is None:
        return None
    hour, minute, second = clock
    serial = from_time(hour=hour, minute=minute, second=second)
    return Cell(value=serial, format=number_format("TIME", _time_pattern(parts)))


def _clock(parts: dict[str, str | None]) -> tuple[int, int, int] | None:
    """Hour, minute, second; midnight where no time was typed, None where there is no such time."""
    hour, minute, second = (int(parts.get(part) or 0) for part in ("hour", "minute", "second"))
    half = (parts.get("half") or "").lower()
    if minute > 59 or second > 59 or hour > 23 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour, minute, second


def _year(text: str) -> int:
    year = int(text)
    if len(text) == 4:
        return year
    return year + (1900 if year >= FIRST_YEAR_OF_1900S else 2000)


def _digits(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _date_pattern(match: Match[str]) -> str:
    """The typed date with each part replaced by its letters: `1/02/2020` gives `m/dd/yyyy`."""
    parts = sorted(("year", "month", "day"), key=match.start)
    text, done = "", match.start(parts[0])
    for part in parts:
        text += match.string[done : match.start(part)] + _letters(part, match[part])
        done = match.end(part)
    return text


def _letters(part: str, text: str) -> str:
    if part == "month" and not text.isdecimal():
        return "mmm" if len(text) == 3 else "mmmm"
    return part[0] * len(text)


def _time_pattern(parts: dict[str, str | None]) -> str:
    if parts.get("hour") is None:
        return ""
    seconds = ":ss" if parts.get("second") is not None else ""
    half = " am/pm" if parts.get("half") else ""
    return f"h:mm{seconds}{half}"


READERS = (
    Reader(pattern=NUMBER, cell=_number),
    Reader(pattern=re.compile(TIME, re.ASCII), cell=_timed),
    *(Reader(pattern=re.compile(rf"{form}(?:\s{TIME})?", re.ASCII), cell=_dated) for form in DATES),
)
