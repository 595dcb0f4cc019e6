"""Tests of numbers and dates in texts of cells."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.table.cells import (
    CLOCK_TEXT,
    DATE_TEXT,
    ERROR,
    LONGEST_NUMBER,
    NUMERAL,
    TEXT,
    cell_kinds,
    displayed_number,
    number_in,
    plain_notation,
    text_key,
)
from gateway.table.index import ColumnIndex
from gateway.table.steps import finish
from tests.table.number_formats import Format


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
    """A text in plain ASCII notation, such as `-7.25` or `1e5`, is a number."""
    assert number_in(text) == number
    assert "-" <= text < ":"  # `cell_kinds` relies on this


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "007", "00", "-01", "+5", "+44 20 7946 0958", "1,250", "1 250", "1_000"),
        *("nan", "NaN", "inf", "-inf", "Infinity", "1e400", "-1e400", "１２３", "٣", "½", "²"),
        *(".5", "5.", "1e", "e5", "0x10", "1.2.3", "--1", "- 1", " 1", "1 ", "1\n", "1\0", "50%"),
        *("$5", "true", "#N/A"),
        pytest.param("9" * 5000, id="5,000 nines"),
        pytest.param("0." + "9" * LONGEST_NUMBER, id="a fraction that is too long to be read"),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    """Any other text, such as `007` or `1,250`, is not a number."""
    assert number_in(text) is None


@given(text=st.text(alphabet="-+.,eE0123456789 %$", max_size=12) | st.text(max_size=8))
def test_numbers_in_texts_are_finite(text: str) -> None:
    """`number_in` accepts any text and never returns NaN or infinity."""
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
    """Plain notation has no exponent, no separators and no trailing zeros after the point."""
    assert plain_notation(number) == text


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_plain_notation_is_exact(number: float) -> None:
    """The plain notation of a finite number is parsed to the same number."""
    assert number_in(plain_notation(number)) == number


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        ("0.50", NUMERAL, 0.5),
        ("1E5", NUMERAL, 100_000),
        ("1970-01-01", DATE_TEXT, 25_569 * 86_400_000),
        ("1970-01-01 00:00:01.5Z", DATE_TEXT, 25_569 * 86_400_000 + 1_500),
        ("14:05", CLOCK_TEXT, (14 * 60 + 5) * 60_000),
        ("PT25H", CLOCK_TEXT, 25 * 3_600_000),
        ("#DIV/0!", ERROR, "#DIV/0!"),
        ("#hashtag", TEXT, "#hashtag"),
        ("TRUE", TEXT, "TRUE"),
        ("8:00 AM", TEXT, "8:00 AM"),
        ("2020-02-30", TEXT, "2020-02-30"),
        ("007", TEXT, "007"),
    ],
)
def test_texts_have_a_class(text: str, kind: int, key: object) -> None:
    """A text in plain or ISO 8601 notation has the class of the value that it represents."""
    assert text_key(text) == (kind, key)


@pytest.mark.parametrize(
    "pattern",
    [
        *("#,##0.00", "$#,##0.00", '"$"#,##0.00;("$"#,##0.00)', '#,##0.00" €"', "[$€-2] #,##0.00"),
        *("0.00%", "00000.00", "0.00;-0.00;0", "₹#,##0.00"),
    ],
)
@given(hundredths=st.integers(-(10**9), 10**9))
def test_displays_of_numbers_are_read(pattern: str, hundredths: int) -> None:
    """Displayed numbers with separators, currencies, percent signs or parentheses are parsed."""
    number = hundredths / (10_000 if "%" in pattern else 100)

    assert displayed_number(Format(kind="number", pattern=pattern).display(number)) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,250", 1250),
        ("1.250.000", 1_250_000),
        ("1 250,50 €", 1250.5),
        ("1'250.50", 1250.5),
        ("0.125 €", 0.125),
        ("1,250.125", 1250.125),
        ("007", 7),
        ("٣", 3),
        *[(text, None) for text in ("", "%", "$", "²", "x", "12b", "5 kg", "1.2E+5", "9" * 101)],
    ],
)
def test_displays_of_numbers_in_other_locales(text: str, number: float | None) -> None:
    """Points, commas, blanks and apostrophes separate digits. `0.125` has decimals. Words give
    None.
    """
    assert displayed_number(text) == number


@pytest.mark.parametrize(
    ("text", "value", "is_odd"),
    [
        ("5", 5, False),
        ("0.5", 0.5, False),
        ("0.50", 0.5, False),
        ("0.3", 0.30000000000000004, True),
        ("5", 5.25, True),
        ("005", 5, True),
        ("5 ", 5, True),
        ("1_000", 1000, True),
        ("1,000", 1000, True),
        ("50%", 0.5, True),
        ("2026-02-01", 46_054, False),
        ("2026-02-01", 46_054.5, True),
        ("01.02.2026", 46_054, True),
        ("12:00:00", 0.5, False),
        ("12:00 PM", 0.5, True),
        ("TRUE", True, True),
        ("WAHR", True, True),
        ("5", "5", False),
        ("x", "x", False),
        ("", None, False),
    ],
)
@pytest.mark.parametrize("beside", [[], [("7", 7)], [("a", "a")]], ids=len)
def test_a_display_that_differs_from_the_value_is_odd(
    text: str, value: object, is_odd: bool, beside: list[tuple[str, object]]
) -> None:
    """A cell is odd if its displayed text does not parse to its typed value."""
    cells = [(text, value), *beside]

    texts, values = [text for text, _ in cells], [value for _, value in cells]
    index = ColumnIndex(["h", *texts], ["h", *values], 1 + len(cells))

    assert [*finish(index.keys()).odd] == [1] * is_odd


@pytest.mark.parametrize("texts", [("9007199254740993", "-7"), ["9007199254740993", "-7"]])
def test_integers_in_plain_notation_need_no_test_of_each_cell(texts: Sequence[str]) -> None:
    """If all cells are integers in plain notation, `cell_kinds` returns no cells for
    `read_cell`.
    """
    _, keys, unread = cell_kinds(texts, [9_007_199_254_740_993, -7])

    assert keys == [9_007_199_254_740_993, -7]
    assert not unread
