"""Typed dates, times and durations: serial number, number format and displayed text."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.formats.numeral import displayed_number
from sheets_emulator.grid.cell import Cell, number_format
from sheets_emulator.grid.entered import typed

DAY = 43832  # 2 January 2020
SECOND = 1 / 86_400


def shown(cell: Cell) -> str:
    """The displayed text of a cell, or "text" if the value is not a number."""
    return displayed_number(cell.value, cell.pattern) if isinstance(cell.value, float) else "text"


@pytest.mark.parametrize(
    ("text", "value", "pattern"),
    [
        pytest.param("2020-01-02", DAY, "yyyy-mm-dd", id="ISO date"),
        pytest.param("1999-01-02", 36162, "yyyy-mm-dd", id="ISO date of another century"),
        pytest.param("2020/1/2", DAY, "yyyy/m/d", id="year first, strokes"),
        pytest.param("2020-10-12", DAY + 284, "yyyy-mm-dd", id="ISO date without zeros"),
        pytest.param("1/2/2020", DAY, "m/d/yyyy", id="month first"),
        pytest.param("01/02/2020", DAY, "mm/dd/yyyy", id="month first, zeros"),
        pytest.param("10/12/2020", DAY + 284, "m/d/yyyy", id="month first, no zeros to see"),
        pytest.param("1-2-2020", DAY, "m-d-yyyy", id="month first, dashes"),
        pytest.param("1/2/20", DAY, "m/d/yy", id="year of two digits"),
        pytest.param("Jan 2, 2020", DAY, "mmm d, yyyy", id="short name of a month"),
        pytest.param("jan 2, 2020", DAY, "mmm d, yyyy", id="name in lower case"),
        pytest.param("January 2, 2020", DAY, "mmmm d, yyyy", id="long name of a month"),
        pytest.param("Jan 2 2020", DAY, "mmm d yyyy", id="name without a comma"),
        pytest.param("2 Jan 2020", DAY, "d mmm yyyy", id="day before the name"),
        pytest.param("2-January-2020", DAY, "d-mmmm-yyyy", id="day, name and dashes"),
        pytest.param("02-Jan-20", DAY, "dd-mmm-yy", id="name and year of two digits"),
        pytest.param(" 2020-01-02 ", DAY, "yyyy-mm-dd", id="blanks round a date"),
        pytest.param("2020-02-29", 43890, "yyyy-mm-dd", id="leap day"),
        pytest.param("1899-12-30", 0, "yyyy-mm-dd", id="epoch"),
        pytest.param("1899-12-29", -1, "yyyy-mm-dd", id="day before the epoch"),
        pytest.param("1/1/1800", -36522, "m/d/yyyy", id="before the epoch"),
        pytest.param("9999-12-31", 2958465, "yyyy-mm-dd", id="last day"),
    ],
)
def test_typed_date_becomes_a_serial_number(text: str, value: float, pattern: str) -> None:
    """A typed date is stored as days since 30 December 1899, with a format like the typed text."""
    assert typed(text) == Cell(value=value, format=number_format("DATE", pattern))


@pytest.mark.parametrize(
    ("text", "value", "pattern", "text_shown"),
    [
        pytest.param("1:30", 1.5 / 24, "h:mm", "1:30", id="time"),
        pytest.param("01:30", 1.5 / 24, "h:mm", "1:30", id="leading zero of the hour"),
        pytest.param("0:00", 0, "h:mm", "0:00", id="midnight"),
        pytest.param("1:30 PM", 13.5 / 24, "h:mm am/pm", "1:30 PM", id="half of the day"),
        pytest.param("1:30pm", 13.5 / 24, "h:mm am/pm", "1:30 PM", id="half without a blank"),
        pytest.param("12:00 AM", 0, "h:mm am/pm", "12:00 AM", id="twelve at night"),
        pytest.param("12:00 PM", 0.5, "h:mm am/pm", "12:00 PM", id="twelve at noon"),
        pytest.param("13:05:09", 47109 * SECOND, "h:mm:ss", "13:05:09", id="seconds"),
        pytest.param("1:30:15.5", 5415.5 * SECOND, "h:mm:ss.0", "1:30:15.5", id="tenths"),
        pytest.param("1:30:15.042", 5415.042 * SECOND, "h:mm:ss.000", "1:30:15.042", id="millis"),
        pytest.param("24:00", 1, "[h]:mm:ss", "24:00:00", id="duration of a day"),
        pytest.param("25:00", 25 / 24, "[h]:mm:ss", "25:00:00", id="duration"),
        pytest.param("100:30:05", 361805 * SECOND, "[h]:mm:ss", "100:30:05", id="long duration"),
        pytest.param("30:00:00.25", 108000.25 * SECOND, "[h]:mm:ss.00", "30:00:00.25", id="parts"),
    ],
)
def test_typed_time_becomes_a_fraction_of_a_day(
    text: str, value: float, pattern: str, text_shown: str
) -> None:
    """A typed time is stored as a fraction of a day. 24 hours or more are a duration."""
    cell = typed(text)

    assert cell.value == pytest.approx(value, abs=1e-12)
    assert cell.format == number_format("TIME", pattern)
    assert shown(cell) == text_shown


@pytest.mark.parametrize(
    ("text", "value", "pattern", "text_shown"),
    [
        pytest.param(
            "2020-01-02 12:30:00",
            DAY + 12.5 / 24,
            "yyyy-mm-dd h:mm:ss",
            "2020-01-02 12:30:00",
            id="ISO date and time",
        ),
        pytest.param(
            "2020-01-02 09:05",
            DAY + 545 / 1440,
            "yyyy-mm-dd h:mm",
            "2020-01-02 9:05",
            id="no seconds",
        ),
        pytest.param(
            "1/2/2020 1:05 pm",
            DAY + 785 / 1440,
            "m/d/yyyy h:mm am/pm",
            "1/2/2020 1:05 PM",
            id="half of the day",
        ),
        pytest.param(
            "Jan 2, 2020 23:59:59.999",
            DAY + 86399.999 * SECOND,
            "mmm d, yyyy h:mm:ss.000",
            "Jan 2, 2020 23:59:59.999",
            id="last millisecond",
        ),
        pytest.param(
            "1899-12-29 6:00", -0.75, "yyyy-mm-dd h:mm", "1899-12-29 6:00", id="before the epoch"
        ),
    ],
)
def test_typed_date_and_time_become_one_number(
    text: str, value: float, pattern: str, text_shown: str
) -> None:
    """The fraction of the day is added to the days of the date, also before the epoch of 1899."""
    cell = typed(text)

    assert cell.value == pytest.approx(value, abs=1e-10)
    assert cell.format == number_format("DATE_TIME", pattern)
    assert shown(cell) == text_shown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("2020-02-30", id="no such day"),
        pytest.param("2021-02-29", id="no leap year"),
        pytest.param("1900-02-29", id="1900 is no leap year"),
        pytest.param("2020-13-01", id="no such month"),
        pytest.param("29-07-2015", id="day first"),
        pytest.param("1/0/2020", id="day zero"),
        pytest.param("0/1/2020", id="month zero"),
        pytest.param("1/2", id="no year"),
        pytest.param("Jan 2", id="name of a month, no year"),
        pytest.param("January 2020", id="no day"),
        pytest.param("2020-01", id="ISO month"),
        pytest.param("1/2-2020", id="different marks"),
        pytest.param("1.2.2020", id="dots"),
        pytest.param("1/2/202", id="year of three digits"),
        pytest.param("0999-01-01", id="year before 1000"),
        pytest.param("12020-01-01", id="year of five digits"),
        pytest.param("Foo 2, 2020", id="no name of a month"),
        pytest.param("Sept 2, 2020", id="name of a month cut elsewhere"),
        pytest.param("Thursday, January 2, 2020", id="weekday"),
        pytest.param("2020-01-02T12:30:00", id="T before the time"),
        pytest.param("2020-01-02 12:30:00Z", id="time zone"),
        pytest.param("2020-01-02 25:00", id="duration after a date"),
        pytest.param("2020-01-02 12", id="hour after a date"),
        pytest.param("25:61", id="no such minute"),
        pytest.param("1:30:60", id="no such second"),
        pytest.param("1:5", id="minute of one digit"),
        pytest.param("1:30:15.1234", id="less than a millisecond"),
        pytest.param("13:00 PM", id="no such hour"),
        pytest.param("0:30 AM", id="hour zero of a half"),
        pytest.param("1 PM", id="lone hour"),
        pytest.param("-1:30", id="negative time"),
        pytest.param("10000:00", id="duration of five digits"),
        pytest.param("１:３０", id="digits that are not ASCII"),
    ],
)
def test_invalid_or_ambiguous_date_stays_text(text: str) -> None:
    """A date that does not exist, or that Google can read in two ways, is stored as text."""
    assert typed(text) == Cell(value=text)


@pytest.mark.parametrize(("year", "century"), [("00", 2000), ("29", 2000), ("30", 1900)])
def test_year_of_two_digits_is_from_1930_to_2029(year: str, century: int) -> None:
    """The years 00 to 29 are in the 21st century, and 30 to 99 in the 20th century."""
    expected = date(century + int(year), 1, 1)

    assert typed(f"1/1/{year}").value == (expected - date(1899, 12, 30)) / timedelta(days=1)


@given(st.dates(min_value=date(1000, 1, 1), max_value=date(9999, 12, 31)))
def test_every_date_is_shown_as_typed(day: date) -> None:
    """A date is displayed as it was typed, with the year first and with the month first."""
    american = f"{day.month}/{day.day}/{day.year}"

    assert shown(typed(day.isoformat())) == day.isoformat()
    assert shown(typed(american)) == american


@given(st.integers(min_value=0, max_value=9999 * 3600 + 3599))
def test_every_time_and_duration_is_shown_as_typed(seconds: int) -> None:
    """A time or duration in hours, minutes and seconds is displayed as it was typed."""
    text = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"

    assert shown(typed(text)) == text


@given(st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9999, 12, 31)))
def test_every_date_with_a_time_is_shown_as_typed(moment: datetime) -> None:
    """A date with a time is displayed as it was typed, to the millisecond."""
    clock = f"{moment.hour}:{moment:%M:%S}.{moment.microsecond // 1000:03}"
    text = f"{moment.date().isoformat()} {clock}"

    assert shown(typed(text)) == text
