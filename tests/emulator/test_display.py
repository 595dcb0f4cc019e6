"""How numbers and dates are shown."""

import pytest

from gateway.emulator.cell import Cell
from gateway.emulator.display import Rendering, automatic, displayed_number, rendered


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
def test_number_without_a_format_is_shown_as_automatic(number: float, shown: str) -> None:
    """Whole numbers plain, ten significant digits, no trailing zeros, scientific at the ends."""
    assert automatic(number) == shown


@pytest.mark.parametrize(
    ("number", "pattern", "shown"),
    [
        pytest.param(1234.5, "#,##0.00", "1,234.50", id="grouped"),
        pytest.param(-1234.5, '"$"#,##0.00', "-$1,234.50", id="currency"),
        pytest.param(2.5, "0", "3", id="half rounds up"),
        pytest.param(0.125, "0%", "13%", id="percent"),
        pytest.param(43831.75, "yyyy-mm-dd h:mm", "2020-01-01 18:00", id="date and time"),
        pytest.param(43831.0, "mmmm d, yyyy", "January 1, 2020", id="name of the month"),
        pytest.param(5.0, "yyyy-mm-dd", "1900-01-04", id="small number as a date"),
        pytest.param(1e12, "yyyy-mm-dd", "1000000000000", id="no such date"),
        pytest.param(1e30, "0.00", "1" + "0" * 30 + ".00", id="large number"),
        pytest.param(1.5, "[Red]# ?/?", "1.5", id="unknown format"),
    ],
)
def test_number_in_a_format(number: float, pattern: str, shown: str) -> None:
    """A format is applied as far as it is known; otherwise the number is shown as automatic."""
    assert displayed_number(number, pattern) == shown


@pytest.mark.parametrize(
    ("cell", "rendering", "value"),
    [
        pytest.param(
            Cell(value=43831.0, pattern="yyyy-mm-dd"),
            Rendering(value="UNFORMATTED_VALUE"),
            43831,
            id="date as a serial",
        ),
        pytest.param(
            Cell(value=43831.0, pattern="yyyy-mm-dd"),
            Rendering(value="UNFORMATTED_VALUE", date_time="FORMATTED_STRING"),
            "2020-01-01",
            id="date as a text",
        ),
        pytest.param(
            Cell(value=0.5, pattern="0%"),
            Rendering(value="UNFORMATTED_VALUE", date_time="FORMATTED_STRING"),
            0.5,
            id="percent is no date",
        ),
        pytest.param(Cell(formula="=A1"), Rendering(value="FORMULA"), "=A1", id="formula"),
        pytest.param(
            Cell(value=2.0), Rendering(value="FORMULA"), 2, id="number where formulas are asked for"
        ),
        pytest.param(
            Cell(value=2.0**53 + 2),
            Rendering(value="UNFORMATTED_VALUE"),
            2.0**53 + 2,
            id="past exact integers",
        ),
        pytest.param(Cell(), Rendering(value="UNFORMATTED_VALUE"), "", id="blank"),
    ],
)
def test_cell_is_rendered_as_asked(cell: Cell, rendering: Rendering, value: object) -> None:
    """The render options decide between text, typed value, serial and formula."""
    found = rendered(cell, rendering)

    assert (type(found), found) == (type(value), value)
