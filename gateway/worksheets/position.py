"""Position of created rows that are known to be applied, by their cells.

Rules: content is compared only here, and only for rows of which a fence proved that they were
written. An ambiguous position is unknown; it is never guessed.
"""

import math
from collections.abc import Sequence

from gateway.google.sheets import Value
from gateway.table.record import Stored
from gateway.table.steps import Work

Cells = Sequence[Sequence[Value]]
Rows = Sequence[Sequence[Stored]]


def at_the_end(lines: Cells, creates: Sequence[Rows]) -> Work[Sequence[int | None]]:
    """The index of the first row of each create, in lines that were seen as they were appended.

    They are the last lines with a value in their columns: array formulas may fill others down to
    the end of the grid. If these are others, the rows are searched.
    """
    rows = [row for each in creates for row in each]
    columns: set[int] = set()
    for row in rows:
        yield len(row)
        columns.update(at for at, value in enumerate(row) if value is not None)
    count = len(lines)
    while count:
        yield len(lines[count - 1])
        if not _is_blank([cell for at, cell in enumerate(lines[count - 1]) if at in columns]):
            break
        count -= 1
    first = count - len(rows)
    if first >= 0 and (yield from _is_at(lines, first, rows)):
        return _stacked(first, creates)
    return (yield from searched(lines, creates))


def searched(lines: Cells, creates: Sequence[Rows]) -> Work[Sequence[int | None]]:
    """The index of the first row of each create, in lines seen later; None if it is ambiguous."""
    together = yield from _only_place(lines, [row for each in creates for row in each])
    if together is not None:
        return _stacked(together, creates)
    places: list[int | None] = []
    for rows in creates:
        places.append((yield from _only_place(lines, rows)))
    return places


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


def _only_place(lines: Cells, rows: Rows) -> Work[int | None]:
    """The only index at which the rows are; None if there is none, or several."""
    found: int | None = None
    for at in range(len(lines) - len(rows) + 1):
        if (yield from _is_at(lines, at, rows)):
            if found is not None:
                return None
            found = at
    return found


def _is_at(lines: Cells, first: int, rows: Rows) -> Work[bool]:
    for at, row in enumerate(rows):
        yield 1 + len(row)
        if not holds(lines[first + at], row):
            return False
    return True


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
