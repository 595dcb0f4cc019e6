"""How a number is written in a cell.

Rules
- The automatic format: whole numbers below 1E+15 plain, otherwise ten significant digits without
  trailing zeros, and scientific from 1E+15 on and below 1E-9 (as Google's own page shows `=PI()`;
  an assumption for values.get).
"""

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from sheets_emulator.formats.pattern import written

LARGEST_PLAIN = 1e15
SMALLEST_PLAIN = 1e-9
SIGNIFICANT_DIGITS = 10
SMALLEST_SHORT, LARGEST_SHORT = 1e-4, 9e9  # where "g" writes no exponent, and quickly


def displayed_number(number: float, pattern: str | None) -> str:
    """A number in its format, or in the automatic one."""
    text = written(number, pattern) if pattern else None
    return automatic(number) if text is None else text


def automatic(number: float) -> str:
    """A number as it is shown in a cell without a format of its own."""
    size = abs(number)
    if number.is_integer() and size < LARGEST_PLAIN:
        return str(int(number))
    if SMALLEST_SHORT <= size < LARGEST_SHORT:
        return f"{number:.{SIGNIFICANT_DIGITS}g}"
    if size >= LARGEST_PLAIN or size < SMALLEST_PLAIN:
        return _scientific(number)
    whole_digits = len(str(int(size)))
    decimals = max(SIGNIFICANT_DIGITS, whole_digits) - 1
    text = f"{Decimal(f'{number:.{decimals}E}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def automatic_column(numbers: Sequence[float]) -> Sequence[str]:
    """Many numbers at once, as `automatic` writes each of them."""
    if max(map(abs, numbers)) < LARGEST_SHORT and min(map(abs, numbers)) >= SMALLEST_SHORT:
        return (_template(len(numbers)) % tuple(numbers)).split(" ")
    return list(map(automatic, numbers))


@lru_cache(maxsize=8)
def _template(count: int) -> str:
    return " ".join([f"%.{SIGNIFICANT_DIGITS}g"] * count)


def _scientific(number: float) -> str:
    """Six significant digits, no trailing zeros: 1E+20, 1.23457E+15."""
    digits, exponent = f"{number:.5E}".split("E")
    return f"{digits.rstrip('0').rstrip('.')}E{exponent}"
