"""Typed dates, times and durations in the locale en_US.

Rules:
- The behaviour of ISO dates is recorded from Google. Dates with day and month swapped stay text
  (reported by users). All else follows Google's documentation and the common behaviour of Sheets.
- The number format displays the date as typed, but hours without a leading zero.
- These texts stay text, because the behaviour is unknown or depends on the current date: dates
  without a year, without a day or with a weekday, `T` between date and time, years before 1000,
  dots between the parts, a single hour.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from re import Match

from sheets_emulator.formats.serial import MONTHS, from_moment, from_time
from sheets_emulator.grid.cell import Cell, number_format
from sheets_emulator.reply import Json

TIME = (
    r"(?P<hour>\d{1,2}|[1-9]\d{2,3}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,3}))?)?(?: ?(?P<half>[AaPp][Mm]))?"
)
DATES = (
    r"(?P<year>[1-9]\d{3})(?P<mark>[-/])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
    r"(?P<month>\d{1,2})(?P<mark>[-/])(?P<day>\d{1,2})(?P=mark)(?P<year>[1-9]\d{3}|\d{2})",
    r"(?P<month>[A-Za-z]{3,9}) (?P<day>\d{1,2})(?:, ?| )(?P<year>[1-9]\d{3})",
    r"(?P<day>\d{1,2}) (?P<month>[A-Za-z]{3,9}) (?P<year>[1-9]\d{3})",
    r"(?P<day>\d{1,2})-(?P<month>[A-Za-z]{3,9})-(?P<year>[1-9]\d{3}|\d{2})",
)
TIME_FORM = re.compile(TIME, re.ASCII)
DATE_FORMS = tuple(re.compile(rf"{form}(?: {TIME})?", re.ASCII) for form in DATES)
MONTH_NUMBERS = {name.lower(): number for number, name in enumerate(MONTHS, start=1)} | {
    name[:3].lower(): number for number, name in enumerate(MONTHS, start=1)
}
FIRST_YEAR_OF_1900S = 30  # two-digit years: 30 is 1930, 29 is 2029
HOURS_OF_DAY = 24

Parts = Mapping[str, str | None]


def typed_date(text: str) -> Cell | None:
    """Return the cell of a typed date, time or duration, or None for other texts."""
    time = TIME_FORM.fullmatch(text)
    if time:
        return _timed(time.groupdict())
    dates = (form.fullmatch(text) for form in DATE_FORMS)
    return next((_dated(match) for match in dates if match), None)


def _timed(parts: Parts) -> Cell | None:
    clock = _clock(parts)
    if clock is None:
        return None
    hour, minute, second, millisecond = clock
    serial = from_time(hour=hour, minute=minute, second=second, millisecond=millisecond)
    return Cell(value=serial, format=_time_format(parts, hour))


def _time_format(parts: Parts, hour: int) -> Json:
    if hour < HOURS_OF_DAY:
        return number_format("TIME", _time_pattern(parts))
    return number_format("TIME", f"[h]:mm:ss{_fraction_pattern(parts)}")


def _dated(match: Match[str]) -> Cell | None:
    parts = match.groupdict()
    moment = _moment(parts)
    if moment is None:
        return None
    if parts["hour"] is None:
        return Cell(value=from_moment(moment), format=number_format("DATE", _date_pattern(match)))
    pattern = f"{_date_pattern(match)} {_time_pattern(parts)}"
    return Cell(value=from_moment(moment), format=number_format("DATE_TIME", pattern))


def _moment(parts: Parts) -> datetime | None:
    clock = _clock(parts)
    month = _month(parts["month"] or "")
    if clock is None or month is None:
        return None
    hour, minute, second, millisecond = clock
    try:
        day = datetime(_year(parts["year"] or ""), month, int(parts["day"] or ""))
        return day.replace(hour=hour, minute=minute, second=second, microsecond=millisecond * 1000)
    except ValueError:
        return None


def _clock(parts: Parts) -> tuple[int, int, int, int] | None:
    """Return hour, minute, second and millisecond, or None if the time is invalid.

    Without a typed time the result is midnight.
    """
    hour, minute, second = (int(parts[part] or 0) for part in ("hour", "minute", "second"))
    half = (parts["half"] or "").lower()
    if minute > 59 or second > 59 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour, minute, second, int((parts["fraction"] or "").ljust(3, "0"))


def _month(text: str) -> int | None:
    return int(text) if text.isdecimal() else MONTH_NUMBERS.get(text.lower())


def _year(text: str) -> int:
    year = int(text)
    if len(text) == 4:
        return year
    return year + (1900 if year >= FIRST_YEAR_OF_1900S else 2000)


def _date_pattern(match: Match[str]) -> str:
    """Return the number format of a typed date: `01/02/2020` gives `mm/dd/yyyy`."""
    parts = sorted(("year", "month", "day"), key=match.start)
    is_padded = parts[0] == "year" or any(match[part].startswith("0") for part in ("month", "day"))
    text, done = "", 0
    for part in parts:
        text += match.string[done : match.start(part)] + _letters(part, match[part], is_padded)
        done = match.end(part)
    return text


def _letters(part: str, text: str, is_padded: bool) -> str:
    if part == "month" and not text.isdecimal():
        return "mmm" if len(text) == 3 else "mmmm"
    return part[0] * len(text) if is_padded or part == "year" else part[0]


def _time_pattern(parts: Parts) -> str:
    seconds = "" if parts["second"] is None else f":ss{_fraction_pattern(parts)}"
    return f"h:mm{seconds}{' am/pm' if parts['half'] else ''}"


def _fraction_pattern(parts: Parts) -> str:
    return f".{'0' * len(parts['fraction'])}" if parts["fraction"] else ""
