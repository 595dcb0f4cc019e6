"""Batches of planned writes: the requests to Google, and the ranges that Google's answer shows.

Rules
- The answer shows the changed rows, to make their ETags and to prove that they are the planned
  records. For removed rows it shows the rows above and below.
- The answer has a maximum size. If whole rows exceed `MAX_ASKED_BYTES`, the answer shows the cells
  from the first to the last cell that the write changes or compares. If these exceed it, the answer
  shows only the written cells, and for a write by filter no cells. Rows that are not shown
  completely get no ETag, and cells that are not shown do not update the cached rows.
- The new rows of all writes into a native table are one request, because Google would write several
  such requests to the same rows.
- New rows get the number formats of the row above, unless the blank cells have formats already.
- New rows are appended, or inserted above rows that are filled down in advance. Google's copy of
  formulas would copy constants, too. So the gateway copies only columns with formulas, and writes
  every other cell: the sent value, else the constant of the filled-down row, else nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, takewhile
from operator import itemgetter
from typing import NamedTuple

from gateway.google.cells import encoded_changes
from gateway.google.sheets import (
    NO_TABLE,
    AppendedRows,
    Batch,
    Change,
    Copied,
    CopiedCells,
    EmptiedRow,
    Fence,
    InsertedRows,
    NativeTable,
    RemovedRows,
    Value,
    WrittenCells,
    WrittenRows,
)
from gateway.table import a1
from gateway.table.column_types import NumberFormat, SheetForms
from gateway.table.record import Stored, text_at
from gateway.table.records import FilledRow
from gateway.table.steps import Work
from gateway.table.table import ROWS_BELOW, RowPatch, Table
from gateway.table.typed import held_cells
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.idempotency import Sending
from gateway.worksheets.looks import RowLook
from gateway.worksheets.planning import MOST_STEPS, NewRows, Plan, Planned, RowChange
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.writes import ByFilter, Outcome, Written

MAX_ASKED_BYTES = 2 * 1024 * 1024
"""Maximum bytes of the cells that an answer shows for one write.

The written cells of a write that names its rows are shown even above this size.
"""

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""Maximum bytes of the cells that an answer shows for all writes of a batch."""

CELL_BYTES = 110
"""JSON bytes of a cell in an answer, without its text, which the answer contains three times."""

RANGE_BYTES = 250
"""JSON bytes of a range in a request and in its answer, without cells."""

AROUND = ROWS_BELOW
"""Number of rows that an answer shows above and below removed rows, and below inserted rows."""

MARGIN = 20
"""Number of a native table's rows that an answer shows below the new rows.

People can append rows to the table at the same time.
"""

REQUEST_STEPS = 40
"""Scheduler steps (units of work) for one request, or for one range of an answer."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Cells of a changed row that Google's answer shows, or the whole row if `last` is None."""

    change: RowChange
    first: int = 0
    last: int | None = None

    def range(self, title: str) -> str:
        row = self.change.row
        if self.last is None:
            return a1.row_range(title, row)
        return a1.cells_of_row(title, row, self.first, self.last)


class Span(NamedTuple):
    """Neighbouring cells of a changed row in Google's answer, including blank cells.

    `first` is the number of the first column (from 0). `computed` are the numbers of columns whose
    cells show the result of a formula. `is_row` is True if the span is the whole row.
    """

    first: int
    texts: Sequence[str]
    values: Sequence[Value]
    computed: Collection[int]
    is_row: bool


Seen = Mapping[RowChange, Sequence[Span]]
"""Cells of each changed row in the answer to a batch."""


@dataclass(frozen=True, kw_only=True)
class Edge:
    """Rows above and below removed or emptied rows, which prove that these were the planned rows.

    `first` and `last` are the removed rows, numbered as before the batch. `above` and `below` are
    the displayed texts of at most `AROUND` rows on each side, the nearest row first. `row` and
    `row_below` are the numbers of the nearest rows after the batch. The answer shows one more row
    on each side, because people might have moved the rows by one.
    """

    first: int
    last: int
    above: Sequence[Sequence[str]]
    below: Sequence[Sequence[str]]
    row: int
    row_below: int

    def range(self, title: str) -> str:
        first = max(1, self.row - len(self.above))
        return a1.rows_between(title, first, self.row_below + len(self.below))


@dataclass(frozen=True, kw_only=True)
class Request:
    """A batch ready to send, and the meaning of the ranges in Google's answer.

    `owners` has the write of each change of the batch. The answer shows the header, the `asked`
    cells of changed rows, and the `edges` of removed rows. For appended rows it also shows all rows
    from the last record on, in a native table down to row `shown_to`.
    """

    plan: Plan
    batch: Batch
    new_rows: Sequence[Sequence[list[Stored]]]
    """The new rows of each write that creates rows."""
    owners: Sequence[Planned]
    asked: Sequence[Asked]
    edges: Sequence[Edge] = ()
    shown_to: int


def of_one_target(
    writes: Sequence[Planned], table: NativeTable
) -> tuple[Sequence[Planned], NativeTable]:
    """Choose writes whose new rows all go into the native table, or all below the last row.

    Returns these writes, and the table or `NO_TABLE`. New rows go into the table if it has all of
    their columns. If new rows go into the table, no chosen write changes a row below the table, and
    no chosen write with new rows finds one, because the growing table moves these rows.
    """
    taken: list[Planned] = []
    targets, is_low = set[bool](), False
    for each in writes:
        found = [slot for slot in each.slots if not isinstance(slot, int)]
        has_low = any(
            slot.row > table.last_row for slot in (found if each.created else each.changes)
        )
        own = set[bool]()
        if each.created:
            own = {table.takes(each.created.columns) and not has_low}
        if len(targets | own) == 1 and (is_low or has_low) and True in targets | own:
            continue
        if len(targets | own) < 2:
            taken.append(each)
            targets, is_low = targets | own, is_low or has_low
    return taken, table if True in targets else NO_TABLE


def request_of(
    worksheet: WorksheetId, plan: Plan, fence: Fence, forms: SheetForms | None
) -> Work[Request]:
    """Make the batch of a plan. `forms` are formats and validation of the columns, if cached.

    The answer shows the formats of new rows if they are in a native table, or if the blank rows
    below have no formats. Otherwise the formats would make the answer large.
    """
    table, row_formats = plan.table, dict[int, NumberFormat]()
    is_small, are_in_place, has_changes = bool(table.id), True, False
    new_rows: list[Sequence[list[Stored]]] = []
    for each in plan.writes:
        has_changes = has_changes or bool(each.changes)
        if each.created is not None:
            new_rows.append(each.created.rows)
            are_in_place = are_in_place and not each.created.formats
    count = sum(map(len, new_rows))
    if count and forms is not None:
        is_small = is_small or forms.is_plain
        width = len(plan.header.cells)
        columns = range(table.first_column, min(width, table.end_column or width))
        yield len(forms.formats)
        if not (are_in_place and forms.are_in_place):
            row_formats = {at: form for at, form in forms.formats.items() if at in columns}
    changes, owners = yield from requests_of(plan, row_formats)
    is_above = plan.filled is not None
    end = plan.after_row if plan.is_end else max(plan.after_row, table.last_row)
    batch = Batch(
        sheet_id=plan.sheet_id,
        fence=fence,
        changes=changes,
        encoded=(yield from encoded_changes(plan.sheet_id, changes)),
        has_forms=count > 0 and plan.after_row > plan.header.row and is_small and not is_above,
    )
    request = Request(
        plan=plan,
        batch=batch,
        new_rows=new_rows,
        owners=owners,
        asked=(yield from asked_cells(plan.writes)) if has_changes else (),
        shown_to=end + count + MARGIN,
    )
    return (yield from shown_around(worksheet, request, plan.around))


def shown_around(
    worksheet: WorksheetId, request: Request, around: Mapping[int, Sequence[str]]
) -> Work[Request]:
    """Add the A1 ranges of Google's answer to a request. `around` has texts by row number."""
    plan, title, count = request.plan, worksheet.title, sum(map(len, request.new_rows))
    edges: Sequence[Edge] = ()
    for each in plan.writes:
        if each.write.rows is None:
            edges = yield from edges_of(plan.writes, plan.emptied, around)
            break
    header_row, after_row = plan.header.row, plan.after_row
    ranges = [a1.row_range(title, header_row, header_row + request.batch.has_forms)]
    shown: Sequence[Asked | Edge] = [*request.asked, *edges]
    for part in shown:
        yield REQUEST_STEPS
        ranges.append(part.range(title))
    if plan.filled is not None:
        ranges.append(a1.rows_between(title, after_row, after_row + count + AROUND))
    elif plan.table.id:
        ranges.append(a1.rows_between(title, after_row, request.shown_to))
    elif count:
        ranges.append(a1.rows_from(title, after_row))
    return replace(request, edges=edges, batch=replace(request.batch, ranges=ranges))


def are_unchanged(writes: Sequence[Planned], look: RowLook) -> Work[bool]:
    """True if a later read shows the same rows as the plan, in the cells that the writes depend on.

    A write with `If-Match` depends on the texts of the whole row. If the write is typed, it depends
    on the typed values of the row, too. A write by filter or key depends on the columns that it
    compares and writes. Every other write depends on the written columns.
    """
    shown = look.rows
    for each in writes:
        planned = [(row, texts, each.compared) for row, texts in each.removed.items()]
        planned += [
            (change.row, change.displayed, each.compared | change.columns)
            for change in each.changes
        ]
        for row, texts, columns in planned:
            now = shown.get(row)
            if now is None or (any(texts) and not any(now)):
                return False
            compared = range(max(len(texts), len(now))) if each.has_condition else columns
            yield len(compared)
            if any(text_at(now, at) != text_at(texts, at) for at in compared):
                return False
            if each.has_condition and row in each.typed:
                yield len(now)
                values = look.values.get(row, ())
                if held_cells(now, values) != held_cells(texts, each.typed[row]):
                    return False
    return True


def note_unchanged(
    worksheet: Worksheet, planned: Iterable[Planned], outcomes: Iterable[Outcome], look: RowLook
) -> None:
    """Record rows that an update leaves unchanged as seen by clients, for monotonic reads."""
    answered: list[Written | RowChange | int] = []
    for each in planned:
        answered += each.slots
    for outcome in outcomes:
        if not isinstance(outcome, Exception):
            answered += outcome
    before: dict[int, Sequence[str]] = {}
    for slot in answered:
        if isinstance(slot, Written):
            before[slot.row] = look.rows[slot.row]
    if before:
        patches = [RowPatch(row=row, texts={}) for row in sorted(before)]
        worksheet.written(Effect(header=look.header, rows=patches, before=before))


def asked_cells(writes: Sequence[Planned]) -> Work[Sequence[Asked]]:
    """Choose the cells of changed rows that Google's answer shows, within the size limits.

    For each write, tries whole rows first, then the cells from the first to the last cell that the
    write uses, then only written cells. A write by filter gets no cells if the written cells are
    too many.
    """
    asked: list[Asked] = []
    left_bytes = MAX_ANSWER_BYTES
    for write in writes:
        most_bytes = min(MAX_ASKED_BYTES, left_bytes)
        cells: list[Asked] = []
        byte_count = 0
        for form in (_whole, _hull, _narrow):
            cells, byte_count = [], 0
            for change in write.changes:
                yield REQUEST_STEPS * len(change.runs) + len(change.displayed)
                found = form(write, change)
                cells += found
                byte_count += _asked_bytes(change, found)
            if byte_count <= most_bytes:
                break
        if byte_count <= most_bytes or not isinstance(write.write.selector, ByFilter):
            left_bytes -= byte_count
            asked += cells
    return asked


def _whole(_write: Planned, change: RowChange) -> list[Asked]:
    return [Asked(change=change)]


def _hull(write: Planned, change: RowChange) -> list[Asked]:
    columns = change.columns.union(change.values, write.compared)
    return [Asked(change=change, first=min(columns), last=max(columns))]


def _narrow(_write: Planned, change: RowChange) -> list[Asked]:
    """Choose the written cells, and cells between them that need less space than a new range."""
    spans: list[tuple[int, int]] = []
    for at, run in change.runs:
        last = at + len(run) - 1
        if spans and _byte_count(change.displayed[spans[-1][1] + 1 : at]) <= RANGE_BYTES:
            spans[-1] = (spans[-1][0], last)
        else:
            spans.append((at, last))
    return [Asked(change=change, first=first, last=last) for first, last in spans]


def _asked_bytes(change: RowChange, asked: Sequence[Asked]) -> int:
    """Estimate the bytes that these cells of a row add to a request and its answer."""
    cells: list[Stored] = []
    for each in asked:
        cells += change.displayed[each.first : None if each.last is None else each.last + 1]
    for _, run in change.runs:
        cells += run
    return RANGE_BYTES * len(asked) + _byte_count(cells)


def _byte_count(cells: Sequence[Stored]) -> int:
    return CELL_BYTES * len(cells) + 3 * sum(len(each) for each in cells if isinstance(each, str))


def rows_around(table: Table, writes: Sequence[Planned]) -> Work[Mapping[int, Sequence[str]]]:
    """Return the texts of up to `AROUND` rows above and below removed rows, by row number."""
    gone = {row for each in writes for row in each.removed_rows}
    beside = {
        row
        for first, last in a1.row_spans(sorted(gone))
        for row in (*range(first - AROUND, first), *range(last + 1, last + 1 + AROUND))
    }
    header_row = table.header.row
    rows = sorted(row for row in beside - gone if header_row < row <= table.last_row)
    around: dict[int, Sequence[str]] = {}
    size = max(1, MOST_STEPS // max(1, len(table.displayed)))
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        yield len(some) * len(table.displayed)
        around |= zip(some, table.texts(some), strict=True)
    below = enumerate(table.below, table.last_row + 1)
    return around | {row: texts for row, texts in below if row in beside}


def edges_of(
    writes: Sequence[Planned], emptied: frozenset[int], around: Mapping[int, Sequence[str]]
) -> Work[Sequence[Edge]]:
    """Make an `Edge` for each run of neighbouring removed rows, within the size limit.

    `around` are the texts of the rows next to the removed rows, by row number. Returns an empty
    list if no row is removed, or if a row is emptied because it is the last row of the grid.
    """
    removed, gone = set[int](), set[int]()
    for each in writes:
        removed |= each.removed.keys()
        gone.update(each.removed_rows)
    if emptied or not gone:  # no other row is left, or no row is removed
        return []
    written = gone.union(change.row for each in writes for change in each.changes)
    edges: list[Edge] = []
    left_bytes, removed_above = MAX_ASKED_BYTES, 0
    for first, last in a1.row_spans(sorted(gone)):
        row = first - 1 - removed_above
        removed_above += sum(row in removed for row in range(first, last + 1))
        edge = Edge(
            first=first,
            last=last,
            above=_next_to(range(first - 1, first - 1 - AROUND, -1), around, written),
            below=_next_to(range(last + 1, last + 1 + AROUND), around, written),
            row=row,
            row_below=last + 1 - removed_above,
        )
        texts = [*chain(*edge.above, *edge.below)]
        yield REQUEST_STEPS + last - first + len(texts)
        byte_count = RANGE_BYTES + 2 * _byte_count(texts)
        if byte_count <= left_bytes:
            left_bytes -= byte_count
            edges.append(edge)
    return edges


def _next_to(
    rows: Iterable[int], around: Mapping[int, Sequence[str]], written: Collection[int]
) -> Sequence[Sequence[str]]:
    """Return the texts of rows, down to the first row that is unknown or written by the batch."""
    near = takewhile(lambda row: row in around and row not in written, rows)
    return [around[row] for row in near]


def emptied_rows(writes: Sequence[Planned], frozen_rows: int, grid_rows: int) -> frozenset[int]:
    """Return the first unfrozen row if the writes remove all unfrozen rows, otherwise an empty set.

    Google does not remove the last unfrozen row, so the gateway empties it.
    """
    removed = {row for each in writes for row in each.removed}
    first = frozen_rows + 1
    is_all = removed.issuperset(range(first, grid_rows + 1))
    return frozenset({first}) if removed and is_all else frozenset()


def requests_of(
    plan: Plan, row_formats: Mapping[int, NumberFormat]
) -> Work[tuple[Sequence[Change], Sequence[Planned]]]:
    """Return the changes of a plan, and for each change the write that it belongs to.

    The order is: changed cells, new rows, then removals from the bottom up. `row_formats` are the
    number formats of all new rows, by column. All new rows of a native table are one change, which
    belongs to the first write. New rows are inserted above rows that are filled down with formulas,
    or otherwise appended.
    """
    requests: list[tuple[Change, Planned]] = []
    appended: list[tuple[Planned, list[NewRows]]] = []
    removed: list[tuple[int, Planned]] = []
    for each in plan.writes:
        for change in each.changes:
            yield REQUEST_STEPS * len(change.runs)
            for at, values in _pieces(change) if change.formats else change.runs:
                new_formats = (
                    [change.formats[column] for column in range(at, at + len(values))]
                    if at in change.formats
                    else ()
                )
                cells = WrittenCells(row=change.row, column=at, values=values, formats=new_formats)
                requests.append((cells, each))
        for row in each.removed:
            removed.append((row, each))
        if each.created is not None and plan.table.id and appended:
            appended[0][1].append(each.created)
        elif each.created is not None:
            appended.append((each, [each.created]))
    if plan.filled is not None:
        requests += yield from _insertion(plan, plan.filled)
        appended = []
    for each, parts in appended:
        rows: list[list[Stored]] = []
        formats: list[Mapping[int, NumberFormat]] = []
        has_formats = bool(row_formats)
        for part in parts:
            rows += part.rows
            has_formats = has_formats or bool(part.formats)
        for part in parts if has_formats else ():
            yield len(part.rows) + len(row_formats) * len(part.formats)
            own = part.formats or [row_formats] * len(part.rows)
            formats += [{**row_formats, **new} if new else row_formats for new in own]
        requests.append((AppendedRows(rows=rows, formats=formats, table=plan.table), each))
    removed.sort(key=itemgetter(0))
    for row, each in removed:
        if row in plan.emptied:
            requests.append((EmptiedRow(row=row), each))
    for row, each in reversed(removed):
        if row in plan.emptied:
            continue
        last, owner = requests[-1] if requests else (None, None)
        if isinstance(last, RemovedRows) and owner is each and last.first_row == row + 1:
            requests[-1] = replace(last, first_row=row), each
        else:
            requests.append((RemovedRows(first_row=row, last_row=row), each))
    return [change for change, _ in requests], [each for _, each in requests]


def _insertion(plan: Plan, filled: FilledRow) -> Work[Sequence[tuple[Change, Planned]]]:
    """Return the changes that insert new rows above a filled-down row, each with its write.

    Changes for all new rows belong to the first write. Sent values replace formulas.
    """
    created = [(each, each.created) for each in plan.writes if each.created]
    if not created:
        return []
    first, first_row = created[0][0], plan.after_row + 1
    count = sum(len(new.rows) for _, new in created)
    is_like_above = not filled.is_first
    room = InsertedRows(first_row=first_row, count=count, is_like_above=is_like_above)
    requests: list[tuple[Change, Planned]] = [(room, first)]
    single: list[tuple[Change, Planned]] = []
    row = first_row
    for each, new in created:
        rows: list[list[Stored]] = []
        for number, sent in enumerate(new.rows):
            yield REQUEST_STEPS + len(sent) + len(filled.constants)
            formats = new.formats[number] if new.formats else {}
            cells: dict[int, Stored] = {**filled.constants}
            for column in new.placements[number].cells:
                cells[column] = value = sent[column] if column < len(sent) else None
                is_computed = column in filled.formulas
                if column in formats or (is_computed and value is not None):
                    cell = WrittenCells(row=row + number, column=column, values=[value])
                    if column in formats:
                        cell = replace(cell, formats=[formats[column]])
                    single.append((cell, each))
            width = 1 + max(cells, default=-1)
            rows.append([None if at in filled.formulas else cells.get(at) for at in range(width)])
        requests.append((WrittenRows(first_row=row, rows=rows), each))
        row += len(rows)
    formulas = sorted(filled.formulas)
    runs = [
        [column for _, column in run]
        for _, run in groupby(enumerate(formulas), key=lambda pair: pair[1] - pair[0])
    ]
    rules = [(Copied.RULES, 0, None)] if filled.is_model else []
    for part, column, last in (*rules, *((Copied.FORMULAS, run[0], run[-1]) for run in runs)):
        copied = CopiedCells(
            part=part,
            row=filled.row + count,
            first_row=first_row,
            last_row=plan.after_row + count,
            first=column,
            last=last,
        )
        requests.append((copied, first))
    return [*requests, *single]


def _pieces(change: RowChange) -> Iterator[tuple[int, list[Stored]]]:
    """Split runs of cells into pieces whose cells all get a new number format, or all get none."""
    for at, run in change.runs:
        cells = enumerate(run, at)
        for _, piece in groupby(cells, key=lambda cell: cell[0] in change.formats):
            columns, values = zip(*piece, strict=True)
            yield columns[0], [*values]


def sendings_of(plan: Plan, *, is_shared: bool) -> Mapping[int, Sending]:
    """Return the data to store about each write before it is sent, by the write's index.

    The result has writes that change rows and writes with an Idempotency-Key. Only writes with
    this key store cells. Appended rows are numbered from the end of the sheet, where the last one
    is -1. If their real numbers can be expected, `first_row` is stored, too. `is_shared`: several
    processes share a write lock, which stores the fence of every write. With this lock, only
    removals store the rows that they change.
    """
    sendings: dict[int, Sending] = {}
    first_row, left = plan.after_row + 1 if plan.is_end else 0, 0
    for planned in plan.writes:
        left += len(planned.created.rows) if planned.created else 0
    for planned in plan.writes:
        new = planned.created.rows if planned.created else ()
        changes = planned.removed_rows if is_shared else planned.changes or planned.is_exclusive
        if changes or planned.write.identity is not None:
            rows: list[Sequence[Stored]] = []
            numbers: list[int] = []
            for slot in planned.slots if planned.write.identity is not None else ():
                if isinstance(slot, int):
                    rows.append(new[slot])
                    numbers.append(slot - left)
                else:
                    rows.append(slot.cells if isinstance(slot, RowChange) else [])
                    numbers.append(slot.row)
            removed = planned.removed_rows
            sendings[planned.index] = Sending(
                planned.write.identity,
                first_row=first_row,
                rows=rows,
                numbers=numbers or planned.rows,
                updated=() if removed or is_shared else planned.rows,
                removed=removed,
                is_exclusive=planned.is_exclusive and bool(removed or not is_shared),
            )
        first_row, left = first_row + len(new) * plan.is_end, left - len(new)
    return sendings
