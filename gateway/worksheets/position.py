"""Position of created rows that are known to be applied, by their cells.

Rules: content is compared only here, and only for rows of which a fence proved that they were
written. An ambiguous position is unknown; it is never guessed.
"""

import math
from collections.abc import Iterator, Sequence

from gateway.google.sheets import Value
from gateway.table.record import Stored

Cells = Sequence[Sequence[Value]]
Rows = Sequence[Sequence[Stored]]


def at_the_end(lines: Cells, creates: Sequence[Rows]) -> Sequence[int | None]:
    """The index of the first row of each create, in lines that were seen as they were appended.

    They are the last lines with a value in their columns: array formulas may fill others down to
    the end of the grid. If these are others, the rows are searched.
    """
    rows = [row for each in creates for row in each]
    columns = {at for row in rows for at, value in enumerate(row) if value is not None}
    count = len(lines)
    while count and _is_blank([cell for at, cell in enumerate(lines[count - 1]) if at in columns]):
        count -= 1
    first = count - len(rows)
    if first >= 0 and _is_at(lines, first, rows):
        return _stacked(first, creates)
    return searched(lines, creates)


def searched(lines: Cells, creates: Sequence[Rows]) -> Sequence[int | None]:
    """The index of the first row of each create, in lines seen later; None if it is ambiguous."""
    together = _only(_places(lines, [row for each in creates for row in each]))
    if together is not None:
        return _stacked(together, creates)
    return [_only(_places(lines, rows)) for rows in creates]


def holds(cells: Sequence[Value], row: Sequence[Stored]) -> bool:
    """True if the written cells of a row hold what was written; others may hold anything."""
    return all(
        _is_same(cells[column] if column < len(cells) else None, value)
        for column, value in enumerate(row)
        if value is not None
    )


def _stacked(first: int, creates: Sequence[Rows]) -> Sequence[int]:
    firsts = []
    for rows in creates:
        firsts.append(first)
        first += len(rows)
    return firsts


def _places(lines: Cells, rows: Rows) -> Iterator[int]:
    return (at for at in range(len(lines) - len(rows) + 1) if _is_at(lines, at, rows))


def _only(places: Iterator[int]) -> int | None:
    found = next(places, None)
    return None if next(places, None) is not None else found


def _is_at(lines: Cells, first: int, rows: Rows) -> bool:
    return all(holds(lines[first + at], row) for at, row in enumerate(rows))


def _is_blank(line: Sequence[Value]) -> bool:
    return all(cell is None or cell == "" for cell in line)


def _is_same(cell: Value, written: Stored) -> bool:
    if isinstance(written, str):
        return written == ("" if cell is None else cell)
    if isinstance(cell, bool) or isinstance(written, bool):
        return cell is written
    # Google stores doubles; how many of their digits it prints is not known.
    is_number = isinstance(cell, int | float) and isinstance(written, int | float)
    return is_number and math.isclose(cell, written, rel_tol=1e-13)  # type: ignore[arg-type]
