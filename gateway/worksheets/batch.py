"""Requests of a batch, and the records of its writes."""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

from gateway.google.sheets import AppendedRows, Change, EmptiedRow, RemovedRows, WrittenCells
from gateway.table.record import Stored
from gateway.worksheets.idempotency import Sending
from gateway.worksheets.planning import Planned, RowChange


def emptied_rows(writes: Sequence[Planned], frozen_rows: int, grid_rows: int) -> frozenset[int]:
    """The first row that is not frozen, if all of them are to be removed."""
    removed = {row for each in writes for row in each.removed}
    first = frozen_rows + 1
    is_all = removed.issuperset(range(first, grid_rows + 1))
    return frozenset({first}) if removed and is_all else frozenset()


def requests_of(
    writes: Sequence[Planned], emptied: frozenset[int]
) -> Sequence[tuple[Change, Planned]]:
    """The requests of a batch, each with its write: changes, new rows, removals from the bottom."""
    requests: list[tuple[Change, Planned]] = [
        (WrittenCells(row=change.row, column=at, values=values), each)
        for each in writes
        for change in each.changes
        for at, values in change.runs
    ]
    requests += [(AppendedRows(rows=each.created.rows), each) for each in writes if each.created]
    removed = sorted(((row, each) for each in writes for row in each.removed), key=itemgetter(0))
    requests += [(EmptiedRow(row=row), each) for row, each in removed if row in emptied]
    for row, each in reversed(removed):
        if row in emptied:
            continue
        last, owner = requests[-1] if requests else (None, None)
        if isinstance(last, RemovedRows) and owner is each and last.first_row == row + 1:
            requests[-1] = (replace(last, first_row=row), each)
        else:
            requests.append((RemovedRows(first_row=row, last_row=row), each))
    return requests


def sending_of(planned: Planned, after_row: int) -> Sending:
    """The record of a write. Rows that it appends have no number yet: 0."""
    rows: list[Sequence[Stored]] = []
    numbers: list[int] = []
    gone = [*planned.removed, *(change.row for change in planned.changes)]
    for slot in planned.slots:
        if isinstance(slot, int):
            rows.append(planned.created.rows[slot] if planned.created else [])
            numbers.append(0)
        else:
            rows.append(slot.cells if isinstance(slot, RowChange) else [])
            numbers.append(slot.row)
    return Sending(
        planned.identity,
        first_row=after_row + 1,
        rows=rows,
        numbers=numbers if any(numbers) else gone,
    )
