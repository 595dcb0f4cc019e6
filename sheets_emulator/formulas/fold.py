"""Functions over the cells of ranges: SUM and CONCATENATE.

SUM ignores non-numbers in a range. A text as a direct argument of SUM must be a number.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

from sheets_emulator.formulas.operators import bounded_number, bounded_text, number_of, text_of
from sheets_emulator.formulas.result import CellError
from sheets_emulator.grid.cell import CellValue

Part = float | str
Total = Part | CellError


@dataclass(frozen=True, kw_only=True)
class Fold:
    """A function that combines values, such as SUM.

    `start` is the result without cells. `part` receives a cell's value and number format, and
    returns None to ignore the cell. `coerce` receives the value and number format of a direct
    argument, and its position from 1. `join` adds values to an intermediate result. If
    `keeps_pattern` is true, the result has the number format of the first number.
    """

    name: str
    start: Part
    part: Callable[[CellValue, str | None], Part | None]
    coerce: Callable[[CellValue, str | None, int], Total]
    join: Callable[[Part, Sequence[Part]], Total]
    keeps_pattern: bool = False


def _add(total: Part, parts: Sequence[Part]) -> Total:
    return bounded_number(reduce(operator.add, cast(Sequence[float], parts), cast(float, total)))


def _append(total: Part, parts: Sequence[Part]) -> Total:
    text: Total = total
    for part in parts:
        if isinstance(text, CellError):
            return text
        text = bounded_text(f"{text}{part}")
    return text


def _number(value: CellValue, _: str | None) -> Part | None:
    return value if type(value) is float else None


def _text(value: CellValue, pattern: str | None) -> Part | None:
    return None if value is None else text_of(value, pattern)


def _as_number(value: CellValue, _: str | None, position: int) -> Total:
    return number_of(value, "SUM", position)


def _as_text(value: CellValue, pattern: str | None, _: int) -> Total:
    return text_of(value, pattern)


SUM = Fold(name="SUM", start=0.0, part=_number, coerce=_as_number, join=_add, keeps_pattern=True)
CONCATENATE = Fold(name="CONCATENATE", start="", part=_text, coerce=_as_text, join=_append)
FOLDS = {fold.name: fold for fold in (SUM, CONCATENATE)}
