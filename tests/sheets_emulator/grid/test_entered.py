"""Cells after input with the options USER_ENTERED and RAW, and their displayed text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.formats.numeral import displayed_number
from sheets_emulator.grid.cell import BLANK, Cell, CellValue, Content, number_format
from sheets_emulator.grid.entered import entered, stored, typed


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        pytest.param("0042", 42, "42", id="leading zeros"),
        pytest.param("-7", -7, "-7", id="negative"),
        pytest.param("+7", 7, "7", id="plus sign"),
        pytest.param(" 7 ", 7, "7", id="blanks round a number"),
        pytest.param("\t7\n", 7, "7", id="tab and line end round a number"),
        pytest.param(".5", 0.5, "0.5", id="no digit before the point"),
        pytest.param("-.5", -0.5, "-0.5", id="negative, no digit before the point"),
        pytest.param("5.", 5, "5", id="no digit after the point"),
        pytest.param("1.50", 1.5, "1.5", id="trailing zero"),
        pytest.param("(5)", -5, "-5", id="parentheses"),
        pytest.param("(1,234)", -1234, "-1,234", id="parentheses with separators"),
        pytest.param("1,250", 1250, "1,250", id="separators, no decimals"),
        pytest.param("2,000,000.01", 2000000.01, "2,000,000.01", id="separators"),
        pytest.param("1,234.567", 1234.567, "1,234.57", id="separators, many decimals"),
        pytest.param("1e3", 1000, "1.00E+03", id="exponent"),
        pytest.param("-1.5E-3", -0.0015, "-1.50E-03", id="negative exponent"),
        pytest.param("1e-400", 0, "0.00E+00", id="below all doubles"),
        pytest.param("50%", 0.5, "50%", id="percent"),
        pytest.param("50 %", 0.5, "50%", id="percent after a blank"),
        pytest.param("-50%", -0.5, "-50%", id="negative percent"),
        pytest.param("(50%)", -0.5, "-50%", id="percent in parentheses"),
        pytest.param("12.5%", 0.125, "12.50%", id="percent with decimals"),
        pytest.param("56.7%", 0.567, "56.70%", id="percent, nearest double"),
        pytest.param("$1,234.50", 1234.5, "$1,234.50", id="currency"),
        pytest.param("$.5", 0.5, "$0.50", id="currency below one"),
        pytest.param("$5", 5, "$5", id="whole currency"),
        pytest.param("-$5", -5, "-$5", id="sign before the currency"),
        pytest.param("$-5", -5, "-$5", id="sign after the currency"),
        pytest.param("($5)", -5, "-$5", id="currency in parentheses"),
        pytest.param("€5.20", 5.2, "€5.20", id="euro"),
        pytest.param("-£1,000", -1000, "-£1,000", id="pound"),
        pytest.param("¥500", 500, "¥500", id="yen"),
    ],
)
def test_typed_number_is_a_number_in_its_format(text: str, value: float, shown: str) -> None:
    """A typed number is stored as a number, and displayed with the typed sign, such as `$`."""
    cell = typed(text)

    assert isinstance(cell.value, float)
    assert cell.value == value
    assert displayed_number(cell.value, cell.pattern) == shown


@pytest.mark.parametrize(
    ("text", "kind", "pattern"),
    [
        pytest.param("2,000", "NUMBER", "#,##0", id="number"),
        pytest.param("2,000.5", "NUMBER", "#,##0.00", id="number with decimals"),
        pytest.param("5%", "PERCENT", "0%", id="percent"),
        pytest.param("5.5%", "PERCENT", "0.00%", id="percent with decimals"),
        pytest.param("1e5", "SCIENTIFIC", "0.00E+00", id="scientific"),
        pytest.param("$5", "CURRENCY", '"$"#,##0', id="dollar"),
        pytest.param("$5.5", "CURRENCY", '"$"#,##0.00', id="dollar with decimals"),
        pytest.param("€5", "CURRENCY", "[$€]#,##0", id="another currency"),
    ],
)
def test_number_format_follows_the_typed_number(text: str, kind: str, pattern: str) -> None:
    """A percent sign, currency, separator or exponent sets Google's type and pattern."""
    assert typed(text).format == number_format(kind, pattern)


@pytest.mark.parametrize("text", ["42", "-1.5", ".5", "(5)", "TRUE", "text"])
def test_plain_input_sets_no_number_format(text: str) -> None:
    """A plain number, a boolean or a text sets no number format."""
    assert typed(text).format is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("TRUE", True), ("true", True), ("True", True), (" FALSE ", False), ("false", False)],
)
def test_typed_boolean_is_a_boolean(text: str, value: bool) -> None:
    """TRUE and FALSE in any case, with blanks around them, are stored as booleans."""
    assert typed(text) == Cell(value=value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("'007", "007", id="before a number"),
        pytest.param("'TRUE", "TRUE", id="before a boolean"),
        pytest.param("'=1+2", "=1+2", id="before a formula"),
        pytest.param("''x", "'x", id="two apostrophes"),
        pytest.param("'", None, id="alone"),
    ],
)
def test_leading_apostrophe_makes_a_text(text: str, value: CellValue) -> None:
    """The characters after a leading apostrophe are stored as text, without parsing."""
    assert typed(text) == Cell(value=value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("3_1_0", id="underscores"),
        pytest.param("1_000", id="underscore between digits"),
        pytest.param("1,23", id="group of two"),
        pytest.param("1,2,3", id="misplaced separators"),
        pytest.param("1234,567", id="first group of four"),
        pytest.param("1,234e5", id="separators and exponent"),
        pytest.param("1 000", id="blank between digits"),
        pytest.param("1\u00a0000", id="non-breaking blank between digits"),
        pytest.param("\u00a05", id="non-breaking blank before a digit"),
        pytest.param("- 5", id="blank after the sign"),
        pytest.param("5-", id="sign after the number"),
        pytest.param("--5", id="two signs"),
        pytest.param("-$-5", id="signs on both sides of the currency"),
        pytest.param("(-5)", id="sign in parentheses"),
        pytest.param("(+5)", id="plus in parentheses"),
        pytest.param("-(5)", id="sign before parentheses"),
        pytest.param("((5))", id="two parentheses"),
        pytest.param("(5", id="open parenthesis"),
        pytest.param("()", id="nothing in parentheses"),
        pytest.param("1.2.3", id="two points"),
        pytest.param(".", id="lone point"),
        pytest.param("$", id="lone currency"),
        pytest.param("%", id="lone percent"),
        pytest.param("5$", id="currency after the number"),
        pytest.param("$ 5", id="blank after the currency"),
        pytest.param("$5%", id="currency and percent"),
        pytest.param("$1e3", id="currency and exponent"),
        pytest.param("%50", id="percent before the number"),
        pytest.param("0x10", id="hexadecimal"),
        pytest.param("nan", id="nan"),
        pytest.param("Infinity", id="infinity"),
        pytest.param("1e400", id="past all doubles"),
        pytest.param("9" * 400, id="digits past all doubles"),
        pytest.param("1e", id="no exponent"),
        pytest.param("１２３", id="digits that are not ASCII"),
        pytest.param("44 20 7946", id="phone number"),
        pytest.param("+", id="lone plus"),
        pytest.param(" +A1", id="blank before the plus"),
        pytest.param("-A1", id="minus before a reference"),
        pytest.param("=", id="nothing after the equals sign"),
        pytest.param(" =1+1", id="blank before the equals sign"),
        pytest.param(" a b ", id="blanks round a text"),
        pytest.param("yes", id="no boolean"),
    ],
)
def test_unrecognised_text_stays_text(text: str) -> None:
    """A text that is not a number, date, boolean or formula is stored unchanged."""
    assert typed(text) == Cell(value=text)


@pytest.mark.parametrize("text", ["=4/2", "= 1 / 1024", "=+A1", "==1"])
def test_equals_sign_starts_a_formula(text: str) -> None:
    """A text that starts with an equals sign is stored as a formula, unchanged."""
    assert typed(text) == Cell(formula=text)


@pytest.mark.parametrize("text", ["+A1", "+-5", "+x", "+1 555", "+1e400"])
def test_plus_sign_starts_a_formula_if_no_number_follows(text: str) -> None:
    """A text such as `+A1` is stored as the formula `=+A1`."""
    assert typed(text) == Cell(formula=f"={text}")


@pytest.mark.parametrize("pattern", [{"type": "TEXT"}, {"type": "NUMBER", "pattern": "@"}])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("00123", "00123"),
        ("=1+1", "=1+1"),
        ("+A1", "+A1"),
        ("TRUE", "TRUE"),
        ("'7", "7"),
        ("", None),
    ],
)
def test_cell_formatted_as_plain_text_stores_any_text_unchanged(
    text: str, value: CellValue, pattern: dict[str, str]
) -> None:
    """Typed numbers, booleans and formulas stay text. A JSON number is stored as a number."""
    old = Cell(value=1.0, format={"numberFormat": pattern})

    assert entered(text, old) == Cell(value=value)
    assert entered(5.0, old) == Cell(value=5.0)


@pytest.mark.parametrize(
    "old", [None, "x", Cell(note="n"), Cell(format=number_format("DATE", "d"))]
)
def test_other_cells_parse_typed_text(old: Content) -> None:
    """A typed number becomes a number in a blank cell, a text cell and a date cell."""
    assert entered("00123", old) == Cell(value=123.0)


@pytest.mark.parametrize("text", ["=1+2", "007", "TRUE", "2020-01-01", "'x", "50%"])
def test_raw_text_is_not_parsed(text: str) -> None:
    """RAW stores each string as text, also `=1+2`, `007`, `TRUE` and `50%`."""
    assert stored(text) == Cell(value=text)


@pytest.mark.parametrize("value", [True, 1.5])
def test_json_numbers_and_booleans_keep_their_types_in_both_modes(value: bool | float) -> None:
    """RAW and USER_ENTERED store JSON numbers and booleans with their types."""
    assert stored(value) == entered(value) == Cell(value=value)


def test_empty_string_is_a_blank_in_both_modes() -> None:
    """RAW and USER_ENTERED make a cell blank if the value is the empty string."""
    assert stored("") == entered("") == BLANK


@pytest.mark.parametrize("text", ["-0", "(0)", "-0%", "$-0"])
def test_negative_zero_becomes_zero(text: str) -> None:
    """A typed minus zero is stored as zero."""
    assert str(typed(text).value) == "0.0"


@given(st.text(alphabet="0123456789.,+-$€%()eE:/ amPp'=Jn_\u00a0", max_size=20))
def test_any_text_becomes_a_cell(text: str) -> None:
    """Every typed text is accepted, and a number that is stored is finite."""
    cell = typed(text)

    assert not isinstance(cell.value, float) or abs(cell.value) < float("inf")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_printed_by_python_is_read_exactly(number: float) -> None:
    """Python's shortest text of a float is read as the same float."""
    assert typed(repr(number)).value == number


@given(st.integers(min_value=0, max_value=10**12))
def test_whole_number_with_separators_is_shown_as_typed(number: int) -> None:
    """A typed number with thousands separators is displayed with the same separators."""
    text = f"{number + 1000:,}"

    cell = typed(text)

    assert isinstance(cell.value, float)
    assert displayed_number(cell.value, cell.pattern) == text
