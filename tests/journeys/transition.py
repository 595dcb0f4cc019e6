"""Allowed effects of one write: worksheet before, request, answer, worksheet after.

Rules
- Pure: all cells are compared, not only the written ones.
- A field belongs to the first column of its name in row 1.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

Grid = Sequence[Sequence[str]]


def trimmed(grid: Grid) -> list[list[str]]:
    """The grid without trailing blank cells and rows; at least one row."""
    rows = [_cut(row) for row in grid] or [[]]
    while len(rows) > 1 and not rows[-1]:
        rows.pop()
    return rows


def created(before: Grid, fields: Mapping[str, str]) -> list[list[str]]:
    """The grid after a create: one more row, below the last row that is not blank."""
    return [*trimmed(before), _laid_out(before, fields, [])]


def updated(before: Grid, row: int, fields: Mapping[str, str]) -> list[list[str]]:
    """The grid after an update of the named cells in a row. Rows count from 1."""
    rows = trimmed(before)
    rows[row - 1] = _laid_out(before, fields, rows[row - 1])
    return trimmed(rows)


def differences(expected: Grid, found: Grid) -> list[str]:
    """A line for each row that differs."""
    return list(_differences(trimmed(expected), trimmed(found)))


def lost_texts(before: Grid, removed: Counter[str], after: Grid) -> Counter[str]:
    """Texts that disappeared although the person did not remove them."""
    return texts(before) - removed - texts(after)


def texts(grid: Grid) -> Counter[str]:
    return Counter(text for row in grid for text in row if text)


def is_in_columns(grid: Grid, row: int, fields: Mapping[str, str]) -> bool:
    """True if a row has exactly these fields in their columns. Rows count from 1."""
    return row <= len(grid) and _cut(grid[row - 1]) == _laid_out(grid, fields, [])


def _laid_out(grid: Grid, fields: Mapping[str, str], row: Sequence[str]) -> list[str]:
    header = list(grid[0])
    cells = [*row, *[""] * (len(header) - len(row))]
    for name, text in fields.items():
        cells[header.index(name)] = text
    return _cut(cells)


def _differences(expected: Grid, found: Grid) -> Iterator[str]:
    for number in range(max(len(expected), len(found))):
        old = expected[number] if number < len(expected) else []
        new = found[number] if number < len(found) else []
        if old != new:
            yield f"row {number + 1} is {new}, should be {old}"


def _cut(row: Sequence[str]) -> list[str]:
    cells = list(row)
    while cells and not cells[-1]:
        cells.pop()
    return cells
