"""References in a formula's text, rewritten when cells and worksheets move.

Rules:
- Only moved references are rewritten. Blanks, case, strings and everything after an invalid
  character stay as written.
- A reference to deleted cells becomes `#REF!`, including its title.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from sheets_emulator.formulas.lexeme import lexemes, split_area
from sheets_emulator.formulas.result import ERROR_TEXTS
from sheets_emulator.grid.a1 import print_title
from sheets_emulator.grid.box import column_index, column_name

# Maps start and end of rows or columns to their new start and end, or to None if they were deleted.
# An end is excluded, and None is an open end.
Shift = Callable[[int, int | None], tuple[int, int | None] | None]

LOST = ERROR_TEXTS["REF"]
CORNERS = re.compile(
    r"(?:(\$?)([A-Za-z]+))?(?:(\$?)([0-9]+))?"
    r"(?:(\s*:\s*)(?:(\$?)([A-Za-z]+))?(?:(\$?)([0-9]+))?)?"
)
LAST_COLUMN = column_index("ZZZ")  # the last column that a rewritten reference can name
LAST_ROW = 99_999_999 - 1
COLUMNS_KEPT = 1024


class Corner(NamedTuple):
    """One corner of a reference. Row and column count from 0, and are None if missing.

    `column_mark` and `row_mark` are `$` or "".
    """

    column_mark: str
    column: int | None
    row_mark: str
    row: int | None


Corners = tuple[Corner, ...]  # one cell, or two corners of a range


class Lanes(NamedTuple):
    """Rows and columns in which cells move. None means all rows or columns."""

    rows: range | None = None
    columns: range | None = None


WHOLE_LINES = Lanes()


def translated(formula: str, down: int, right: int) -> str:
    """Return the formula after a copy or fill of its cell, `down` rows and `right` columns away."""

    def change(reference: str, _: str | None) -> str:
        return _changed(reference, lambda corners: _moved(corners, down, right))

    return _rewritten(formula, change)


def shifted(
    formula: str,
    *,
    own_title: str,
    title: str,
    rows: Shift,
    columns: Shift,
    within: Lanes = WHOLE_LINES,
) -> str:
    """Return a formula of worksheet `own_title` after rows and columns of `title` moved.

    Only references to cells `within` the moved rows and columns are changed.
    """

    def change(reference: str, named: str | None) -> str:
        if not _is_same(own_title if named is None else named, title):
            return reference
        return _changed(
            reference,
            lambda corners: (
                _followed(corners, rows, columns) if _is_within(corners, within) else corners
            ),
        )

    return _rewritten(formula, change)


def renamed(formula: str, old_title: str, new_title: str) -> str:
    """Return the formula with references to `old_title` changed to `new_title`."""

    def change(reference: str, named: str | None) -> str:
        if named is None or not _is_same(named, old_title):
            return reference
        return f"{print_title(new_title)}!{split_area(reference)[1]}"

    return _rewritten(formula, change)


def without_sheet(formula: str, title: str) -> str:
    """Return the formula with `#REF!` for each reference to the deleted worksheet `title`."""

    def change(reference: str, named: str | None) -> str:
        return LOST if named is not None and _is_same(named, title) else reference

    return _rewritten(formula, change)


def _rewritten(formula: str, change: Callable[[str, str | None], str]) -> str:
    """Replace each reference by `change(reference, title)`. The title is None if missing."""
    return "".join(
        change(text, split_area(text)[0]) if kind == "area" else text
        for kind, text in lexemes(formula)
    )


def _is_same(title: str, other: str) -> bool:
    return title.casefold() == other.casefold()


def _changed(reference: str, change: Callable[[Corners], Corners | None]) -> str:
    """Apply `change` to the corners of a reference. Unchanged references stay as written."""
    _, cells = split_area(reference)
    match = CORNERS.fullmatch(cells)
    if match is None:
        return reference
    parts = match.groups()
    colon = parts[4]
    first = _corner(*parts[:4])
    corners = (first,) if colon is None else (first, _corner(*parts[5:]))
    changed = change(corners)
    if changed is None or not all(map(_is_writable, changed)):
        return LOST
    if changed == corners:
        return reference
    return reference.removesuffix(cells) + (colon or "").join(map(_printed, changed))


def _corner(
    column_mark: str | None, column: str | None, row_mark: str | None, row: str | None
) -> Corner:
    return Corner(
        column_mark or "",
        _column(column) if column else None,
        row_mark or "",
        int(row) - 1 if row else None,
    )


@lru_cache(maxsize=COLUMNS_KEPT)
def _column(letters: str) -> int:
    return column_index(letters)


def _is_writable(corner: Corner) -> bool:
    return 0 <= (corner.row or 0) <= LAST_ROW and 0 <= (corner.column or 0) <= LAST_COLUMN


def _printed(corner: Corner) -> str:
    column = "" if corner.column is None else column_name(corner.column)
    row = "" if corner.row is None else str(corner.row + 1)
    return f"{corner.column_mark}{column}{corner.row_mark}{row}"


def _moved(corners: Corners, down: int, right: int) -> Corners:
    return tuple(
        corner._replace(
            column=_moved_by(corner.column, corner.column_mark, right),
            row=_moved_by(corner.row, corner.row_mark, down),
        )
        for corner in corners
    )


def _moved_by(index: int | None, mark: str, distance: int) -> int | None:
    """Return the index of a row or column after a copy. An index with `$` does not change."""
    return index if index is None or mark else index + distance


def _is_within(corners: Corners, lanes: Lanes) -> bool:
    """True if all corners of a reference are within `lanes`."""
    return (lanes.rows is None or all(corner.row in lanes.rows for corner in corners)) and (
        lanes.columns is None or all(corner.column in lanes.columns for corner in corners)
    )


def _followed(corners: Corners, rows: Shift, columns: Shift) -> Corners | None:
    new_rows = _shifted_all([corner.row for corner in corners], rows)
    new_columns = _shifted_all([corner.column for corner in corners], columns)
    if new_rows is None or new_columns is None:
        return None
    return tuple(
        Corner(corner.column_mark, column, corner.row_mark, row)
        for corner, column, row in zip(corners, new_columns, new_rows, strict=True)
    )


def _shifted_all(indexes: list[int | None], shift: Shift) -> list[int | None] | None:
    """Return the indexes of corners after a shift, or None if all cells were deleted."""
    given = [index for index in indexes if index is not None]
    if not given:
        return indexes  # `A:A` always has all rows
    first, last = min(given), max(given)
    is_open = len(given) < len(indexes)  # `A2:A`
    place = shift(first, None if is_open else last + 1)
    if place is None:
        return None
    new_first, new_end = place
    new_last = new_first if new_end is None else new_end - 1
    moved = {None: None, last: new_last, first: new_first}
    return [moved[index] for index in indexes]
