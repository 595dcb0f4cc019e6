"""Patch the columns of a rendering with the gateway's own write."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gateway.table.steps import Work

Column = Sequence[object]
"""The cells of one column from row 1 down; blank cells at its end are left out."""

_COPIED = 2
"""Cells that are copied in one step."""


@dataclass(frozen=True, kw_only=True)
class RowPatch:
    """The changed cells of one data row after a write, by column (from 0)."""

    row: int
    texts: Mapping[int, str]
    """The displayed texts."""
    values: Mapping[int, object] = field(default_factory=dict)
    """The typed values, of the same columns."""


def patched_columns(
    columns: Sequence[Column], rows: Iterable[tuple[int, Mapping[int, object]]]
) -> Work[tuple[Column, ...]]:
    """Columns with the cells of some rows (by row number) changed; untouched ones are shared.

    Columns and cells are added as needed, except for emptied cells.
    """
    changed: dict[int, list[object]] = {}
    for row, cells in rows:
        yield len(cells)
        for column, value in cells.items():
            line = changed.get(column)
            if line is None:
                known = columns[column] if column < len(columns) else ()
                yield len(known) // _COPIED
                line = changed[column] = [*known]
            if row > len(line):
                if value in ("", None):
                    continue
                line += [""] * (row - len(line))
            line[row - 1] = value
    after = [*columns]
    for column, line in changed.items():
        yield len(line) // _COPIED
        while line and line[-1] in ("", None):
            line.pop()
        if line:
            after += [()] * (column + 1 - len(after))
        if column < len(after):
            after[column] = tuple(line)
    return tuple(after)


def columns_without(columns: Sequence[Column], rows: Sequence[int]) -> Work[tuple[Column, ...]]:
    """Columns without the cells of some rows, which are ascending; those that end above are shared.

    Columns that are one object stay one.
    """
    copies: dict[int, Column] = {}
    for cells in columns:
        if id(cells) in copies:
            continue
        if rows[0] > len(cells):
            copies[id(cells)] = cells
            continue
        yield 2 * len(cells) // _COPIED
        left: list[object] = []
        above = 0
        for row in rows:
            left += cells[above : row - 1]
            above = row
        left += cells[above:]
        while left and left[-1] in ("", None):
            left.pop()
        copies[id(cells)] = tuple(left)
    return tuple(copies[id(cells)] for cells in columns)


def last_filled(columns: Sequence[Column]) -> int:
    """The last row with a filled cell; 0 if there is none."""
    last = 0
    for cells in columns:
        count = len(cells)
        while count > last and cells[count - 1] in ("", None):
            count -= 1
        last = max(last, count)
    return last
