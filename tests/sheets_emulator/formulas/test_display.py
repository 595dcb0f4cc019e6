"""Tests of the rendering of cells: displayed text, typed value or formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.formats.numeral import automatic, automatic_column, displayed_number
from sheets_emulator.formulas.display import rendered_blocks
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.grid.box import sized
from sheets_emulator.grid.cell import Cell, Content, number_format
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.rendering import Rendering

DATE = Cell(value=43831.0, format=number_format("DATE", "yyyy-mm-dd"))
PERCENT = Cell(value=0.5, format=number_format("PERCENT", "0%"))
DURATION = Cell(value=1.5, format=number_format("TIME", "[h]:mm:ss"))
FORMULA = Cell(formula="=4/2")
ERROR = Cell(formula="=1/0")
MARKED = Cell(value="text", format=number_format("NUMBER", '0;-0;0;"<"@">"'))


def rendered(content: Content, rendering: Rendering) -> object:
    """Return the JSON value that a read returns for a cell with this content."""
    sheet = Sheet(sheet_id=0, title="Data", row_count=1, column_count=1, rows=[(content,)])
    workbook = Workbook(spreadsheet_id="one", title="One", sheets=[sheet])
    box = sized(top=0, left=0, height=1, width=1)
    (block,) = rendered_blocks(sheet, box, rendering, Results(workbook))
    return block.columns[0][0]


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (42.0, "42"),
        (-1.5, "-1.5"),
        (0.1 + 0.2, "0.3"),
        (1 / 3, "0.3333333333"),
        (1 / 1024, "0.0009765625"),
        (12345678.9, "12345678.9"),
        (123456789012.5, "123456789012"),
        (999999999999999.0, "999999999999999"),
        (1e15, "1E+15"),
        (1e20, "1E+20"),
        (-1.2345678e20, "-1.23457E+20"),
        (1.5e-10, "1.5E-10"),
        (1.7976931348623157e308, "1.79769E+308"),
    ],
)
def test_number_without_a_format_is_displayed(number: float, shown: str) -> None:
    """Fractions have up to ten significant digits. Extreme numbers use scientific notation."""
    assert automatic(number) == shown


@pytest.mark.parametrize(
    ("number", "pattern", "shown"),
    [
        pytest.param(1234.5, "#,##0.00", "1,234.50", id="grouped"),
        pytest.param(43831.75, "yyyy-mm-dd h:mm", "2020-01-01 18:00", id="date and time"),
        pytest.param(1.5, None, "1.5", id="no format"),
        pytest.param(1.5, "", "1.5", id="empty format"),
        pytest.param(1.5, "@", "1.5", id="format for texts"),
        pytest.param(1.5, "[Red]#,# ?/?", "1.5", id="unknown format"),
        pytest.param(1e12, "yyyy-mm-dd", "1000000000000", id="no such date"),
        pytest.param(-5.0, "0;", "", id="format that shows nothing"),
    ],
)
def test_number_is_displayed_in_its_format(number: float, pattern: str | None, shown: str) -> None:
    """A number with an unsuitable or unknown format is displayed as without a format."""
    assert displayed_number(number, pattern) == shown


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        pytest.param(2.0, "2", id="number"),
        pytest.param(True, "TRUE", id="true"),
        pytest.param(False, "FALSE", id="false"),
        pytest.param("text", "text", id="text"),
        pytest.param(None, None, id="blank"),
        pytest.param(Cell(note="n"), None, id="blank with a note"),
        pytest.param(DATE, "2020-01-01", id="date"),
        pytest.param(DURATION, "36:00:00", id="duration"),
        pytest.param(FORMULA, "2", id="formula"),
        pytest.param(ERROR, "#DIV/0!", id="error"),
        pytest.param(MARKED, "<text>", id="text in a section for texts"),
    ],
)
def test_formatted_value_is_the_displayed_text(content: Content, shown: object) -> None:
    """Values, results and errors are texts in the cell's format. A blank cell is None."""
    assert rendered(content, Rendering()) == shown


@pytest.mark.parametrize(
    ("content", "rendering", "value"),
    [
        pytest.param(DATE, Rendering(value="UNFORMATTED_VALUE"), 43831, id="date as a serial"),
        pytest.param(
            DATE,
            Rendering(value="UNFORMATTED_VALUE", date_time="FORMATTED_STRING"),
            "2020-01-01",
            id="date as a text",
        ),
        pytest.param(
            DURATION,
            Rendering(value="UNFORMATTED_VALUE", date_time="FORMATTED_STRING"),
            "36:00:00",
            id="duration as a text",
        ),
        pytest.param(
            PERCENT,
            Rendering(value="UNFORMATTED_VALUE", date_time="FORMATTED_STRING"),
            0.5,
            id="percent is no date",
        ),
        pytest.param(FORMULA, Rendering(value="UNFORMATTED_VALUE"), 2, id="result of a formula"),
        pytest.param(
            ERROR,
            Rendering(value="UNFORMATTED_VALUE"),
            "#DIV/0! (Function DIVIDE parameter 2 cannot be zero.)",
            id="error with its explanation",
        ),
        pytest.param(
            Cell(formula="=#N/A"),
            Rendering(value="UNFORMATTED_VALUE"),
            "#N/A ()",
            id="error without an explanation",
        ),
        pytest.param(FORMULA, Rendering(value="FORMULA"), "=4/2", id="formula"),
        pytest.param(2.0, Rendering(value="FORMULA"), 2, id="number where formulas are asked for"),
        pytest.param(
            2.0**53 + 2,
            Rendering(value="UNFORMATTED_VALUE"),
            2.0**53 + 2,
            id="past exact integers",
        ),
        pytest.param(True, Rendering(value="UNFORMATTED_VALUE"), True, id="boolean"),
        pytest.param(Cell(), Rendering(value="UNFORMATTED_VALUE"), None, id="blank"),
    ],
)
def test_cell_is_rendered_by_the_options(
    content: Content, rendering: Rendering, value: object
) -> None:
    """Options select the typed value or formula, and a date as a serial number or text."""
    found = rendered(content, rendering)

    assert (type(found), found) == (type(value), value)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_a_column_of_numbers_is_displayed_like_each_number(numbers: list[float]) -> None:
    """`automatic_column` returns the same texts as `automatic` for each number."""
    assert automatic_column(numbers) == [automatic(number) for number in numbers]


@given(st.lists(st.floats(min_value=1e-4, max_value=8e9), min_size=1, max_size=20))
def test_a_column_of_usual_numbers_is_displayed_like_each_number(numbers: list[float]) -> None:
    """Numbers from 0.0001 to 8e9, which take a fast path, get the same texts as single numbers."""
    assert automatic_column(numbers) == [automatic(number) for number in numbers]
