"""Number format sections for dates, times of day and durations.

Rules:
- `m` is the minute directly after an hour or before a second, otherwise the month. `M` is always
  the month. Zeros are fractions of a second (Google's guide to formats).
- Seconds are rounded to the last displayed digit, with carry, so there is no second 60. Without
  seconds nothing is rounded: 16:08:53 is displayed as 16:08.
- In a duration, the largest unit counts the whole time. Each smaller unit counts the remainder.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from sheets_emulator.formats.format_tokens import DATE_KINDS, Kind, Token, Tokens, has
from sheets_emulator.formats.serial import EPOCH, MONTHS, WEEKDAYS, to_milliseconds

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
UNITS: Mapping[str, int] = {"h": HOUR, "m": MINUTE, "s": SECOND}
Piece = Callable[[int], str]  # displayed text of a token, from milliseconds since 30 December 1899
DAYS: Mapping[str, Callable[[datetime], str]] = {
    "yy": lambda moment: f"{moment.year % 100:02}",
    "yyyy": lambda moment: f"{moment.year:04}",
    "m": lambda moment: str(moment.month),
    "mm": lambda moment: f"{moment.month:02}",
    "mmm": lambda moment: MONTHS[moment.month - 1][:3],
    "mmmm": lambda moment: MONTHS[moment.month - 1],
    "mmmmm": lambda moment: MONTHS[moment.month - 1][0],
    "d": lambda moment: str(moment.day),
    "dd": lambda moment: f"{moment.day:02}",
    "ddd": lambda moment: WEEKDAYS[moment.weekday()][:3],
    "dddd": lambda moment: WEEKDAYS[moment.weekday()],
}
OTHER_LENGTHS = {"y": "yy", "yyy": "yyyy"}
LONGER_FORMS = {"y": "yyyy", "m": "mmmm", "d": "dddd"}  # for other numbers of letters


@dataclass(frozen=True, kw_only=True)
class DateForm:
    """A date or time section: a function per token, and the rounding unit in milliseconds."""

    pieces: tuple[Piece, ...]
    unit_milliseconds: int
    is_duration: bool


def date_form(tokens: Tokens) -> DateForm:
    """Parse the tokens of a section that has date letters, such as `y`."""
    merged = _merged(tokens)
    return DateForm(
        pieces=tuple(_piece(merged, at) for at in range(len(merged))),
        unit_milliseconds=_unit(merged),
        is_duration=has(merged, Kind.ELAPSED),
    )


def written_date(number: float, form: DateForm) -> str | None:
    """Format a serial number as a date, or return None if the year is out of range."""
    milliseconds = to_milliseconds(number)
    if milliseconds is None:
        return None
    is_negative = form.is_duration and milliseconds < 0
    unit = form.unit_milliseconds
    size = -milliseconds if is_negative else milliseconds
    rounded = (size + unit // 2) // unit * unit
    try:
        text = "".join(piece(rounded) for piece in form.pieces)
    except OverflowError:
        return None
    return f"-{text}" if is_negative and rounded else text


def _merged(tokens: Tokens) -> Tokens:
    """Merge adjacent zeros into one token."""
    merged: list[Token] = []
    for is_fraction, run in groupby(tokens, key=_is_zero):
        members = tuple(run)
        if is_fraction:
            merged.append(Token(kind=Kind.DIGIT, text="0" * len(members)))
        else:
            merged += members
    return tuple(merged)


def _is_zero(token: Token) -> bool:
    return token.kind is Kind.DIGIT and token.text[0] == "0"


def _unit(tokens: Tokens) -> int:
    places = max((len(token.text) for token in tokens if _is_zero(token)), default=0)
    if places:
        return int(10 ** max(3 - places, 0))
    is_to_the_second = any(
        token.kind in (Kind.DATE, Kind.ELAPSED) and token.text[0] in "sS" for token in tokens
    )
    return SECOND if is_to_the_second else 1


def _piece(tokens: Tokens, at: int) -> Piece:
    token = tokens[at]
    if _is_zero(token):
        return _fraction(len(token.text))
    if token.kind is Kind.ELAPSED:
        return _elapsed(tokens, token)
    if token.kind is Kind.HALF:
        return _half(token.text)
    if token.kind is Kind.DATE:
        return _letters(tokens, at)
    return lambda _: token.text


def _letters(tokens: Tokens, at: int) -> Piece:
    letters = tokens[at].text.lower()
    if letters[0] == "h":
        return _hour(len(letters), is_half=has(tokens, Kind.HALF))
    if letters[0] == "s":
        return _part(SECOND, MINUTE, len(letters))
    if tokens[at].text in ("m", "mm") and _is_minute(tokens, at):
        return _part(MINUTE, HOUR, len(letters))
    name = OTHER_LENGTHS.get(letters, letters)
    write = DAYS.get(name) or DAYS[LONGER_FORMS[letters[0]]]
    return lambda milliseconds: write(EPOCH + timedelta(milliseconds=milliseconds))


def _is_minute(tokens: Tokens, at: int) -> bool:
    before = next((each for each in reversed(tokens[:at]) if each.kind in DATE_KINDS), None)
    after = next((each for each in tokens[at + 1 :] if each.kind in DATE_KINDS), None)
    return _starts(before, "h") or _starts(after, "s")


def _starts(token: Token | None, letter: str) -> bool:
    return token is not None and token.kind is not Kind.HALF and token.text[0].lower() == letter


def _part(unit: int, whole: int, width: int) -> Piece:
    """Return a function for the text of a time unit, such as the minutes within the hour.

    The text has at least two digits if the format has two or more letters (`width`).
    """
    least = min(width, 2)
    return lambda milliseconds: f"{milliseconds % whole // unit:0{least}}"


def _hour(width: int, *, is_half: bool) -> Piece:
    if not is_half:
        return _part(HOUR, DAY, width)
    least = min(width, 2)
    return lambda milliseconds: f"{(milliseconds % DAY // HOUR + 11) % 12 + 1:0{least}}"


def _half(text: str) -> Piece:
    """Return a function for the text of an `am/pm` or `a/p` token.

    `am/pm` is displayed in capitals.
    """
    before, _, after = text.partition("/") if len(text) == 3 else ("AM", "/", "PM")
    return lambda milliseconds: before if milliseconds % DAY < DAY // 2 else after


def _elapsed(tokens: Tokens, token: Token) -> Piece:
    """Return a function for the text of a duration's unit.

    The number of letters is the minimum number of digits.
    """
    unit, least = UNITS[token.text[0].lower()], len(token.text)
    larger = [
        UNITS[each.text[0].lower()]
        for each in tokens
        if each.kind is Kind.ELAPSED and UNITS[each.text[0].lower()] > unit
    ]
    whole = min(larger, default=None)
    return lambda milliseconds: (
        f"{(milliseconds if whole is None else milliseconds % whole) // unit:0{least}}"
    )


def _fraction(places: int) -> Piece:
    return lambda milliseconds: f"{milliseconds % SECOND:03}"[:places].ljust(places, "0")
