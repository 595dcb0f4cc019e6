"""Check that a number format of dates or times displays enough of a value to read it again.

Rules
- The syntax of patterns is Google's (https://developers.google.com/workspace/sheets/api/guides/
  formats). A pattern with other parts, such as `;` or `@`, counts as complete.
- `m` is the minute after an hour or before a second, otherwise the month. `M` is the month.
- A word stands for each name of a month or weekday, because readers of displayed texts know no
  names.
"""

import re
from collections.abc import Sequence
from datetime import date

from gateway.table.moments import (
    DAY,
    EPOCH_DAY,
    HOUR,
    MINUTE,
    SECOND,
    Moment,
    displayed_moment,
    serial_of,
)

_TOKEN = re.compile(
    r'"([^"]*)"|\\(.)|\[(h+|m+|s+)\]|(am/pm|a/p)|(y+|m+|d+|h+|s+)|(0+)|([^\w"\\\[\];@#?*<>=])',
    re.IGNORECASE,
)
_LONGEST_PATTERN = 200
_UNITS = {"h": HOUR, "m": MINUTE, "s": SECOND}


def is_complete(pattern: str, moment: Moment) -> bool:
    """False if a cell with this number format is not read as the date or time that it holds.

    For example, `yyyy` displays a date as `2026`, and the cell is read as an ordinary number.
    """
    text = _displayed(pattern, moment)
    if text is None:
        return True
    shown = displayed_moment(text, serial_of(moment))
    return shown is not None and shown[:2] == moment[:2]


def _displayed(pattern: str, moment: Moment) -> str | None:
    """Format a moment. Returns None for an empty pattern, or one with other parts."""
    tokens = [*_TOKEN.finditer(pattern, 0, _LONGEST_PATTERN)]
    if pattern == "" or "".join(token[0] for token in tokens) != pattern:
        return None
    units = [(token[3] or token[5] or "")[:1].lower() for token in tokens]
    size = abs(moment.milliseconds) if any(token[3] for token in tokens) else moment.milliseconds
    has_half = any(token[4] for token in tokens)
    texts, rest = ["-" if size != moment.milliseconds else ""], size
    for at, token in enumerate(tokens):
        quoted, escaped, whole, half, part, zeros, mark = token.groups()
        if whole:
            unit = _UNITS[units[at]]
            texts.append(f"{rest // unit:0{len(whole)}}")
            rest %= unit
        elif half:
            texts.append(("AM", "PM")[size % DAY >= DAY // 2])
        elif part in ("m", "mm") and _is_minute(units, at):
            texts.append(f"{size % HOUR // MINUTE:0{len(part)}}")
        elif part:
            try:
                texts.append(_part(part.lower(), size, has_half=has_half))
            except ValueError:  # a year beyond 9999
                return None
        else:
            fraction = f"{size % SECOND:03}".ljust(len(zeros or ""), "0")[: len(zeros or "")]
            texts.append(quoted or escaped or mark or fraction)
    return "".join(texts)


def _is_minute(units: Sequence[str], at: int) -> bool:
    before = next(filter(None, reversed(units[:at])), "")
    return before == "h" or next(filter(None, units[at + 1 :]), "") == "s"


def _part(letters: str, size: int, *, has_half: bool) -> str:
    """Format the year, month, day, hour or second of a moment of `size` milliseconds.

    Raises ValueError for a year beyond 9999.
    """
    unit, least = letters[0], min(len(letters), 2)
    if unit == "s":
        return f"{size % MINUTE // SECOND:0{least}}"
    if unit == "h":
        hour = size % DAY // HOUR
        return f"{(hour + 11) % 12 + 1 if has_half else hour:0{least}}"
    day = date.fromordinal(EPOCH_DAY + size // DAY)
    if unit == "y":
        return f"{day.year:04}" if len(letters) > 2 else f"{day.year % 100:02}"
    if len(letters) > 2:
        return "N" if letters == "mmmmm" else "Name"
    return f"{day.month if unit == 'm' else day.day:0{least}}"
