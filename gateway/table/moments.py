"""Dates, times of day and durations: in displays of numbers, in texts, and as JSON text.

Rules
- A number is a moment if each group of digits on its display is a part of the moment that its
  serial number names, and if these parts say enough. The display decides that it is a moment, the
  serial number which one. There is no locale, and no list of months' names.
- A display cuts or rounds its last unit: 9:59:59.9996 is displayed as 9:59:59 or as 10:00:00.
- In doubt it is a number: digits in plain notation (`10.30`, `2026`), with a sign of a currency or
  percent, with an exponent, and digits that are those of the number itself (`SKU-1905`).
- No text and no finite number raises an error, and a long text costs no more than a short one.
"""

import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from datetime import datetime, time, timedelta
from itertools import permutations
from typing import NamedTuple

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
"""Milliseconds."""

LONGEST_DISPLAY = 100
"""Characters; a longer display of a number is no moment."""

LONGEST_CLOCK = 2**50
"""Milliseconds; up to here a double holds a serial number to the millisecond."""

_EPOCH = datetime(1899, 12, 30)  # without a zone: serial numbers are wall-clock times
_FIRST = (datetime.min - _EPOCH) // timedelta(milliseconds=1)
_END = (datetime.max - _EPOCH) // timedelta(milliseconds=1) + 1
_MOST_GROUPS = 7  # year, month, day, hour, minute, second, fraction

_CURRENCY = "$¢-¥֏؋৲৳৻૱௹฿៛₠-⃏﷼﹩＄￠￡￥￦"
_NUMBER = re.compile(
    rf"[-+(]?\s*[{_CURRENCY}]?\s*[-+(]?"
    r"(?:\d{1,3}(?:[.,'’\s]\d{3})*|\d+)(?:[.,]\d+)?(?:[eE][-+]?\d+)?"
    rf"\s*[%{_CURRENCY}]?\s*\)?"
)
_SIGN_OF_A_NUMBER = re.compile(rf"[%‰{_CURRENCY}]|\d[eE][-+]\d")
_GROUP = re.compile(r"(\d+)")
_IN_A_NUMBER = frozenset(".,'’ \u00a0\u202f")
_LETTER = re.compile(r"[^\W\d_]")
_NAME = re.compile(r"[^\W\d_][^\W\d_A-Z]{2,}|[^\W\d_\x00-\x7f].*?[^\W\d_\x00-\x7f]")
"""A month's name, at least: three letters that are no capitals, or two that are not ASCII."""
_CLOCK_MARK = re.compile(r"\s*(?::|\.|-|[^\W\d_]+\.?)\s*|\s")
_ENOUGH: Mapping[int, Collection[str]] = {
    0: (), 1: (), 2: ("Ym", "mY", "Yd", "dY", "ym", "my", "md", "dm"),
    3: [*map("".join, (*permutations("Ymd"), *permutations("ymd")))],
}  # fmt: skip
"""Parts of a day that say enough, by their number: a year of 4 (Y) or 2 digits (y), month, day."""
_ENOUGH_WITH_NAME: Mapping[int, Collection[str]] = {
    **_ENOUGH, 1: ("Y", "y", "d"), 2: (*_ENOUGH[2], "yd", "dy"),
}  # fmt: skip
"""The same with a month's name."""
_ROUNDINGS = ((1, 0.5), (1, 0), (10, 5), (100, 50), (SECOND, 500), (MINUTE, 30_000))
"""Units of milliseconds to which a display is cut, and what is added before."""

_TIME = r"(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
_DATE_TIME = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    rf"(?:[Tt ](?P<hour>[0-9]{{2}}):{_TIME} ?(?P<offset>[Zz]|[+-][0-9]{{2}}(?::?[0-9]{{2}})?)?)?"
)
_CLOCK = re.compile(rf"(?P<sign>-?)(?P<hour>[0-9]{{1,9}}):{_TIME}")
_LENGTH = re.compile(
    r"(?P<sign>-?)PT(?=[0-9])(?:(?P<hour>[0-9]{1,9})H)?(?:(?P<minute>[0-9]{1,12})M)?"
    r"(?:(?P<second>[0-9]{1,12})(?:[.,](?P<fraction>[0-9]{1,9}))?S)?"
)
_LONGEST_TEXT = 60


class Moment(NamedTuple):
    """A date, a date with time, a time of day or a duration, to the millisecond.

    `milliseconds` is the wall-clock time since 1899-12-30T00:00, or the length of a clock, which
    may be negative. `is_clock` is True for times of day and durations, `is_day` for a date without
    a clock, `has_offset` for a text with a UTC offset, which is not applied.
    """

    milliseconds: int
    is_clock: bool
    is_day: bool = False
    has_offset: bool = False


def displayed_moment(text: str, serial: float) -> Moment | None:
    """The moment that a cell with this number displays as `text`; None if it is a number."""
    if len(text) > LONGEST_DISPLAY or _NUMBER.fullmatch(text) is not None:
        return None
    exact = serial * DAY
    pieces = _GROUP.split(text)  # groups of digits at odd places
    if (
        not 3 <= len(pieces) <= 2 * _MOST_GROUPS + 1
        or not -LONGEST_CLOCK <= exact <= LONGEST_CLOCK
        or _SIGN_OF_A_NUMBER.search(text) is not None
        or _is_number_itself(pieces, serial)
    ):
        return None
    if any(_is_length(pieces, size) for size in _displayed(abs(exact))):
        return Moment(round(exact), is_clock=True)
    has_name = _NAME.search(" ".join(pieces[::2])) is not None
    for shown in _displayed(exact):
        if _FIRST <= shown < _END:
            at = _EPOCH + timedelta(milliseconds=shown)
            parts = _parts(pieces, at, has_name=has_name)
            if parts is not None:
                return _moment(round(exact), *parts)
    return None


def moment_in(text: str) -> Moment | None:
    """The moment of an ISO 8601 date, date with time, clock (`25:30:00`) or duration (`PT25H30M`).

    Milliseconds are rounded as those of serial numbers. None for other texts, and for what is out
    of the calendar or longer than `LONGEST_CLOCK`.
    """
    if not 3 <= len(text) <= _LONGEST_TEXT:
        return None
    match = _DATE_TIME.fullmatch(text)
    if match is not None:
        return _date_in(match)
    match = _CLOCK.fullmatch(text) or _LENGTH.fullmatch(text)
    return None if match is None else _clock_in(match)


def moment_text(moment: Moment) -> str:
    """`2026-02-01`, `2026-02-01T10:30:00`, `10:30:00`, or `PT25H30M` if negative or 24 h and more.

    Milliseconds are there only if there are any.
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
    """The serial number to store: days since 1899-12-30, or the days that a clock is long."""
    return moment.milliseconds / DAY


def _moment(milliseconds: int, has_day: bool, has_clock: bool) -> Moment | None:
    """The moment that displays these parts; None if rounding takes it out of the calendar."""
    if not has_day and 0 <= milliseconds < DAY:
        return Moment(milliseconds, is_clock=True)
    is_day = not has_clock and milliseconds % DAY == 0
    return Moment(milliseconds, False, is_day) if _FIRST <= milliseconds < _END else None


def _date_in(match: re.Match[str]) -> Moment | None:
    """The date or date with time that matches; None if there is no such day or time."""
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    try:
        at = datetime.fromisoformat(match["day"]).replace(hour=hour, minute=minute, second=second)
    except ValueError:
        return None
    whole = (at - _EPOCH) // timedelta(milliseconds=1)
    milliseconds = round(whole + _fraction_of(match))
    if milliseconds >= _END:
        return None
    is_day = match["hour"] is None
    return Moment(milliseconds, is_clock=False, is_day=is_day, has_offset=bool(match["offset"]))


def _clock_in(match: re.Match[str]) -> Moment | None:
    """The clock or duration that matches; None if it is too long."""
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    size = round(hour * HOUR + minute * MINUTE + second * SECOND + _fraction_of(match))
    if size > LONGEST_CLOCK:
        return None
    return Moment(-size if match["sign"] else size, is_clock=True)


def _fraction_of(match: re.Match[str]) -> float:
    """The fraction of a second, in milliseconds."""
    return float(f"0.{match['fraction'] or 0}") * SECOND


def _is_number_itself(pieces: Sequence[str], serial: float) -> bool:
    """True if the digits are those of the number, cut or rounded, with or without decimals."""
    if any(mark not in _IN_A_NUMBER for mark in pieces[2:-1:2]):
        return False
    digits, size = int("".join(pieces[1::2])), abs(serial)
    scaled = size * 10 ** len(pieces[-2])
    return digits in (round(size), int(size), round(scaled), int(scaled))


def _displayed(exact: float) -> Iterator[int]:
    """The milliseconds that a display may name: rounded, cut, or rounded to its last unit."""
    seen = set()
    for unit, half in _ROUNDINGS:
        milliseconds = int((exact + half) // unit) * unit
        if milliseconds not in seen:
            seen.add(milliseconds)
            yield milliseconds


def _is_length(pieces: Sequence[str], size: int) -> bool:
    """True if the display names this length by hours or minutes in all, or by one unit of time."""
    marks, first = pieces[2:-1:2], int(pieces[1])
    if not marks:
        is_unit = _LETTER.search(pieces[2]) is not None
        return is_unit and any(first == size // unit != 0 for unit in (HOUR, MINUTE, SECOND))
    if not _is_clock(marks):
        return False
    if first == size // HOUR and _clock_end(pieces, 1, size) == len(pieces):
        return True
    is_minute = ":" in marks[0] and first == size // MINUTE
    return is_minute and _second_end(pieces, 1, size) == len(pieces)


def _parts(pieces: Sequence[str], at: datetime, *, has_name: bool) -> tuple[bool, bool] | None:
    """Which of day and clock of this moment is displayed; None if another, or too little of it."""
    groups = pieces[1::2]
    if _is_day(groups, at, has_name=has_name) and not _is_decimal(pieces):
        return True, False
    milliseconds = (at - datetime.combine(at, time())) // timedelta(milliseconds=1)
    hours = {f"{at.hour}", f"{at.hour:02}"}
    if _LETTER.search("".join(pieces[::2])) is not None:  # AM and PM, in any language
        hours |= {f"{at.hour % 12 or 12}", f"{at.hour % 12 or 12:02}"}
    for place in range(1, len(pieces), 2):
        if pieces[place] not in hours:
            continue
        end = _clock_end(pieces, place, milliseconds)
        rest = [*pieces[1:place:2], *pieces[end::2]]
        if not rest:
            return (False, True) if end > place + 2 and _is_clock(pieces[2:-1:2]) else None
        is_clock = end > place + 2 or _is_hour_alone(pieces, place)
        if is_clock and _is_day(rest, at, has_name=has_name):
            return True, True
    return None


def _is_day(groups: Sequence[str], at: datetime, *, has_name: bool) -> bool:
    """True if each group is another part of this day, and they say enough."""
    if len(groups) > 3:
        return False
    spellings = {
        "Y": (f"{at.year:04}",),
        "y": (f"{at.year % 100:02}",),
        "m": (f"{at.month}", f"{at.month:02}"),
        "d": (f"{at.day}", f"{at.day:02}"),
    }
    return any(
        all(group in spellings[part] for group, part in zip(groups, parts, strict=True))
        for parts in (_ENOUGH_WITH_NAME if has_name else _ENOUGH)[len(groups)]
    )


def _clock_end(pieces: Sequence[str], place: int, milliseconds: int) -> int:
    """The place after the clock that begins with the hour at `place`."""
    minute = milliseconds // MINUTE % 60
    if not _follows(pieces, place, (f"{minute:02}", f"{minute}")):
        return place + 2
    return _second_end(pieces, place + 2, milliseconds)


def _second_end(pieces: Sequence[str], place: int, milliseconds: int) -> int:
    """The place after the second and its fraction that follow the minute at `place`."""
    second = milliseconds // SECOND % 60
    if not _follows(pieces, place, (f"{second:02}", f"{second}")):
        return place + 2
    if place + 4 < len(pieces) and pieces[place + 3] in (".", ","):
        digits = pieces[place + 4]
        if f"{milliseconds % SECOND:03}"[: len(digits)].ljust(len(digits), "0") == digits:
            return place + 6
    return place + 4


def _follows(pieces: Sequence[str], place: int, spellings: Container[str]) -> bool:
    """True if the next part of a clock follows the one at `place`."""
    is_there = place + 2 < len(pieces) and pieces[place + 2] in spellings
    return is_there and _CLOCK_MARK.fullmatch(pieces[place + 1]) is not None


def _is_clock(marks: Sequence[str]) -> bool:
    """True for the marks of a clock without a date: `:` or letters, or points between three."""
    return (
        ":" in marks[0]
        or _LETTER.search(marks[0]) is not None
        or (len(marks) > 1 and marks[0] == marks[1] == ".")
    )


def _is_hour_alone(pieces: Sequence[str], place: int) -> bool:
    """True for a group beside letters, as the hour of `4 PM` is, and no decimals."""
    before, after = pieces[place - 1], pieces[place + 1].lstrip()
    is_named = _LETTER.match(after) is not None or _LETTER.search(before) is not None
    return is_named and before[-1:] not in (".", ",") and after[:1] not in (".", ",")


def _is_decimal(pieces: Sequence[str]) -> bool:
    """True for two groups about a point or comma, as those of `14.2k`, but not for `1.2.`."""
    return len(pieces) == 5 and pieces[2] in (".", ",") and not pieces[4].startswith(".")
