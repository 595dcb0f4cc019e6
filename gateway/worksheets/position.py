"""Position of created rows that are known to be applied, by their cells.

Rules: content is compared only here, and only for rows of which a fence proved that they were
written. They are where they had to land, or at the end of the sheet. If the write did not know
where the sheet ended, they are the only rows of the sheet that are equal. Otherwise the position is
unknown.
"""

import math
from collections.abc import Sequence

from gateway.google.sheets import Value
from gateway.table.record import Stored
from gateway.table.steps import Work

Cells = Sequence[Sequence[Value]]
Rows = Sequence[Sequence[Stored]]


def at_the_end(
    lines: Cells, creates: Sequence[Rows], *, below: int = 0
) -> Work[Sequence[int | None]]:
    """The index of the first row of each create, if they are the last lines; else None.

    `below`: how many other rows their batch appended below them. They are the last lines with a
    value in their columns: array formulas may fill others down to the end of the grid.
    """
    rows = [row for each in creates for row in each]
    columns: set[int] = set()
    for row in rows:
        yield len(row)
        columns.update(at for at, value in enumerate(row) if value is not None)
    count = len(lines)
    while count:
        line = lines[count - 1]
        yield len(line)
        if not _is_blank(line if below else [line[at] for at in columns if at < len(line)]):
            break
        count -= 1
    first = count - below - len(rows)
    if first >= 0 and (yield from _is_at(lines, first, rows)):
        return _stacked(first, creates)
    return [None] * len(creates)


def located(
    lines: Cells, creates: Sequence[Rows], *, expected: int, below: int, is_retry: bool
) -> Work[Sequence[int | None]]:
    """The same in lines that are seen later.

    `expected` is their index if nobody wrote meanwhile, negative if the end of the sheet was not
    known; then the only equal rows of the sheet are ours. Otherwise equal rows elsewhere prove
    nothing. Before a retry others may have appended equal rows: then the end proves a position only
    if no other rows are equal, and not against the expected one.
    """
    rows = [row for each in creates for row in each]
    firsts = yield from at_the_end(lines, creates, below=below)
    end = firsts[0]
    if end is not None and (end == expected or not is_retry):
        return firsts
    if end is None and expected >= 0:
        is_there = expected <= len(lines) - len(rows) and (yield from _is_at(lines, expected, rows))
        return _stacked(expected, creates) if is_there else firsts
    places: list[int] = []
    for at in range(len(lines) - len(rows) + 1):
        if (yield from _is_at(lines, at, rows)):
            places.append(at)
    return _stacked(places[0], creates) if len(places) == 1 else [None] * len(creates)


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
