"""Operators of formulas.

Rules:
- Operands are single values, never ranges. If operands are errors, the result is the first error.
- A blank is 0, "" or FALSE, depending on the other operand or the operator.
- A text is a number if typing the text would enter a number, including dates (`entered`).
- The result of `+`, `-`, a sign and `*` keeps the first number format of the operands. `*` ignores
  date formats, and the difference of two dates has no format. Other results have no format
  (assumed).
- `&` uses the displayed text of dates, and the automatic format of other numbers (assumed).
"""

import math
import operator
from collections.abc import Callable, Sequence

from sheets_emulator.formats.numeral import automatic, displayed_number
from sheets_emulator.formats.pattern import is_date
from sheets_emulator.formulas.result import TOO_LARGE, CellError, Evaluated, cell_error
from sheets_emulator.grid.cell import MAX_TEXT_LENGTH, CellValue
from sheets_emulator.grid.entered import typed

Operands = Sequence[Evaluated]
Pattern = str | None

IMAGINARY = cell_error("NUM", "Function POWER evaluates to an imaginary number.")
DIVIDED_BY_ZERO = cell_error("DIVIDE_BY_ZERO", "Function DIVIDE parameter 2 cannot be zero.")
TEXT_TOO_LONG = cell_error(
    "VALUE", f"Text result of CONCATENATE is longer than the limit of {MAX_TEXT_LENGTH} characters."
)
TRUTHS = {"TRUE": True, "FALSE": False}
NUMBER_RANK, TEXT_RANK, BOOLEAN_RANK = range(3)


def applied(name: str, operands: Operands) -> Evaluated:
    """Apply an operator or function to its operands. `name` is Google's name, such as `ADD`."""
    for operand in operands:
        if isinstance(operand.value, CellError):
            return Evaluated(value=operand.value)
    return FAMILIES[name](name, operands)


def number_of(value: CellValue, name: str, position: int) -> float | CellError:
    """Convert a value to a number. `name` and `position` are of the parameter, for the error."""
    if isinstance(value, str):
        read = typed(value).value
        return read if type(read) is float else _no_number(value, name, position)
    return float(value or 0)


def truth_of(value: CellValue | CellError) -> bool | CellError:
    """Convert a value to a condition. A blank is false, and a number other than 0 is true."""
    if isinstance(value, CellError):
        return value
    if isinstance(value, str):
        known = TRUTHS.get(value.upper())
        return _no_boolean(value) if known is None else known
    return bool(value)


def text_of(value: CellValue, pattern: Pattern) -> str:
    """Convert a value to text.

    `pattern` is the number format, of which only date formats have an effect.
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return displayed_number(value, pattern) if is_date(pattern) else automatic(value)
    return value or ""


def bounded_text(text: str) -> str | CellError:
    """Return the text, or an error if the text is too long for a cell."""
    return TEXT_TOO_LONG if len(text) > MAX_TEXT_LENGTH else text


def bounded_number(number: float) -> float | CellError:
    """Return the number, or an error if the number is infinite."""
    return number if math.isfinite(number) else TOO_LARGE


def _no_number(text: str, name: str, position: int) -> CellError:
    message = (
        f"Function {name} parameter {position} expects number values. "
        f"But '{text}' is a text and cannot be coerced to a number."
    )
    return cell_error("VALUE", message)


def _no_boolean(text: str) -> CellError:
    message = (
        f"Function IF parameter 1 expects boolean values. But '{text}' is a text and cannot be "
        "coerced to a boolean."
    )
    return cell_error("VALUE", message)


def _arithmetic(name: str, operands: Operands) -> Evaluated:
    numbers: list[float] = []
    for position, operand in enumerate(operands, start=1):
        if isinstance(operand.value, CellError):
            return operand
        number = number_of(operand.value, name, position)
        if isinstance(number, CellError):
            return Evaluated(value=number)
        numbers.append(number)
    value = _computed(name, numbers)
    keep = KEPT_PATTERN.get(name)
    if keep is None or isinstance(value, CellError):
        return Evaluated(value=value)
    return Evaluated(value=value, pattern=keep([operand.pattern for operand in operands]))


def _computed(name: str, numbers: Sequence[float]) -> float | CellError:
    try:
        return bounded_number(ARITHMETIC[name](*numbers))
    except ZeroDivisionError:
        return DIVIDED_BY_ZERO
    except OverflowError:
        return TOO_LARGE
    except ValueError:
        return IMAGINARY


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    return math.pow(base, exponent)


def _percent(number: float) -> float:
    return number / 100


def _first_pattern(patterns: Sequence[Pattern]) -> Pattern:
    return next((pattern for pattern in patterns if pattern), None)


def _pattern_of_difference(patterns: Sequence[Pattern]) -> Pattern:
    return None if all(map(is_date, patterns)) else _first_pattern(patterns)


def _pattern_of_product(patterns: Sequence[Pattern]) -> Pattern:
    return _first_pattern([pattern for pattern in patterns if not is_date(pattern)])


def _comparison(name: str, operands: Operands) -> Evaluated:
    left, right = operands
    keys = _sort_key(left.value, right.value), _sort_key(right.value, left.value)
    return Evaluated(value=COMPARISONS[name](*keys))


def _sort_key(
    value: CellValue | CellError, other: CellValue | CellError
) -> tuple[int, float | str]:
    """Return a sort key: numbers before texts before booleans, texts case-insensitively.

    `other` is the other operand, which decides the type of a blank.
    """
    if value is None:
        value = False if isinstance(other, bool) else "" if isinstance(other, str) else 0.0
    if isinstance(value, bool):
        return BOOLEAN_RANK, float(value)
    if isinstance(value, float):
        return NUMBER_RANK, value
    return TEXT_RANK, str(value).casefold()


def _concatenation(_: str, operands: Operands) -> Evaluated:
    parts = [
        text_of(operand.value, operand.pattern)
        for operand in operands
        if not isinstance(operand.value, CellError)
    ]
    return Evaluated(value=bounded_text("".join(parts)))


def _length(_: str, operands: Operands) -> Evaluated:
    texts = [
        text_of(operand.value, operand.pattern)
        for operand in operands
        if not isinstance(operand.value, CellError)
    ]
    return Evaluated(value=float(sum(map(len, texts))))


def _unchanged(_: str, operands: Operands) -> Evaluated:
    """Return the operand of a plus sign, which leaves any value unchanged, even text."""
    return operands[0]


ARITHMETIC: dict[str, Callable[..., float]] = {
    "ADD": operator.add,
    "MINUS": operator.sub,
    "MULTIPLY": operator.mul,
    "DIVIDE": operator.truediv,
    "POW": _power,
    "UMINUS": operator.neg,
    "UNARY_PERCENT": _percent,
}
COMPARISONS: dict[str, Callable[..., bool]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "GT": operator.gt,
    "LTE": operator.le,
    "GTE": operator.ge,
}
KEPT_PATTERN: dict[str, Callable[[Sequence[Pattern]], Pattern]] = {
    "ADD": _first_pattern,
    "MINUS": _pattern_of_difference,
    "MULTIPLY": _pattern_of_product,
    "UMINUS": _first_pattern,
}
FAMILIES: dict[str, Callable[[str, Operands], Evaluated]] = {
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    **dict.fromkeys(COMPARISONS, _comparison),
    "CONCAT": _concatenation,
    "LEN": _length,
    "UPLUS": _unchanged,
}
