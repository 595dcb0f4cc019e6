"""Values of typed writes: comparison with present cells, and conversion to stored values.

Rules
- A sent value is not written if the cell already has this typed value, or displays this text. A
  text that is a moment is compared as a moment, and a form's number as a number, because displays
  may be cut.
- A text that is a moment is stored as a serial number with a number format in a column of such
  moments; in other columns it stays text.
- A form has no types: its texts are parsed by the kind of their column. A text that cannot be
  parsed stays text; none becomes a formula.
"""

from collections.abc import Mapping

from gateway.table.cells import ERRORS, number_in
from gateway.table.column_types import ColumnKind, Kind, NumberFormat
from gateway.table.moments import DAY, displayed_moment, moment_in, moment_text, serial_of
from gateway.table.record import Stored

LARGEST_INTEGER = 2**53
"""Largest whole number that a double stores exactly."""

_WORDS: Mapping[str, bool] = {
    "TRUE": True, "true": True, "on": True, "FALSE": False, "false": False, "off": False,
}  # fmt: skip
"""Texts of forms that are booleans; browsers send `on` for a checkbox."""


_DURATION = NumberFormat("TIME", "[h]:mm:ss")
"""Format of durations from 24 hours on and below 0, which a time of day cannot display."""


class OffsetSent(ValueError):
    """A moment with a UTC offset was sent for a column of dates; its text is the wall clock."""


def as_key(sent: Stored) -> Stored:
    """A form's value as a key: texts of checkboxes become booleans."""
    return _WORDS.get(sent, sent) if isinstance(sent, str) else sent


def is_open(sent: Stored, *, is_form: bool) -> bool:
    """True if the stored form of a sent value depends on the kind of its column."""
    if not isinstance(sent, str) or sent == "":
        return False
    return is_form or moment_in(sent) is not None


def stored_value(
    sent: Stored, column: ColumnKind, *, is_form: bool
) -> tuple[Stored, NumberFormat | None]:
    """The stored form of a sent value in a column, and the number format for it, if any.

    Raises OffsetSent.
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
    """True if a cell with this display and typed value already has the sent value.

    Empty cells and errors have the value `null`.
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
    """True if an earlier write of the sent value may have stored this cell."""
    if not isinstance(sent, str) or isinstance(cell, str):
        return sent == cell
    if isinstance(cell, bool):
        return is_form and _WORDS.get(sent) is cell
    moment = moment_in(sent)
    if moment is not None and serial_of(moment) == cell:
        return True
    return is_form and _plain_number(sent) == cell


def _plain_number(text: str) -> int | float | None:
    """Parse a number in plain notation; None if a double would lose digits."""
    found = None if "e" in text or "E" in text else number_in(text)
    if found is None:
        return None
    number = found if "." in text else int(text)
    return number if abs(number) <= LARGEST_INTEGER else None
