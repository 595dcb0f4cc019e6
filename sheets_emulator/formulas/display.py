"""Rendering of cells in answers.

Rules:
- FORMATTED_VALUE gives the displayed text.
- UNFORMATTED_VALUE and FORMULA give JSON numbers and booleans. Dates are serial numbers, unless
  FORMATTED_STRING is requested (recorded from Google).
- UNFORMATTED_VALUE adds the message to an error: `#N/A (…)`.
- Worksheets are rendered by column, because most columns have values of one type.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import NoneType
from typing import cast

from sheets_emulator.formats.numeral import automatic, automatic_column, displayed_number
from sheets_emulator.formats.pattern import is_date, written_text
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.result import CellError, Evaluated
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.cell import Cell, CellValue, Content
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.protocol.rendering import Rendering

LARGEST_EXACT = 2**53
LARGEST_SHORT = 10**9
BLOCK_ROWS, BLOCK_CELLS = 1000, 1_000_000
"""Maximum rows and cells of a block, which is rendered at once."""
AS_THEY_ARE = frozenset([str, NoneType])
NUMBERS = frozenset([float])

Shown = str | bool | int | float | None  # None: a blank cell


@dataclass(frozen=True, kw_only=True)
class Block:
    """Rendered values of some rows: `height` values in each of the columns."""

    height: int
    columns: Sequence[Sequence[Shown]]


def rendered_blocks(
    sheet: Sheet, box: Box, rendering: Rendering, results: Results
) -> Iterator[Block]:
    """Yield the JSON values of a box (rectangle of cells), in blocks from top to bottom.

    Trailing blank cells can be missing.
    """
    rows = sheet.read(box)
    height = min(BLOCK_ROWS, BLOCK_CELLS // max(box.width, 1) + 1)
    for start in range(0, len(rows), height):
        block = rows[start : start + height]
        top = box.top + start
        columns = [
            _rendered_column(sheet, top, column, contents, rendering, results)
            for column, contents in enumerate(zip_longest(*block), start=box.left)
        ]
        yield Block(height=len(block), columns=columns)


def displayed(evaluated: Evaluated) -> str:
    value = evaluated.value
    if isinstance(value, CellError):
        return value.text
    if isinstance(value, float):
        return displayed_number(value, evaluated.pattern)
    if isinstance(value, str):
        return written_text(value, evaluated.pattern)
    return "" if value is None else _truth(value)


def plain(value: CellValue) -> CellValue:
    """Return the value for JSON. A whole number becomes an integer."""
    return _number(value) if isinstance(value, float) else value


def _rendered_column(
    sheet: Sheet,
    top: int,
    column: int,
    contents: Sequence[Content],
    rendering: Rendering,
    results: Results,
) -> Sequence[Shown]:
    """Render some cells of a column. `contents` start in row `top`."""
    types = set(map(type, contents))
    if types <= AS_THEY_ARE:
        return cast(Sequence[Shown], contents)
    if types == NUMBERS:
        return NUMBER_COLUMNS[rendering.value](cast(Sequence[float], contents))
    bare = BARE[rendering.value]
    return [
        _rendered(sheet, row, column, each, rendering, results)
        if isinstance(each, Cell)
        else bare[type(each)](each)
        for row, each in enumerate(contents, start=top)
    ]


def _rendered(
    sheet: Sheet, row: int, column: int, cell: Cell, rendering: Rendering, results: Results
) -> Shown:
    if cell.is_blank:
        return None
    if rendering.value == "FORMULA" and cell.formula is not None:
        return cell.formula
    evaluated = results.of(sheet, row, column)
    if rendering.value == "FORMATTED_VALUE":
        return displayed(evaluated)
    value = evaluated.value
    if isinstance(value, CellError):
        return f"{value.text} ({value.message})"
    if isinstance(value, float) and rendering.date_time == "FORMATTED_STRING":
        pattern = evaluated.pattern
        return displayed_number(value, pattern) if is_date(pattern) else _number(value)
    if isinstance(value, float):
        return _number(value)
    return "" if value is None else value


def _number(number: float) -> int | float:
    return int(number) if number.is_integer() and abs(number) <= LARGEST_EXACT else number


def _automatic_column(numbers: Sequence[float]) -> Sequence[str]:
    whole = _whole_column(numbers)
    return automatic_column(numbers) if whole is None else list(map(str, whole))


def _number_column(numbers: Sequence[float]) -> Sequence[float]:
    whole = _whole_column(numbers)
    return list(map(_number, numbers)) if whole is None else whole


def _whole_column(numbers: Sequence[float]) -> list[int] | None:
    """Return the numbers as integers, or None if a number is fractional or too large."""
    whole = list(map(int, numbers))
    is_short = min(whole) > -LARGEST_SHORT and max(whole) < LARGEST_SHORT
    return whole if is_short and whole == list(numbers) else None


def _truth(value: bool) -> str:
    return "TRUE" if value else "FALSE"


def _same(value: Shown) -> Shown:
    return value


Bare = Mapping[type, Callable[..., Shown]]
FORMATTED: Bare = {str: _same, NoneType: _same, float: automatic, bool: _truth}
UNFORMATTED: Bare = {str: _same, NoneType: _same, float: _number, bool: _same}
BARE: Mapping[str, Bare] = {
    "FORMATTED_VALUE": FORMATTED,
    "UNFORMATTED_VALUE": UNFORMATTED,
    "FORMULA": UNFORMATTED,
}
NUMBER_COLUMNS: Mapping[str, Callable[[Sequence[float]], Sequence[Shown]]] = {
    "FORMATTED_VALUE": _automatic_column,
    "UNFORMATTED_VALUE": _number_column,
    "FORMULA": _number_column,
}
