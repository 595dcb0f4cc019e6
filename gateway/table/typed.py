"""Typed answers: the JSON value of a cell, from its displayed text and its typed value.

Rules
- A number that is displayed as a day or a time is answered as that moment, any other as a number. A
  text is answered as text, even if it looks like another type.
- An error is null, also if empty cells are left out. An empty cell is "" or None, which encoders
  replace by their own value; 0 and False are not empty.
- Tags cover the values of cells (`held_cells`), which do not depend on the way of reading: some
  ways explain an error, and some return None in place of "".
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import is_not
from typing import Final

import msgspec

from gateway.table.cells import ERRORS, READ_AT_ONCE, read_steps
from gateway.table.moments import NUMBER_DISPLAY, displayed_moment, moment_text
from gateway.table.steps import BLOCK, Work

ERROR: Final = msgspec.Raw(b"null")
"""Typed value of an error."""

_NUMBERS = frozenset({int, float})
_MATCH_STEPS = 4
_CELL_BYTES = 8
_TEXT_BYTES = 65
"""Memory of a moment's text in bytes."""


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """The typed values of a column, from the header down; `byte_count` is unshared memory."""

    cells: Sequence[object]
    byte_count: int = 0


def typed_answer(text: object, value: object) -> object:
    """The JSON value of a cell that is displayed as `text`; "" or None if it is empty."""
    if isinstance(value, str):
        return ERROR if text in ERRORS and value.partition(" (")[0] in ERRORS else value
    if isinstance(text, str) and isinstance(value, int | float) and not isinstance(value, bool):
        moment = displayed_moment(text, value)
        return value if moment is None else moment_text(moment)
    return value


def typed_rows(
    rows: Iterable[tuple[Sequence[object], Sequence[object]]], columns: Collection[int]
) -> Work[list[list[object]]]:
    """The typed values of some columns of rows, and None in the others.

    A row is a pair of displayed texts and values. Empty cells at the end may be missing from both,
    and from the result.
    """
    found: list[list[object]] = []
    for texts, values in rows:
        cells: list[object] = [None] * len(values)
        wanted = [at for at in columns if at < len(values)]
        for start in range(0, len(wanted), READ_AT_ONCE):
            some = wanted[start : start + READ_AT_ONCE]
            shown = [texts[at] if at < len(texts) else "" for at in some]
            yield read_steps([text for text in shown if isinstance(text, str)])
            for at, text in zip(some, shown, strict=True):
                cells[at] = typed_answer(text, values[at])
        found.append(cells)
    return found


def held_cells(texts: Sequence[object], values: Sequence[object]) -> list[object]:
    """Values of a row beyond its displayed texts: numbers, booleans, and texts displayed otherwise.

    Trailing cells without such a value are left out."""
    more = len(values) - len(texts)
    cells = [*map(_held, [*texts, *[""] * more] if more > 0 else texts, values)]
    while cells and cells[-1] is None:
        cells.pop()
    return cells


def _held(text: object, value: object) -> object:
    if isinstance(value, str):
        return None if value in (text, "") or value.partition(" (")[0] in ERRORS else value
    return float(value) if type(value) is int else value  # both types are one number in JSON


def typed_column(texts: Sequence[object], values: Sequence[object]) -> Work[TypedColumn]:
    """The typed values of a column from its two renderings.

    A column of only numbers or booleans shares its typed rendering, a column of texts its displayed
    one.
    """
    cells, made = [*values[:1]], 0
    for start in range(1, len(values), BLOCK):
        piece = values[start : start + BLOCK]
        found = yield from typed_cells(texts[start : start + BLOCK], piece)
        if found is not piece:
            made += sum(map(is_not, found, piece))
        cells += found
    if not made:
        return TypedColumn(values)
    return TypedColumn(tuple(cells), _CELL_BYTES * len(cells) + _TEXT_BYTES * made)


def typed_cells(texts: Sequence[object], values: Sequence[object]) -> Work[Sequence[object]]:
    """The typed values of neighbouring cells of a column; `values` itself if all are equal.

    Texts may lack trailing empty cells.
    """
    yield len(values)
    kinds = {*map(type, values)}
    if kinds == {bool} or (kinds <= {str, type(None)} and ERRORS.isdisjoint(texts)):
        return values
    shown = [*texts, *[""] * (len(values) - len(texts))]
    if kinds <= _NUMBERS:
        yield _MATCH_STEPS * len(values)
        if all(NUMBER_DISPLAY.fullmatch(text) for text in shown if isinstance(text, str)):
            return values
    cells: list[object] = []
    for at in range(0, len(values), READ_AT_ONCE):
        some = shown[at : at + READ_AT_ONCE]
        yield read_steps([text for text in some if isinstance(text, str)])
        cells += map(typed_answer, some, values[at : at + READ_AT_ONCE])
    return cells
