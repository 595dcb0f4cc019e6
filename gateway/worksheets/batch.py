"""Requests of a batch, the cells that its answer shows, and the records of its writes.

Rules
- The answer shows the cells that a write writes and those by which its rows were found. The answer
  to an update of one row shows the whole row, for its tag.
- An answer is small: above `MAX_ASKED_BYTES` it shows only the written cells, and of a write by
  filter none. What it does not show is not claimed: no tag, and no patch of cached rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from gateway.google.sheets import AppendedRows, Change, EmptiedRow, RemovedRows, WrittenCells
from gateway.table import a1
from gateway.table.record import Stored
from gateway.table.steps import Work, mapped
from gateway.worksheets.idempotency import Sending
from gateway.worksheets.planning import MOST_STEPS, Planned, RowChange
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.writes import Delete, DeleteWhere, Update, UpdateWhere

MAX_ASKED_BYTES = 2 * 1024 * 1024
"""Size of the answer to one write, without the cells that a body lists row by row."""

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""The same of all writes of a batch."""

CELL_BYTES = 70
"""JSON around a cell, which contains its text twice."""

RANGE_BYTES = 250
"""Size of a range in a request and in its answer, without its cells."""

REQUEST_STEPS = 40
"""Steps for a request, or for a range of an answer."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Cells of a changed row that the answer shows; the whole row if `last` is None."""

    change: RowChange
    first: int = 0
    last: int | None = None

    def range(self, title: str) -> str:
        row = self.change.row
        if self.last is None:
            return a1.row_range(title, row)
        return a1.cells_of_row(title, row, self.first, self.last)


def asked_cells(writes: Sequence[Planned]) -> Work[Sequence[Asked]]:
    """The cells of changed rows that the answer of a batch shows."""
    asked: list[Asked] = []
    left_bytes = MAX_ANSWER_BYTES
    for write in writes:
        wide: list[Asked] = []
        narrow: list[Asked] = []
        wide_bytes = narrow_bytes = 0
        for change in write.changes:
            yield REQUEST_STEPS * len(change.runs) + len(change.displayed)
            each = _whole_or_hull(write, change)
            seen = change.displayed[each.first : None if each.last is None else each.last + 1]
            sent_bytes = sum(_byte_count(run) for _, run in change.runs)
            wide.append(each)
            wide_bytes += _byte_count(seen) + sent_bytes
            narrow_bytes += sent_bytes
            narrow += _narrow(change)
        is_by_filter = isinstance(write.write, UpdateWhere | DeleteWhere)
        if wide_bytes <= min(MAX_ASKED_BYTES, left_bytes):
            left_bytes -= wide_bytes
            asked += wide
        elif not is_by_filter or narrow_bytes <= min(MAX_ASKED_BYTES, left_bytes):
            left_bytes -= narrow_bytes
            asked += narrow
    return asked


def _narrow(change: RowChange) -> list[Asked]:
    """The written cells, and short ones between them: a range of their own takes more room."""
    spans: list[tuple[int, int]] = []
    for at, run in change.runs:
        last = at + len(run) - 1
        if spans and _byte_count(change.displayed[spans[-1][1] + 1 : at]) <= RANGE_BYTES:
            spans[-1] = (spans[-1][0], last)
        else:
            spans.append((at, last))
    return [Asked(change=change, first=first, last=last) for first, last in spans]


def _whole_or_hull(planned: Planned, change: RowChange) -> Asked:
    if isinstance(planned.write, Update):
        return Asked(change=change)
    columns = change.columns.union(change.values, planned.compared)
    return Asked(change=change, first=min(columns), last=max(columns))


def _byte_count(cells: Sequence[Stored]) -> int:
    return CELL_BYTES * len(cells) + 2 * sum(len(each) for each in cells if isinstance(each, str))


def answer_ranges(
    worksheet: WorksheetId, after_row: int, asked: Sequence[Asked], *, has_new_rows: bool
) -> Work[Sequence[str]]:
    """The ranges of an answer: the header, cells of changed rows, and all rows from the end."""
    title = worksheet.title
    ranges = yield from mapped(
        lambda each: each.range(title), asked, lambda _: REQUEST_STEPS, MOST_STEPS
    )
    tail = [a1.rows_from(title, after_row)] if has_new_rows else []
    return [a1.header_range(title), *ranges, *tail]


def emptied_rows(writes: Sequence[Planned], frozen_rows: int, grid_rows: int) -> frozenset[int]:
    """The first row that is not frozen, if all of them are to be removed."""
    removed = {row for each in writes for row in each.removed}
    first = frozen_rows + 1
    is_all = removed.issuperset(range(first, grid_rows + 1))
    return frozenset({first}) if removed and is_all else frozenset()


def requests_of(
    writes: Sequence[Planned], emptied: frozenset[int]
) -> Work[Sequence[tuple[Change, Planned]]]:
    """The requests of a batch, each with its write: changes, new rows, removals from the bottom."""
    requests: list[tuple[Change, Planned]] = []
    for each in writes:
        for change in each.changes:
            yield REQUEST_STEPS * len(change.runs)
            requests += [
                (WrittenCells(row=change.row, column=at, values=values), each)
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


def removed_rows(planned: Planned) -> Sequence[int]:
    """The rows that a write removes, or empties in their place."""
    if isinstance(planned.write, Delete | DeleteWhere):
        return [*planned.removed, *(change.row for change in planned.changes)]
    return ()


def sending_of(planned: Planned, after_row: int) -> Sending:
    """What is noted of a write: its rows, and with an identity the cells that it writes.

    Rows that it appends have no number yet: 0.
    """
    rows: list[Sequence[Stored]] = []
    numbers: list[int] = []
    changed = [change.row for change in planned.changes]
    for slot in planned.slots if planned.identity is not None else ():
        if isinstance(slot, int):
            rows.append(planned.created.rows[slot] if planned.created else [])
            numbers.append(0)
        else:
            rows.append(slot.cells if isinstance(slot, RowChange) else [])
            numbers.append(slot.row)
    removed = removed_rows(planned)
    return Sending(
        planned.identity,
        first_row=after_row + 1,
        rows=rows,
        numbers=numbers if any(numbers) else [*planned.removed, *changed],
        updated=() if removed else changed,
        removed=removed,
        is_exclusive=planned.is_exclusive,
    )
