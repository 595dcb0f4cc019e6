"""Displays of random numbers in many formats, read as dates, times and durations."""

from random import Random

import pytest

from gateway.table.moments import displayed_moment, moment_in, moment_text, serial_of
from tests.table.number_formats import FORMATS, Format, drawn_number, is_twin

CELLS = 60
"""Of each format; `python -m benchmarks.calendar_readings` reads 300,000 in all."""


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_random_numbers_are_read_as_what_they_are(form: Format) -> None:
    """Each display is read as the moment that its format shows, or as a number."""
    cells = [(number, form.display(number)) for number in _numbers(form)]
    wrong = [
        (number, display, moment)
        for number, display in cells
        if (moment := displayed_moment(display, number)) != form.moment(number)
    ]

    assert wrong == []


@pytest.mark.parametrize(
    "form", [form for form in FORMATS if form.kind not in ("number", "too little")], ids=str
)
def test_moments_stay_the_same_when_they_are_stored(form: Format) -> None:
    """A moment that is read, written as text and stored again is displayed as this moment."""
    for number in _numbers(form):
        moment = displayed_moment(form.display(number), number)

        assert moment is not None
        assert moment_in(moment_text(moment)) == moment
        stored = serial_of(moment)
        assert displayed_moment(form.display(stored), stored) == moment


def _numbers(form: Format) -> list[float]:
    random = Random(str(form))  # noqa: S311 - cases, not secrets
    numbers = [drawn_number(form.kind, random) for _ in range(CELLS)]
    return [number for number in numbers if not is_twin(form, number)]
