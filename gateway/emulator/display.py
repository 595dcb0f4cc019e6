"""How a cell is shown in an answer.

Rules
- FORMATTED_VALUE: text, as the sheet displays it. UNFORMATTED_VALUE and FORMULA: JSON numbers and
  booleans, dates as serials unless FORMATTED_STRING is asked for (recorded).
- The automatic format of a number: whole numbers below 1E+15 plain, otherwise ten significant
  digits without trailing zeros, and scientific from 1E+15 on and below 1E-9 (as Google's own page
  shows `=PI()`; an assumption for values.get).
- Formulas are not evaluated: they show `#NAME?`.
"""

from dataclasses import dataclass
from decimal import Decimal

from gateway.emulator.cell import Cell, CellValue
from gateway.emulator.pattern import is_date, written

FORMULA_ERROR = "#NAME?"
LARGEST_PLAIN = 1e15
SMALLEST_PLAIN = 1e-9
SIGNIFICANT_DIGITS = 10
LARGEST_EXACT = 2**53


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """How values are asked for: `valueRenderOption` and `dateTimeRenderOption`."""

    value: str = "FORMATTED_VALUE"
    date_time: str = "SERIAL_NUMBER"


def rendered(cell: Cell, rendering: Rendering) -> str | bool | int | float:
    """The JSON value of a cell in an answer; a blank cell is the empty string."""
    if rendering.value == "FORMATTED_VALUE":
        return displayed(cell)
    if cell.formula is not None:
        return cell.formula if rendering.value == "FORMULA" else FORMULA_ERROR
    if isinstance(cell.value, float):
        return _number(cell.value, cell.pattern, rendering)
    return "" if cell.value is None else cell.value


def displayed(cell: Cell) -> str:
    """The text that the sheet shows."""
    if cell.formula is not None:
        return FORMULA_ERROR
    if isinstance(cell.value, str):
        return cell.value
    if isinstance(cell.value, bool):
        return "TRUE" if cell.value else "FALSE"
    return "" if cell.value is None else displayed_number(cell.value, cell.pattern)


def displayed_number(number: float, pattern: str | None) -> str:
    """A number in its format, or in the automatic one."""
    text = written(number, pattern) if pattern else None
    return automatic(number) if text is None else text


def automatic(number: float) -> str:
    """A number as it is shown in a cell without a format of its own."""
    size = abs(number)
    if size == 0:
        return "0"
    if size >= LARGEST_PLAIN or size < SMALLEST_PLAIN:
        return _scientific(number)
    if number.is_integer():
        return str(int(number))
    whole_digits = len(str(int(size)))
    decimals = max(SIGNIFICANT_DIGITS, whole_digits) - 1
    text = f"{Decimal(f'{number:.{decimals}E}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def plain(value: CellValue) -> CellValue:
    """The value as JSON writes it: a whole number without a fraction."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_EXACT:
        return int(value)
    return value


def _number(number: float, pattern: str | None, rendering: Rendering) -> str | int | float:
    if rendering.date_time == "FORMATTED_STRING" and is_date(pattern):
        return displayed_number(number, pattern)
    return int(number) if number.is_integer() and abs(number) <= LARGEST_EXACT else number


def _scientific(number: float) -> str:
    """Six significant digits, no trailing zeros: 1E+20, 1.23457E+15."""
    digits, exponent = f"{number:.5E}".split("E")
    return f"{digits.rstrip('0').rstrip('.')}E{exponent}"
