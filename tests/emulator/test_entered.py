"""What cells hold after USER_ENTERED and RAW, and what they then show."""

import pytest

from gateway.emulator.cell import BLANK, Cell, CellValue
from gateway.emulator.display import displayed
from gateway.emulator.entered import entered, stored, typed


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        pytest.param("0042", 42, "42", id="leading zeros"),
        pytest.param("-7", -7, "-7", id="negative"),
        pytest.param("+7", 7, "7", id="plus sign"),
        pytest.param(" 7 ", 7, "7", id="blanks round a number"),
        pytest.param(".5", 0.5, "0.5", id="no digit before the point"),
        pytest.param("1.50", 1.5, "1.5", id="trailing zero"),
        pytest.param("2,000,000.01", 2000000.01, "2,000,000.01", id="separators"),
        pytest.param("1,250", 1250, "1,250", id="separators, no decimals"),
        pytest.param("1e3", 1000, "1.00E+03", id="exponent"),
        pytest.param("50%", 0.5, "50%", id="percent"),
        pytest.param("12.5%", 0.125, "12.50%", id="percent with decimals"),
        pytest.param("$1,234.50", 1234.5, "$1,234.50", id="currency"),
        pytest.param("-$5", -5, "-$5", id="negative currency"),
        pytest.param("TRUE", True, "TRUE", id="true"),
        pytest.param("false", False, "FALSE", id="false in lower case"),
        pytest.param("2020-01-01", 43831, "2020-01-01", id="ISO date"),
        pytest.param("1999-01-02", 36162, "1999-01-02", id="ISO date of another century"),
        pytest.param("1/2/2020", 43832, "1/2/2020", id="month first"),
        pytest.param("01/02/2020", 43832, "01/02/2020", id="month first, zeros"),
        pytest.param("1/2/20", 43832, "1/2/20", id="year of two digits"),
        pytest.param("Jan 2, 2020", 43832, "Jan 2, 2020", id="name of a month"),
        pytest.param("2-January-2020", 43832, "2-January-2020", id="long name of a month"),
        pytest.param(
            "2020-01-01 12:30:00", 43831 + 12.5 / 24, "2020-01-01 12:30:00", id="date and time"
        ),
        pytest.param("2020-01-01 09:05", 43831 + 545 / 1440, "2020-01-01 9:05", id="no seconds"),
        pytest.param("12:00", 0.5, "12:00", id="time"),
        pytest.param("6:30 PM", 18.5 / 24, "6:30 PM", id="half of the day"),
        pytest.param("'007", "007", "007", id="apostrophe"),
        pytest.param("'=1+2", "=1+2", "=1+2", id="apostrophe before a formula"),
        pytest.param("3_1_0", "3_1_0", "3_1_0", id="underscores"),
        pytest.param("1,2,3", "1,2,3", "1,2,3", id="misplaced separators"),
        pytest.param("2020-02-30", "2020-02-30", "2020-02-30", id="no such day"),
        pytest.param("25:61", "25:61", "25:61", id="no such time"),
        pytest.param("13:00 PM", "13:00 PM", "13:00 PM", id="no such hour"),
        pytest.param("nan", "nan", "nan", id="nan"),
        pytest.param("1e400", "1e400", "1e400", id="past all doubles"),
        pytest.param("１２３", "１２３", "１２３", id="digits that are not ASCII"),
        pytest.param("+-5", "+-5", "+-5", id="two signs"),
        pytest.param("+44 20 7946", "+44 20 7946", "+44 20 7946", id="phone number"),
        pytest.param("=", "=", "=", id="nothing after the equals sign"),
        pytest.param(" a b ", " a b ", " a b ", id="text keeps its blanks"),
        pytest.param("", None, "", id="blank"),
    ],
)
def test_typed_text_becomes_what_google_makes_of_it(
    text: str, value: CellValue, shown: str
) -> None:
    """A typed text becomes a number, boolean, date, text or blank, and is shown as typed."""
    cell = typed(text)

    assert cell.value == value
    assert type(cell.value) in (type(value), float)
    assert displayed(cell) == shown


def test_formula_is_kept_and_not_evaluated() -> None:
    """A text that starts with an equals sign is a formula, which shows an error."""
    cell = typed("=4/2")

    assert cell == Cell(formula="=4/2")
    assert displayed(cell) == "#NAME?"


@pytest.mark.parametrize("text", ["=1+2", "007", "TRUE", "2020-01-01", "'x", "50%"])
def test_raw_text_stays_the_text_it_is(text: str) -> None:
    """Under RAW nothing is parsed."""
    assert stored(text) == Cell(value=text)


@pytest.mark.parametrize("value", [True, 1.5])
def test_json_numbers_and_booleans_keep_their_types_in_both_modes(value: bool | float) -> None:
    """Only strings are read as typed."""
    assert stored(value) == entered(value) == Cell(value=value)


def test_empty_string_is_a_blank_in_both_modes() -> None:
    """The empty string leaves nothing in the cell."""
    assert stored("") == entered("") == BLANK
