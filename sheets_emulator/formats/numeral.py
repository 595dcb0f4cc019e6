"""Display of numbers in cells.

Rules of the automatic format:
- Whole numbers below 1E+15 are displayed in full.
- Other numbers have ten significant digits, without trailing zeros.
- Numbers from 1E+15 on and below 1E-9 are in scientific notation. Google's page shows `=PI()` in
  this way. That values.get does so is an assumption.
"""

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from sheets_emulator.formats.pattern import written

LARGEST_PLAIN = 1e15
SMALLEST_PLAIN = 1e-9
SIGNIFICANT_DIGITS = 10
SMALLEST_SHORT, LARGEST_SHORT = 1e-4, 9e9  # in this range, Python's "g" format has no exponent


def displayed_number(number: float, pattern: str | None) -> str:
    text = written(number, pattern) if pattern else None
    return automatic(number) if text is None else text


def automatic(number: float) -> str:
    """Format a number in the automatic format."""
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
    """Format several numbers in the automatic format."""
    if max(map(abs, numbers)) < LARGEST_SHORT and min(map(abs, numbers)) >= SMALLEST_SHORT:
        return (_template(len(numbers)) % tuple(numbers)).split(" ")
    return list(map(automatic, numbers))


@lru_cache(maxsize=8)
def _template(count: int) -> str:
    return " ".join([f"%.{SIGNIFICANT_DIGITS}g"] * count)


def _scientific(number: float) -> str:
    """Format a number with six significant digits, without trailing zeros: 1E+20, 1.23457E+15."""
    digits, exponent = f"{number:.5E}".split("E")
    return f"{digits.rstrip('0').rstrip('.')}E{exponent}"
