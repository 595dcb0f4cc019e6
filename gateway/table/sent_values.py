"""Values of typed writes: comparison with the cells of the sheet, and conversion for storage.

A typed write has typed values, such as the number 5, instead of displayed texts, such as `$5.00`.
`is_form` is True if the values come from an HTML form.

Rules
- A value is not written if the cell already has this typed value, or displays this text. A date or
  time is compared by its value, and so is a number from an HTML form, because a number format can
  cut the displayed text.
- In a column of dates, a text that is a date is stored as a serial number with a number format. The
  same holds for times and durations in a column of times. In other columns such a text stays text.
- HTML forms send only texts. The kind of the column decides how a text is parsed. A text that
  cannot be parsed stays text. No text becomes a formula.
"""

from collections.abc import Mapping

from gateway.table.cells import ERRORS, number_in
from gateway.table.column_types import ColumnKind, Kind, NumberFormat
from gateway.table.moments import DAY, displayed_moment, moment_in, moment_text, serial_of
from gateway.table.record import Stored

LARGEST_INTEGER = 2**53
"""Limit up to which a float stores every integer exactly."""

_WORDS: Mapping[str, bool] = {
    "TRUE": True, "true": True, "on": True, "FALSE": False, "false": False, "off": False,
}  # fmt: skip
"""Boolean by the text that an HTML form sends. Browsers send `on` for a checkbox."""


_DURATION = NumberFormat("TIME", "[h]:mm:ss")
"""Number format of durations that are negative, or 24 hours or longer."""


class OffsetSent(ValueError):
    """A client sent a time with a UTC offset for a column of dates.

    The exception text is the time without the offset.
    """


def as_key(sent: Stored) -> Stored:
    """Returns the boolean for a text of a checkbox in an HTML form, such as `on` or `false`.

    Returns any other value unchanged.
    """
    return _WORDS.get(sent, sent) if isinstance(sent, str) else sent


def is_open(sent: Stored, *, is_form: bool) -> bool:
    """True if the kind of the column decides how a sent value is stored.

    These values are texts of dates and times, and in an HTML form all texts except "".
    """
    if not isinstance(sent, str) or sent == "":
        return False
    return is_form or moment_in(sent) is not None


def stored_value(
    sent: Stored, column: ColumnKind, *, is_form: bool
) -> tuple[Stored, NumberFormat | None]:
    """Convert a sent value to the value to store in a column.

    Returns the value, and the number format to set, or None to keep the cell's format. Raises
    OffsetSent for a time with a UTC offset.
    """
    if not is_open(sent, is_form=is_form):
        return sent, None
    moment = moment_in(str(sent))
    if moment is not None and column.kind is (Kind.CLOCK if moment.is_clock else Kind.DATE):
        if moment.has_offset:
            raise OffsetSent(moment_text(moment))
        form = column.format
        if not moment.is_clock:
            form = form or NumberFormat("DATE" if moment.is_day else "DATE_TIME")
        elif not 0 <= moment.milliseconds < DAY and (form is None or "[" not in form.pattern):
            form = _DURATION
        return serial_of(moment), form or NumberFormat("TIME")
    if is_form and column.kind is Kind.NUMBER:
        number = _plain_number(str(sent))
        return sent if number is None else number, None
    if is_form and column.kind is Kind.BOOLEAN:
        return _WORDS.get(str(sent), sent), None
    return sent, None


def is_held(sent: Stored, text: str, value: object, *, is_form: bool) -> bool:
    """True if a cell with this displayed text and typed value already has the sent value.

    A sent null equals an empty cell and an error.
    """
    if sent is None or sent == "":
        return value is None or value == "" or (sent is None and text in ERRORS)
    if isinstance(value, bool) or isinstance(sent, bool):
        read = as_key(sent) if is_form else sent
        return read is value or read == text
    if not isinstance(value, int | float):
        return isinstance(sent, str) and sent in (text, value)
    shown = displayed_moment(text, value)
    if not isinstance(sent, str):
        return shown is None and sent == value
    moment = moment_in(sent)
    if shown is not None and moment is not None and not moment.has_offset:
        return shown[:2] == moment[:2]
    number = _plain_number(sent) if is_form and shown is None else None
    return sent == text if number is None else number == value


def may_be_stored_as(sent: Stored, cell: Stored, *, is_form: bool) -> bool:
    """True if an earlier write of the sent value could have stored this typed value."""
    if not isinstance(sent, str) or isinstance(cell, str):
        return sent == cell
    if isinstance(cell, bool):
        return is_form and _WORDS.get(sent) is cell
    moment = moment_in(sent)
    if moment is not None and serial_of(moment) == cell:
        return True
    return is_form and _plain_number(sent) == cell


def _plain_number(text: str) -> int | float | None:
    """Parse a number in plain notation, or return None if a float would lose digits."""
    found = None if "e" in text or "E" in text else number_in(text)
    if found is None:
        return None
    number = found if "." in text else int(text)
    return number if abs(number) <= LARGEST_INTEGER else None
