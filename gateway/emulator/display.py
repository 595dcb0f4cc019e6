"""How a cell is shown in an answer.

Rules
- FORMATTED_VALUE: text, as the sheet displays it. UNFORMATTED_VALUE and FORMULA: JSON numbers and
  booleans, dates as serials unless FORMATTED_STRING is asked for (recorded).
- Most cells are bare values and take a short way: a worksheet of a million cells is read in one go.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.emulator.box import Box
from gateway.emulator.cell import Cell, CellValue, Content, is_blank
from gateway.emulator.evaluate import CellError, Evaluated, Results
from gateway.emulator.numeral import automatic, displayed_number
from gateway.emulator.pattern import is_date
from gateway.emulator.sheet import Sheet

LARGEST_EXACT = 2**53

Shown = str | bool | int | float | None  # None: the cell is blank


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """How values are asked for: `valueRenderOption` and `dateTimeRenderOption`."""

    value: str = "FORMATTED_VALUE"
    date_time: str = "SERIAL_NUMBER"


def rendered_rows(
    sheet: Sheet, box: Box, rendering: Rendering, results: Results
) -> list[list[Shown]]:
    """The JSON values of a box row by row, which may end where only blank cells follow."""
    bare = BARE[rendering.value]
    lines = []
    for number, row in enumerate(sheet.read(box), start=box.top):
        if Cell in map(type, row):
            places = enumerate(row, start=box.left)
            lines.append(
                [_rendered(sheet, number, at, each, rendering, results) for at, each in places]
            )
        else:
            lines.append(
                [
                    each if type(each) is str or each is None else bare[type(each)](each)
                    for each in row
                ]
            )
    return lines


def displayed(evaluated: Evaluated) -> str:
    """The text that the sheet shows."""
    value = evaluated.value
    if isinstance(value, CellError):
        return value.text
    if isinstance(value, float):
        return displayed_number(value, evaluated.pattern)
    return "" if value is None else str(FORMATTED[type(value)](value))


def plain(value: CellValue) -> CellValue:
    """The value as JSON writes it: a whole number without a fraction."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_EXACT:
        return int(value)
    return value


def _rendered(
    sheet: Sheet, row: int, column: int, content: Content, rendering: Rendering, results: Results
) -> Shown:
    if rendering.value == "FORMULA" and isinstance(content, Cell) and content.formula is not None:
        return content.formula
    if is_blank(content):
        return None
    evaluated = results.of(sheet, row, column)
    if rendering.value == "FORMATTED_VALUE":
        return displayed(evaluated)
    value = evaluated.value
    if isinstance(value, CellError):
        return value.text
    if isinstance(value, float) and rendering.date_time == "FORMATTED_STRING":
        pattern = evaluated.pattern
        return displayed_number(value, pattern) if is_date(pattern) else _number(value)
    return "" if value is None else UNFORMATTED[type(value)](value)


def _number(number: float) -> int | float:
    return int(number) if number.is_integer() and abs(number) <= LARGEST_EXACT else number


def _truth(value: bool) -> str:
    return "TRUE" if value else "FALSE"


def _same(value: Shown) -> Shown:
    return value


Bare = Mapping[type, Callable[..., Shown]]
FORMATTED: Bare = {str: _same, float: automatic, bool: _truth}
UNFORMATTED: Bare = {str: _same, float: _number, bool: _same}
BARE: Mapping[str, Bare] = {
    "FORMATTED_VALUE": FORMATTED,
    "UNFORMATTED_VALUE": UNFORMATTED,
    "FORMULA": UNFORMATTED,
}
