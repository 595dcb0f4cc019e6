"""Tests of the check that a number format displays enough of a date or time to read it again."""

from random import Random

import pytest

from gateway.table.date_patterns import is_complete
from gateway.table.moments import DAY, MINUTE, Moment, displayed_moment, moment_in, serial_of
from tests.table.number_formats import FORMATS, Format

DATES = [form for form in FORMATS if form.kind != "number" and not form.language]
LENGTHS = ("clock", "length")


def drawn_moment(form: Format, random: Random) -> Moment:
    """Return a date or a length of time, often a whole day or a whole minute."""
    if form.kind in LENGTHS or form.pattern in ("[h]", "[ss]"):
        most = 90 * DAY if "[" in form.pattern else DAY
        size = random.choice([random.randrange(most), random.randrange(most) // MINUTE * MINUTE])
        return Moment(-size if "[" in form.pattern and random.random() < 0.2 else size, True)
    size = random.randrange(-30_000 * DAY, 100_000 * DAY)
    size = random.choice([size, size // DAY * DAY])
    return Moment(size, False, size % DAY == 0)


@pytest.mark.parametrize("form", DATES, ids=str)
def test_a_pattern_is_complete_where_the_displayed_text_is_read_as_the_moment(
    form: Format,
) -> None:
    """For each pattern and moment, the answer equals the reading of the displayed cell."""
    random = Random(form.pattern)  # noqa: S311
    for _ in range(60):
        moment = drawn_moment(form, random)
        text = form.display(serial_of(moment))
        shown = displayed_moment(text, serial_of(moment))

        is_read = shown is not None and shown[:2] == moment[:2]
        assert is_complete(form.pattern, moment) == is_read, (text, moment)


@pytest.mark.parametrize(
    ("pattern", "sent", "expected"),
    [
        ("yyyy", "2026-02-01", False),
        ("yyyymmdd", "2026-02-01", False),
        ("dd.mm", "2026-02-01", False),
        ("dd.mm.", "2026-02-01", True),
        ("yyyy-mm-dd", "2026-02-01T10:30:00", True),
        ("[h]", "25:30:00", False),
        ("mm:ss", "10:30:00", False),
        ("h:MM", "10:30:00", False),
        ("[h]:mm", "-PT1H30M", True),
        ("", "2026-02-01", True),
        ("yyyy;@", "2026-02-01", True),
        ("yyyy [h]", "PT99999999H", True),
        ("y" * 300, "2026-02-01", True),
    ],
)
def test_is_complete(pattern: str, sent: str, expected: bool) -> None:
    """`M` is always the month. A pattern that is not understood counts as complete."""
    moment = moment_in(sent)

    assert moment is not None
    assert is_complete(pattern, moment) is expected
