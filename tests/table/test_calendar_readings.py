"""Tests that random numbers in many formats are recognised as dates, times, durations or
numbers.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest

from gateway.table.moments import (
    DAY,
    HOUR,
    Moment,
    displayed_moment,
    moment_in,
    moment_text,
    serial_of,
)
from tests.table.number_formats import FORMATS, Format, drawn_number, is_twin

CELLS = 60
"""Number of cells for each format. `python -m benchmarks.calendar_readings` tests 360,000 cells."""
MOMENTS = [form for form in FORMATS if form.kind not in ("number", "too little")]

Reader = Callable[[str, float], Moment | None]


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_random_numbers_are_read_correctly(form: Format) -> None:
    """A displayed number is recognised as the date, time, duration or number of its format."""
    assert list(wrong_readings(displayed_moment, [form])) == []


@pytest.mark.parametrize("form", MOMENTS, ids=str)
def test_stored_dates_and_times_keep_their_display(form: Format) -> None:
    """A date, time or duration that is stored from its JSON text has the same displayed text
    again.
    """
    for number in numbers_of(form):
        moment = displayed_moment(form.display(number), number)

        assert moment is not None
        assert moment_in(moment_text(moment)) == moment
        stored = serial_of(moment)
        assert displayed_moment(form.display(stored), stored) == moment


def _read_signs(text: str, number: float) -> Moment | None:
    is_moment = re.search("[^-+.0-9eE$%,' ]", text) is not None
    return Moment(round(number * DAY), 0 <= number < 1, number.is_integer()) if is_moment else None


def _read_english_only(text: str, number: float) -> Moment | None:
    return displayed_moment(text, number) if text.isascii() else None


def _read_up_to_a_day(text: str, number: float) -> Moment | None:
    moment = displayed_moment(text, number)
    return None if moment is not None and moment.is_clock and number >= 1 else moment


def _read_whole_hours(text: str, number: float) -> Moment | None:
    moment = displayed_moment(text, number)
    return moment and moment._replace(milliseconds=moment.milliseconds // HOUR * HOUR)


def _read_cut_milliseconds(text: str, number: float) -> Moment | None:
    moment = displayed_moment(text, number)
    return moment and moment._replace(milliseconds=int(number * DAY))


def _read_without_days(text: str, number: float) -> Moment | None:
    moment = displayed_moment(text, number)
    return moment and moment._replace(is_day=False)


@pytest.mark.parametrize(
    "reader",
    [
        _read_signs,
        _read_english_only,
        _read_up_to_a_day,
        _read_whole_hours,
        _read_cut_milliseconds,
        _read_without_days,
    ],
)
def test_planted_bug_of_a_reader_is_caught(reader: Reader) -> None:
    """A function with a planted bug is wrong for at least one of the random cells."""
    assert next(wrong_readings(reader, FORMATS), None) is not None


def wrong_readings(
    reader: Reader, forms: Sequence[Format]
) -> Iterator[tuple[Format, float, str, Moment | None]]:
    """Yield format, number, displayed text and result of each random cell with a wrong result."""
    for form in forms:
        for number in numbers_of(form):
            display = form.display(number)
            moment = reader(display, number)
            if moment != form.moment(number):
                yield form, number, display, moment


def numbers_of(form: Format) -> list[float]:
    random = Random(str(form))  # noqa: S311 - cases, not secrets
    numbers = [drawn_number(form.kind, random) for _ in range(CELLS)]
    return [number for number in numbers if not is_twin(form, number)]
