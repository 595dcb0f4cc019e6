"""Values and errors of formulas."""

from dataclasses import dataclass

from sheets_emulator.grid.cell import CellValue

ERROR_TEXTS = {  # Google's ErrorType and its displayed text
    "ERROR": "#ERROR!",
    "NULL_VALUE": "#NULL!",
    "DIVIDE_BY_ZERO": "#DIV/0!",
    "VALUE": "#VALUE!",
    "REF": "#REF!",
    "NAME": "#NAME?",
    "NUM": "#NUM!",
    "N_A": "#N/A",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CellError:
    """An error as the value of a cell.

    `text` is displayed, such as `#REF!`. `kind` is Google's ErrorType, such as `REF`.
    """

    text: str
    kind: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluated:
    """A value and its number format. A `pattern` of None is the automatic format."""

    value: CellValue | CellError = None
    pattern: str | None = None


def cell_error(kind: str, message: str) -> CellError:
    return CellError(text=ERROR_TEXTS[kind], kind=kind, message=message)


NOT_PARSED = cell_error("ERROR", "Formula parse error.")
LOST = cell_error("REF", "Reference does not exist.")
CIRCULAR = cell_error(
    "REF",
    "Circular dependency detected. To resolve with iterative calculation, see File > Settings.",
)
NOT_AS_LARGE = cell_error("N_A", "Argument array is smaller than another one of the formula.")
NOT_ONE_CELL = cell_error("VALUE", "An array value could not be found.")
TOO_LARGE = cell_error(
    "NUM", "Numeric value is greater than 1.79769E+308 and cannot be displayed properly."
)
