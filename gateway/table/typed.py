"""JSON values of cells in typed answers, from the displayed text and the typed value.

A typed answer shows numbers, booleans and ISO 8601 dates instead of displayed texts.

Rules
- A typed value is Google's `UNFORMATTED_VALUE`. The JSON value can differ from it.
- A number that is displayed as a date or time becomes a date or time in ISO 8601. Any other number
  stays a number. A text stays a text, even if it looks like another type.
- An error is null, even if the answer leaves out empty cells. An empty cell is "" or None here, and
  the encoder replaces it. 0 and False are not empty.
- ETags cover typed values (`held_cells`). Google's calls differ in the text of an error, and in ""
  or None for an empty cell. `held_cells` removes these differences.
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
"""JSON value of an error in typed answers."""

_NUMBERS = frozenset({int, float})
_MATCH_STEPS = 4
_CELL_BYTES = 8
_TEXT_BYTES = 65
"""Memory of the text of a date or time in bytes."""


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """Values of a column in typed answers, from the header down.

    `byte_count` is the memory that is not shared with the table, in bytes.
    """

    cells: Sequence[object]
    byte_count: int = 0


def typed_answer(text: object, value: object) -> object:
    """JSON value of a cell from its displayed text and typed value. "" or None is an empty cell."""
    if isinstance(value, str):
        return ERROR if text in ERRORS and value.partition(" (")[0] in ERRORS else value
    if isinstance(text, str) and isinstance(value, int | float) and not isinstance(value, bool):
        moment = displayed_moment(text, value)
        return value if moment is None else moment_text(moment)
    return value


def typed_rows(
    rows: Iterable[tuple[Sequence[object], Sequence[object]]], columns: Collection[int]
) -> Work[list[list[object]]]:
    """Returns the JSON values of each row, with None in columns that are not in `columns`.

    A row is a pair: displayed texts and typed values. Trailing empty cells can be missing.
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
    """Values of a row that an ETag must cover in addition to the displayed texts.

    These are numbers, booleans, and texts that differ from the displayed text. Other cells are
    None. Trailing None values are left out.
    """
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
    """Make the JSON values of a column from its displayed texts and typed values.

    If all JSON values equal the typed values, the `cells` of the result are `values` itself.
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
    """JSON values of neighbouring cells of a column, or `values` itself if no value changes.

    Trailing empty cells can be missing in `texts`.
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
