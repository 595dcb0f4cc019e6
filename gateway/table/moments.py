"""Dates, times of day and durations (together: moments), in displayed texts and as JSON text.

Rules
- Google stores a moment as a number of days (serial number). The displayed text decides whether a
  number is a moment, and the serial number decides which moment. A number is a moment if each group
  of digits in its displayed text is a part (such as the month or the minute) of the moment of its
  serial number, and if these parts are enough for a date or a time. No locale and no names of
  months are used.
- A number format cuts or rounds the last displayed unit: 9:59:59.9996 is displayed as 9:59:59 or as
  10:00:00.
- Ambiguous displayed texts are numbers: plain notation (`10.30`, `2026`), a currency or percent
  sign, an exponent, and the digits of the number itself (`SKU-1905`).
- No text and no finite number raises an error. Long texts are not parsed.
"""

import math
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
"""Units of time in milliseconds."""

LONGEST_DISPLAY = 100
"""Maximum characters of a displayed text that is parsed as a date or time."""

LONGEST_CLOCK = 2**50
"""Maximum milliseconds of a duration. A float of days is not exact enough for a longer one."""

_EPOCH = datetime(1899, 12, 30)  # without a zone: serial numbers are wall-clock times
EPOCH_DAY = _EPOCH.toordinal()
"""Day number of the serial number 0, as in `date.toordinal`."""
_FIRST = (datetime.min - _EPOCH) // timedelta(milliseconds=1)
_END = (datetime.max - _EPOCH) // timedelta(milliseconds=1) + 1
_MOST_GROUPS = 7  # year, month, day, hour, minute, second, fraction

_CURRENCY = "$¢-¥֏؋৲৳৻૱௹฿៛₠-⃏﷼﹩＄￠￡￥￦"
NUMBER_DISPLAY = re.compile(
    rf"[-+(]?\s*+[{_CURRENCY}]?\s*+[-+(]?"
    r"(?:\d{1,3}(?:[.,'’\s]\d{3})++|\d++)(?:[.,]\d++)?(?:[eE][-+]?\d++)?"
    rf"\s*+[%{_CURRENCY}]?\s*+\)?"
)
"""Pattern of displayed numbers, with separators, currency or percent signs."""
_NUMBER_SIGN = re.compile(rf"[%‰{_CURRENCY}]")
_EXPONENT = re.compile(r"[0-9][eE][-+][0-9]")
_GROUP = re.compile(r"([0-9]+)")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")  # of another script, as Arabic
_LETTER = re.compile(r"[^\W\d_]")
_NAME = re.compile(r"[^\W\d_][^\W\d_A-Z]{2,}|[^\W\d_\x00-\x7f].*?[^\W\d_\x00-\x7f]")
"""Pattern of a month's name: three letters, not all capitals, or two letters beyond ASCII."""
_IN_A_NUMBER = frozenset(".,'’ \u00a0\u202f")
_MINUS = ("-", "(")
"""Signs of negative durations."""
_CLOCK_SIGN = re.compile(r"[^\W\d_]|:")
_CLOCK_MARK = re.compile(r"\s*(?::|\.|-|[^\W\d_]+\.?)\s*|\s")
_SPELLED = tuple((f"{part}", f"{part:02}") for part in range(60))
"""The one or two spellings of a month, day, hour, minute or second, such as `7` and `07`."""
_ROUNDED_TO = (10, 100, SECOND, MINUTE)
"""Units, in milliseconds, to which number formats round."""

_TIME = r"([0-5][0-9])(?::([0-5][0-9])(?:[.,]([0-9]{1,9}))?)?"
_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    rf"(?:[Tt ]([01][0-9]|2[0-3]):{_TIME} ?([Zz]|[+-][0-9]{{2}}(?::?[0-9]{{2}})?)?)?"
)
_CLOCK = re.compile(rf"(-?)([0-9]{{1,9}}):{_TIME}")
_LENGTH = re.compile(
    r"(-?)PT(?=[0-9])(?:([0-9]{1,9})H)?(?:([0-9]{1,12})M)?"
    r"(?:([0-9]{1,12})(?:[.,]([0-9]{1,9}))?S)?"
)
_LONGEST_TEXT = 60


class Moment(NamedTuple):
    """Date, date with time, time of day, or duration."""

    milliseconds: int
    """Milliseconds since 1899-12-30T00:00 in local time, or since midnight for a time of day.

    The milliseconds of a duration are its length, which can be negative.
    """
    is_clock: bool
    """True for a time of day or a duration."""
    is_day: bool = False
    """True for a date without a time."""
    has_offset: bool = False
    """True if the text has a UTC offset, which `milliseconds` ignores."""


def displayed_moment(text: str, serial: float) -> Moment | None:
    """Date, time or duration of a cell, or None if the cell is an ordinary number.

    `text` is the displayed text. `serial` is the typed value, Google's serial number.
    """
    if len(text) > LONGEST_DISPLAY or NUMBER_DISPLAY.fullmatch(text) is not None:
        return None
    if not text.isascii():
        text = _OTHER_DIGIT.sub(lambda digit: str(int(digit[0])), text)
    exact = serial * DAY
    if not -LONGEST_CLOCK <= exact <= LONGEST_CLOCK:
        return None
    named = moment_in(text)
    if named is not None and named.milliseconds == round(exact) and not named.has_offset:
        return named
    pieces = _GROUP.split(text)  # groups of digits at odd places
    if (
        not 3 <= len(pieces) <= 2 * _MOST_GROUPS + 1
        or _NUMBER_SIGN.search(text) is not None
        or _is_number_itself(pieces, serial)
    ):
        return None
    has_letter = _LETTER.search(text) is not None
    if _EXPONENT.search(text) is not None if has_letter else len(pieces) == 3:
        return None
    has_name = has_letter and _NAME.search(text) is not None
    has_minus = exact < 0 and pieces[0][-1:] in _MINUS
    for shown in _displayed(exact):
        if has_minus and _is_length(pieces, -shown, has_letter=has_letter):
            return Moment(round(exact), is_clock=True)  # -12h 00m, not noon of the day before
        if _FIRST <= shown < _END:
            parts = _parts(pieces, shown, has_letter=has_letter, has_name=has_name)
            if parts is not None:
                return _moment(round(exact), *parts)
        if _is_length(pieces, abs(shown), has_letter=has_letter):
            return Moment(round(exact), is_clock=True)
    return None


def moment_in(text: str) -> Moment | None:
    """Parse an ISO 8601 date, date with time, time (`25:30:00`) or duration (`PT25H30M`).

    Fractions are rounded to milliseconds. Returns None for other texts, for dates that do not
    exist, and for times and durations longer than `LONGEST_CLOCK`.
    """
    if not 3 <= len(text) <= _LONGEST_TEXT:
        return None
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        match = _CLOCK.fullmatch(text) or _LENGTH.fullmatch(text)
        if match is None:
            return None
        sign, *clock = match.groups()
        size = _clock(0, *clock)
        return None if size > LONGEST_CLOCK else Moment(-size if sign else size, is_clock=True)
    day, hour, minute, second, fraction, offset = match.groups()
    try:
        days = date.fromisoformat(day).toordinal() - EPOCH_DAY
    except ValueError:  # there is no such day
        return None
    if hour is None:
        return Moment(days * DAY, is_clock=False, is_day=True)
    size = _clock(days * DAY, hour, minute, second, fraction)
    return None if size >= _END else Moment(size, False, False, offset is not None)


def moment_text(moment: Moment) -> str:
    """Format a date or time as JSON text: `2026-02-01`, `2026-02-01T10:30:00`, or `10:30:00`.

    A duration that is negative, or 24 hours or longer, is formatted as `PT25H30M`. Milliseconds are
    left out if they are 0.
    """
    size = moment.milliseconds
    if not moment.is_clock:
        at = _EPOCH + timedelta(milliseconds=size)
        if moment.is_day:
            return at.date().isoformat()
        return at.isoformat(timespec="milliseconds" if size % SECOND else "seconds")
    if 0 <= size < DAY:
        clock = f"{size // HOUR:02}:{size % HOUR // MINUTE:02}:{size % MINUTE // SECOND:02}"
        return f"{clock}.{size % SECOND:03}" if size % SECOND else clock
    sign, size = ("-", -size) if size < 0 else ("", size)
    seconds = f"{size % MINUTE // SECOND}.{size % SECOND:03}".rstrip("0").rstrip(".")
    parts = ((size // HOUR, "H"), (size % HOUR // MINUTE, "M"), (seconds, "S"))
    return f"{sign}PT{''.join(f'{part}{unit}' for part, unit in parts if part not in (0, '0'))}"


def serial_of(moment: Moment) -> float:
    """Google's serial number: days since 1899-12-30, or a time of day or duration in days."""
    return moment.milliseconds / DAY


def _moment(milliseconds: int, has_day: bool, has_clock: bool) -> Moment | None:
    """Make a moment, or return None if `milliseconds` are outside the calendar."""
    if not has_day and 0 <= milliseconds < DAY:
        return Moment(milliseconds, is_clock=True)
    is_day = not has_clock and milliseconds % DAY == 0
    return Moment(milliseconds, False, is_day) if _FIRST <= milliseconds < _END else None


def _clock(
    start: int, hour: str | None, minute: str | None, second: str | None, fraction: str | None
) -> int:
    whole = start + int(hour or 0) * HOUR + int(minute or 0) * MINUTE + int(second or 0) * SECOND
    return whole if fraction is None else round(whole + float(f"0.{fraction}") * SECOND)


def _is_number_itself(pieces: Sequence[str], serial: float) -> bool:
    """True if the digits of the displayed text are the digits of the number, cut or rounded."""
    if len(pieces) > 5 or (len(pieces) == 5 and pieces[2] not in _IN_A_NUMBER):
        return False
    digits, size = int("".join(pieces[1::2])), abs(serial)
    scales = (1,) if len(pieces) == 3 else (1, 10 ** len(pieces[3]))
    return any(
        -0.5 <= digits - size * scale <= 0.5 or digits == int(size * scale) for scale in scales
    )


def _displayed(exact: float) -> Iterator[int]:
    """Yield each number of milliseconds that a number format can display for an exact value.

    A format rounds to milliseconds, cuts the fraction, or rounds to a unit of `_ROUNDED_TO`.
    """
    nearest, cut = round(exact), math.floor(exact)
    yield nearest
    if nearest == exact and nearest % MINUTE == 0:
        return
    seen = {nearest}
    up = [(nearest + unit // 2) // unit * unit for unit in _ROUNDED_TO]
    down = [-((unit // 2 - nearest) // unit * unit) for unit in _ROUNDED_TO]
    for milliseconds in (cut, *up, *down):
        if milliseconds not in seen:
            seen.add(milliseconds)
            yield milliseconds


def _is_length(pieces: Sequence[str], size: int, *, has_letter: bool) -> bool:
    """True if the displayed text shows a duration of `size` milliseconds.

    `pieces` is the text split at groups of digits. The text shows hours and minutes, minutes and
    seconds, or one unit with its name.
    """
    first = int(pieces[1])
    if len(pieces) == 3:
        is_unit = has_letter and _LETTER.search(pieces[2]) is not None
        return is_unit and any(first == size // unit != 0 for unit in (HOUR, MINUTE, SECOND))
    if first == size // HOUR and _is_clock(pieces) and _clock_end(pieces, 1, size) == len(pieces):
        return True
    is_minute = first == size // MINUTE and ":" in pieces[2]
    return is_minute and _second_end(pieces, 1, size) == len(pieces)


def _parts(
    pieces: Sequence[str], milliseconds: int, *, has_letter: bool, has_name: bool
) -> tuple[bool, bool] | None:
    """Find out whether a displayed text shows the date and the time of a moment.

    `pieces` is the text split at groups of digits. `has_letter` is True if the text has a letter,
    and `has_name` if it has a word that can be a month. Returns (shows the date, shows the time),
    or None if the groups of digits are not a complete date, a complete time, or both.
    """
    days, of_day = divmod(milliseconds, DAY)
    day = date.fromordinal(EPOCH_DAY + days)
    is_day = _is_day(pieces[1::2], day, has_name=has_name) and _is_date(pieces)
    if is_day and days:
        return True, False
    hour = of_day // HOUR
    hours: tuple[str, ...] = _SPELLED[hour]
    if has_letter:  # AM and PM, in any language
        hours += _SPELLED[hour % 12 or 12]
    for place in range(1, len(pieces), 2):
        if pieces[place] not in hours:
            continue
        end = _clock_end(pieces, place, of_day)
        rest = [*pieces[1:place:2], *pieces[end::2]]
        has_minute = end > place + 2
        if not rest and has_minute and _is_clock(pieces):
            return False, True
        is_clock = has_minute or _is_hour_alone(pieces, place)
        if is_clock and _is_day(rest, day, has_name=has_name):
            return True, True
    return (True, False) if is_day else None


def _is_day(groups: Sequence[str], day: date, *, has_name: bool) -> bool:
    """True if the groups of digits are different parts of the date, and enough to identify it.

    With `has_name`, the text also has a word that can be a month.
    """
    if not 0 < len(groups) <= 3:
        return False
    months, days = _SPELLED[day.month], _SPELLED[day.day]
    years = (f"{day.year:04}", f"{day.year % 100:02}")
    if len(groups) == 1:
        return has_name and (groups[0] in days or groups[0] in years)
    if len(groups) == 2:
        for one, other in (groups, groups[::-1]):
            if one in months and (other in days or other in years):
                return True
            if one in days and (other == years[0] or (has_name and other == years[1])):
                return True
        return False
    first, second, third = groups
    for year, one, other in (
        (first, second, third),
        (third, first, second),
        (second, first, third),
    ):
        if year in years and (
            (one in months and other in days) or (one in days and other in months)
        ):
            return True
    return False


def _clock_end(pieces: Sequence[str], place: int, milliseconds: int) -> int:
    """Index in `pieces` of the first group of digits after a time of day.

    `place` is the index of the hour. The next groups are the minute and the second only if they
    equal the minute and the second of `milliseconds`.
    """
    if not _follows(pieces, place, milliseconds // MINUTE % 60):
        return place + 2
    return _second_end(pieces, place + 2, milliseconds)


def _second_end(pieces: Sequence[str], place: int, milliseconds: int) -> int:
    """Index in `pieces` of the first group of digits after the minute, second and fraction.

    `place` is the index of the minute. The second and its fraction can be missing.
    """
    if not _follows(pieces, place, milliseconds // SECOND % 60):
        return place + 2
    if place + 4 < len(pieces) and pieces[place + 3] in (".", ","):
        digits = pieces[place + 4]
        if f"{milliseconds % SECOND:03}"[: len(digits)].ljust(len(digits), "0") == digits:
            return place + 6
    return place + 4


def _follows(pieces: Sequence[str], place: int, part: int) -> bool:
    """True if the group of digits after the group at `place` is `part`, a minute or second.

    A separator of times, such as `:`, must be between the groups.
    """
    is_there = place + 2 < len(pieces) and pieces[place + 2] in _SPELLED[part]
    return is_there and _CLOCK_MARK.fullmatch(pieces[place + 1]) is not None


def _is_clock(pieces: Sequence[str]) -> bool:
    """True if the separators can separate a time: `:`, letters, or points as in `10.30.00`."""
    if _CLOCK_SIGN.search(pieces[2]) is not None:
        return True
    return len(pieces) > 5 and pieces[2] == pieces[4] == "." and len(pieces[3]) == 2


def _is_hour_alone(pieces: Sequence[str], place: int) -> bool:
    """True if the digits at `place` stand next to letters, such as the hour in `4 PM`.

    Digits after or before a decimal point or comma do not count.
    """
    before, after = pieces[place - 1], pieces[place + 1].lstrip()
    is_named = _LETTER.match(after) is not None or _LETTER.search(before) is not None
    return is_named and before[-1:] not in (".", ",") and after[:1] not in (".", ",")


def _is_date(pieces: Sequence[str]) -> bool:
    """False if the first separator has a `:`, or is the only point or comma, as in `14.2k`."""
    if ":" in pieces[2]:
        return False
    return len(pieces) != 5 or pieces[2] not in (".", ",") or pieces[4].startswith(".")
