"""Numbers and dates in texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.table.cells import (
    TOLERANCE_DAYS,
    is_date_text,
    number_in,
    plain_notation,
    serial_in,
)

NOON_2020 = 43_831.5
"""2020-01-01 12:00 as a serial date; 2020-01-01 is 43831."""


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("7", 7),
        ("-7.25", -7.25),
        ("0.50", 0.5),
        ("1e5", 100_000),
        ("1E+5", 100_000),
        ("12e-1", 1.2),
        ("1e-400", 0),
        ("9007199254740993", 9_007_199_254_740_992),
    ],
)
def test_plain_notation_is_a_number(text: str, number: float) -> None:
    """Text in plain ASCII notation is a number."""
    assert number_in(text) == number
    assert "-" <= text < ":"  # by which kinds of cells are sifted


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "007", "00", "-01", "+5", "+44 20 7946 0958", "1,250", "1 250", "1_000"),
        *("nan", "NaN", "inf", "-inf", "Infinity", "1e400", "-1e400", "１２３", "٣", "½", "²"),
        *(".5", "5.", "1e", "e5", "0x10", "1.2.3", "--1", "- 1", " 1", "1 ", "1\n", "1\0", "50%"),
        *("$5", "true", "#N/A"),
        pytest.param("9" * 5000, id="5,000 nines"),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    """Text that is not a finite number in plain notation stays text."""
    assert number_in(text) is None


@given(text=st.text(alphabet="-+.,eE0123456789 %$", max_size=12) | st.text(max_size=8))
def test_what_is_a_number_is_finite(text: str) -> None:
    """No text raises, and none becomes NaN or infinite."""
    number = number_in(text)

    assert number is None or ("-" <= text < ":" and abs(number) <= 1.8e308)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1250, "1250"),
        (1250.0, "1250"),
        (-0.5, "-0.5"),
        (1e21, "1000000000000000000000"),
        (1e-7, "0.0000001"),
        (100, "100"),
        (10.10, "10.1"),
        (-0.0, "0"),
        (0, "0"),
    ],
)
def test_numbers_have_a_plain_notation(number: float, text: str) -> None:
    """Plain notation has no exponent, separators or needless fraction."""
    assert plain_notation(number) == text


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_plain_notation_is_exact(number: float) -> None:
    """The plain notation of every number reads back as that number."""
    assert number_in(plain_notation(number)) == number


@pytest.mark.parametrize(
    "text",
    ["2020-01-01", "1/1/2020", "1 Jan 2020", "12:00", "12:00:30 PM", "Wednesday", "44.197 s"],
)
def test_number_cells_that_show_no_number_are_dates(text: str) -> None:
    """A number displayed as something else than a number is a date."""
    assert is_date_text(text)


@pytest.mark.parametrize(
    "text",
    [
        *("43831.5", "43,831.50", "$1,234.50"),
        *("50%", "1 234", "1\u00a0234", "1\u202f234", "€5", "5 €", "¥1,000", "1'234", "1’234"),
        *("-5", "-$5", "1E+05", ""),
    ],
)
def test_number_cells_with_decorated_numbers_are_none(text: str) -> None:
    """Currency signs, %, blanks and thousands separators leave a number a number."""
    assert not is_date_text(text)


@pytest.mark.parametrize(
    ("text", "serial"),
    [
        ("1899-12-30", 0),
        ("1899-12-29", -1),
        ("2020-01-01", 43_831),
        ("2020-02-29", 43_890),
        ("2020-01-01T12:00", NOON_2020),
        ("2020-01-01 12:00", NOON_2020),
        ("2020-01-01T12:00:00", NOON_2020),
        ("2020-01-01T12:00:00Z", NOON_2020),
        ("2020-01-01T12:00:00+02:00", NOON_2020),
        ("2020-01-01T12:00:00-0730", NOON_2020),
        ("2020-01-01T12:00+02", NOON_2020),
        ("2020-01-01 12:00:00 +02:00", NOON_2020),
        ("2020-01-01T12:00:00.000Z", NOON_2020),
        ("2020-01-01T12:00:43.2Z", NOON_2020 + 0.0005),
        ("2020-01-01T12:00:43,200000000", NOON_2020 + 0.0005),
    ],
)
def test_iso_texts_have_a_serial(text: str, serial: float) -> None:
    """An ISO 8601 date or date with time is its wall-clock part; the offset is dropped."""
    assert serial_in(text) == pytest.approx(serial, abs=TOLERANCE_DAYS / 100)


@pytest.mark.parametrize(
    "text",
    [
        *("", "2020", "2020-01", "20200101", "2020-1-1", "1/1/2020", "12:00", "2020-W01-1"),
        *("2021-02-29", "2020-13-01", "2020-00-10", "0000-01-01", "2020-01-01T25:00"),
        *("2020-01-01T12:60", "2020-01-01T12:00:60", "2020-01-01T12", "2020-01-01T12:00.5"),
        *("2020-01-01T", "2020-01-01T12:00:00.", " 2020-01-01", "2020-01-01\n", "２０２０-01-01"),
        *("2020-01-01T12:00:00 UTC", "2020-01-01Z", "2020-01-01T12:00:00.1234567890"),
    ],
)
def test_other_texts_have_no_serial(text: str) -> None:
    """Other formats and impossible dates are text."""
    assert serial_in(text) is None
