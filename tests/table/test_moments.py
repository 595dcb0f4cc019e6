"""Tests of dates, times of day and durations in cells and texts."""

from datetime import datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.table.moments import (
    DAY,
    LONGEST_CLOCK,
    Moment,
    displayed_moment,
    moment_in,
    moment_text,
    serial_of,
)

EPOCH = datetime(1899, 12, 30)
FEBRUARY_1_2026 = 46054
EVENING = 0.875
LEAP_DAY = (datetime(1980, 2, 29, 2, 18, 37) - EPOCH) / timedelta(days=1)
CLOCKS = st.integers(-LONGEST_CLOCK, LONGEST_CLOCK).map(lambda size: Moment(size, is_clock=True))
DATE_TIMES = st.builds(
    lambda at: Moment((at - EPOCH) // timedelta(milliseconds=1), is_clock=False), st.datetimes()
)
DAYS = st.builds(
    lambda day: Moment((day - EPOCH.date()).days * DAY, is_clock=False, is_day=True), st.dates()
)


@pytest.mark.parametrize(
    ("display", "serial", "text"),
    [
        ("01.02.2026", FEBRUARY_1_2026, "2026-02-01"),
        ("2/1/2026", FEBRUARY_1_2026, "2026-02-01"),
        ("2/1/26", FEBRUARY_1_2026, "2026-02-01"),
        ("1 Feb", FEBRUARY_1_2026, "2026-02-01"),
        ("Feb 1", FEBRUARY_1_2026, "2026-02-01"),
        ("1.2.", FEBRUARY_1_2026, "2026-02-01"),
        ("2/1", FEBRUARY_1_2026, "2026-02-01"),
        ("Feb 2026", FEBRUARY_1_2026, "2026-02-01"),
        ("févr. 26", FEBRUARY_1_2026, "2026-02-01"),
        ("02/2026", FEBRUARY_1_2026, "2026-02-01"),
        ("1 ก.พ. 2026", FEBRUARY_1_2026, "2026-02-01"),
        ("1 ก.พ.", FEBRUARY_1_2026, "2026-02-01"),
        ("2026年2月1日", FEBRUARY_1_2026, "2026-02-01"),
        ("2月1日", FEBRUARY_1_2026, "2026-02-01"),
        ("2026. 2. 1.", FEBRUARY_1_2026, "2026-02-01"),
        ("٠١‏/٠٢‏/٢٠٢٦", FEBRUARY_1_2026, "2026-02-01"),
        ("Sunday, February 1, 2026", FEBRUARY_1_2026, "2026-02-01"),
        ("01.02.2026", FEBRUARY_1_2026 + 0.25, "2026-02-01T06:00:00"),
        ("2026-02-01 0:00", FEBRUARY_1_2026, "2026-02-01T00:00:00"),
        ("1/2/2026 6:00:00 PM", FEBRUARY_1_2026 + 0.75, "2026-02-01T18:00:00"),
        ("6:00 PM, Feb 1", FEBRUARY_1_2026 + 0.75, "2026-02-01T18:00:00"),
        ("6 PM, Sun Feb 01", FEBRUARY_1_2026 + 0.75, "2026-02-01T18:00:00"),
        ("2026年2月1日 18時00分", FEBRUARY_1_2026 + 0.75, "2026-02-01T18:00:00"),
        ("2026. 2. 1 오후 6:00:00", FEBRUARY_1_2026 + 0.75, "2026-02-01T18:00:00"),
        ("01.02.2026 18.00", FEBRUARY_1_2026 + 0.75, "2026-02-01T18:00:00"),
        ("29.02.1980 02:18:37", LEAP_DAY, "1980-02-29T02:18:37"),
        ("1899-12-29 18:00", -0.25, "1899-12-29T18:00:00"),
        ("18:00", FEBRUARY_1_2026 + 0.75, "2026-02-01T18:00:00"),
        ("9:00 PM", EVENING, "21:00:00"),
        ("21:00", EVENING, "21:00:00"),
        ("21.00.00", EVENING, "21:00:00"),
        ("00.00.00", 0, "00:00:00"),
        ("12:30 PM", 0.5209, "12:30:05.760"),
        ("21 h 00", EVENING, "21:00:00"),
        ("下午9:00", EVENING, "21:00:00"),
        ("0:00", 0, "00:00:00"),
        ("1:30", 25.5 / 24, "1899-12-31T01:30:00"),
        ("25:30:00", 25.5 / 24, "PT25H30M"),
        ("25:30", 25.5 / 24, "PT25H30M"),
        ("25h 30m", 25.5 / 24, "PT25H30M"),
        ("1530:00", 25.5 / 24, "PT25H30M"),
        ("25 h", 25.5 / 24, "PT25H30M"),
        ("1 h", 1.5 / 24, "01:30:00"),
        ("1530 min", 25.5 / 24, "PT25H30M"),
        ("1000000:00:01", 1_000_000 / 24 + 1 / 86_400, "PT1000000H1S"),
        ("17:42.7", 0.0123, "00:17:42.720"),
        ("-1:30:00", -1.5 / 24, "-PT1H30M"),
        ("-12h 00m", -0.5, "-PT12H"),
        ("(12:00)", -0.5, "-PT12H"),
        ("-12:00:00", -0.5 - 0.3 / 86_400, "-PT12H0.3S"),
        ("12:00", -0.5, "1899-12-29T12:00:00"),
        ("0:00:00", -1e-7, "-PT0.009S"),
    ],
)
def test_displays_of_dates_and_times_are_parsed(display: str, serial: float, text: str) -> None:
    """A displayed text in any language is a date or time if its parts agree with the serial
    number.
    """
    moment = displayed_moment(display, serial)

    assert moment is not None
    assert moment_text(moment) == text


@pytest.mark.parametrize(
    ("display", "seconds", "is_moment"),
    [
        ("9:59:59", 35_999.9996, True),
        ("10:00:00", 35_999.9996, True),
        ("10:00:00.0", 35_999.9996, True),
        ("10:00:00.00", 35_999.9996, True),
        ("09:59:59.999", 35_999.9996, True),
        ("10:00", 35_999.9996, True),
        ("9:59", 35_999.9996, True),
        ("10:00", 35_970, True),
        ("9:59:30", 35_970, True),
        ("10:01", 35_999.9996, False),
        ("9:58:59", 35_999.9996, False),
    ],
)
def test_last_unit_is_cut_or_rounded(display: str, seconds: float, is_moment: bool) -> None:
    """The last displayed unit can be cut or rounded. The result has the exact milliseconds of
    the number.
    """
    serial = seconds / 86_400
    expected = Moment(round(seconds * 1_000), is_clock=True) if is_moment else None

    assert displayed_moment(display, serial) == expected


@pytest.mark.parametrize(
    ("display", "number"),
    [
        ("120 kr", 120),
        ("CHF 20", 20),
        ("(20)", 20),
        ("5 kg", 5),
        ("1.5M", 1_500_000),
        ("1.5M", 1.5),
        ("10.30", 10.3),
        ("10.30", 10.5 / 24),
        ("12 h", 12),
        ("0 h", 0),
        ("00501", 501),
        ("46054", FEBRUARY_1_2026),
        ("46,054", FEBRUARY_1_2026),
        ("2026", FEBRUARY_1_2026),
        ("01.02", FEBRUARY_1_2026),
        ("$1,234.50", 1234.5),
        ("1.250,00 €", 1250),
        ("12%", 0.12),
        ("1.20E+04", 12_000),
        ("1 1/2", 1.5),
        ("SKU-1905", 1905),
        ("1905 Stück", 1905),
        ("15:14:07", 151407),
        ("v0.0.0", 0),
        ("٥٠٠", 500),
        ("1905,3 Stück", 1905.3),
        ("1.04 kg", 1.0445),
        ("February", FEBRUARY_1_2026),
        ("Sunday", FEBRUARY_1_2026),
        ("1日", FEBRUARY_1_2026),
        ("2/2/2026", FEBRUARY_1_2026),
        ("2026-02-01 (5)", FEBRUARY_1_2026),
        ("18:30", FEBRUARY_1_2026 + 0.75),
        ("555-12-34", 5551234),
        ("12:00", 1e300),
        ("", 5),
        ("no digits", 5),
    ],
)
def test_other_displays_are_numbers(display: str, number: float) -> None:
    """A number in plain notation, with a unit, or with digits that match no date stays a number."""
    assert displayed_moment(display, float(number)) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-02-01", Moment(FEBRUARY_1_2026 * DAY, is_clock=False, is_day=True)),
        ("1899-12-29", Moment(-DAY, is_clock=False, is_day=True)),
        ("1899-12-30T14:05", Moment(50_700_000, is_clock=False)),
        ("1899-12-30t14:05:01,25", Moment(50_701_250, is_clock=False)),
        ("1899-12-30 14:05:01.0005", Moment(50_701_000, is_clock=False)),
        ("1899-12-30T14:05Z", Moment(50_700_000, is_clock=False, has_offset=True)),
        ("1899-12-30T14:05:00.0z", Moment(50_700_000, is_clock=False, has_offset=True)),
        ("1899-12-30T14:05 +02", Moment(50_700_000, is_clock=False, has_offset=True)),
        ("1899-12-30T14:05-0230", Moment(50_700_000, is_clock=False, has_offset=True)),
        ("14:05", Moment(50_700_000, is_clock=True)),
        ("9:05", Moment(32_700_000, is_clock=True)),
        ("25:30:00", Moment(91_800_000, is_clock=True)),
        ("10:30:00.5", Moment(37_800_500, is_clock=True)),
        ("-0:00:01", Moment(-1_000, is_clock=True)),
        ("PT25H30M", Moment(91_800_000, is_clock=True)),
        ("PT90M", Moment(5_400_000, is_clock=True)),
        ("PT1.5S", Moment(1_500, is_clock=True)),
        ("-PT1H", Moment(-3_600_000, is_clock=True)),
    ],
)
def test_iso_texts_are_dates_and_times(text: str, moment: Moment) -> None:
    """ISO 8601 dates, date-times, times and durations are parsed. An offset only sets
    `has_offset`.
    """
    assert moment_in(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8:00 AM",
        "2026-02-30",
        "2026-2-1",
        "0000-01-01",
        "2026-02-01T24:00",
        "2026-02-01T10",
        "2026-02-01T10:60",
        "2026-02-01Z",
        "9999-12-31T23:59:59.9999",
        "14:60",
        "14:05:60",
        "14:5",
        "14:05Z",
        "1:2:3",
        "PT",
        "P1D",
        "pt1h",
        "PT1.5H",
        "PT999999999H",
        "２０２６-02-01",
        "2026-02-01\n",
        "12345",
    ],
)
def test_other_texts_are_not_dates(text: str) -> None:
    """Invalid dates and other notations, such as `8:00 AM`, give None."""
    assert moment_in(text) is None


@given(st.one_of(CLOCKS, DATE_TIMES, DAYS))
@example(Moment(0, is_clock=True))
@example(Moment(DAY, is_clock=True))
@example(Moment(-1, is_clock=True))
@example(Moment(LONGEST_CLOCK, is_clock=True))
def test_text_and_serial_number_of_a_date_are_exact(moment: Moment) -> None:
    """The JSON text of a date or time is parsed to the same value. The serial number has its
    milliseconds.
    """
    assert moment_in(moment_text(moment)) == moment
    assert round(serial_of(moment) * DAY) == moment.milliseconds


@given(
    st.one_of(st.text(), st.from_regex(r"[-0-9:./ hTZPMSaFeb]{0,40}", fullmatch=True)),
    st.floats(allow_nan=False, allow_infinity=False),
)
@example("1:2" * 20_000, 1.5)
@example("1" * 50_000, 1.0)
@example("9" * 99 + "h", 1.0)
@example("0:00", 1.7976931348623157e308)
def test_unusual_texts_and_numbers_raise_no_error(text: str, number: float) -> None:
    """Any text with any number gives None, or a date or time whose JSON text can be parsed."""
    for moment in (displayed_moment(text, number), moment_in(text)):
        assert moment is None or moment_in(moment_text(moment)) is not None
