"""Plan writes: find the rows and cells that each write changes.

Rules
- The gateway plans a write from rows that it has read before (the planning read). An append needs
  the header only, a write by row number needs some rows, and a write by filter or key needs all
  rows. All rows of a planning read show the worksheet at the same time.
- A batch is one write call to Google. A batch takes as many writes as have the same result when
  carried out one after the other. The remaining writes are planned again after the batch.
- Planning makes no call to Google. The scheduler runs it in slices, in the queue for writes of the
  key.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from gateway.errors import (
    DuplicateKey,
    GatewayError,
    InvalidBody,
    PreconditionFailed,
    Problem,
    QueryTooCostly,
    TooManyRowsAffected,
    WriteTooLarge,
)
from gateway.google.sheets import NO_TABLE, NativeTable
from gateway.query.evaluate import evaluate
from gateway.query.operators import ColumnField, Operand, comparisons, make_operand
from gateway.query.query import Query
from gateway.table.column_types import NumberFormat, SeenCell
from gateway.table.header import ROW_INDEX, Header, View
from gateway.table.record import (
    Placement,
    Stored,
    changed_runs,
    check_has_value,
    check_record_field,
    key_form,
    new_key_form,
    new_row,
    not_written,
    place,
    pointer,
    row_record,
    same_key,
    text_at,
)
from gateway.table.records import BLANK_ONLY, EndRule, FilledRow
from gateway.table.sent_values import as_key, is_held
from gateway.table.steps import BLOCK, OutOfSteps, Work, mapped
from gateway.table.table import Table
from gateway.worksheets.looks import MAX_TARGET_CELLS, RowLook
from gateway.worksheets.reading import too_costly
from gateway.worksheets.refusal import row_not_found
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.write_queue import MAX_ROWS
from gateway.worksheets.writes import (
    ByFilter,
    ByKey,
    Outcome,
    Write,
    Written,
    byte_count,
    number_only,
    with_created,
    written_row,
)

FRESH_LOOK_SECONDS = 1.0
"""Maximum age of the planning read when an update is sent, in seconds."""

MAX_COMPARED = 16
"""Maximum number of key or filter columns whose cells are compared after the write."""

UPDATE_STEPS = 24
"""Scheduler steps (units of work) per field of a row."""

MOST_STEPS = 16_384
"""Maximum number of scheduler steps without a pause, about 1 ms."""

STEPS_PER_ROW = 4
"""Scheduler steps (units of work) per existing row that matches a key."""

KEY_STEPS = 20
"""Scheduler steps (units of work) for each key field of each row of an upsert."""

TYPED_STEPS = 160
"""Scheduler steps (units of work) to check if a value is a date or time."""

FIELD_STEPS = (UPDATE_STEPS, UPDATE_STEPS + TYPED_STEPS)
"""Scheduler steps (units of work) per field of a row, for displayed and for typed values."""

CELLS_OF_STEP = 4
"""Number of cells that one scheduler step copies."""

MAX_WRITTEN_BYTES = 8 * 1024 * 1024
"""Maximum total bytes of the values that one write by filter sends to all matching rows."""


NewKey = tuple[tuple[int, Hashable], ...]
"""Key of a row: pairs of column number and comparable value (`record.key_form`), by column."""

Look = Header | RowLook | Table
"""Result of a planning read: the header, rows by number, or all rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NewRows:
    """Rows to append. Each row has its cells from column A."""

    placements: Sequence[Placement]
    rows: Sequence[list[Stored]]
    formats: Sequence[Mapping[int, NumberFormat]] = ()
    """Number formats by column for each row, or empty if no row needs formats."""

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(column for each in self.placements for column in each.cells)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowChange:
    """Change of an existing row.

    `displayed` are the texts of the row in the planning read. `placement` has no cells if the write
    empties the row. `runs` are the written cells, as pairs of first column (from 0) and cells.
    """

    row: int
    placement: Placement
    displayed: Sequence[str]
    runs: Sequence[tuple[int, list[Stored]]]
    formats: Mapping[int, NumberFormat] = field(default_factory=dict)

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(self.placement.cells)

    @cached_property
    def values(self) -> Mapping[int, Stored]:
        """Written values by column, in ascending order."""
        return {column + at: value for column, run in self.runs for at, value in enumerate(run)}

    @property
    def cells(self) -> list[Stored]:
        """Written cells from column A, with None for cells that stay unchanged."""
        cells: list[Stored] = []
        for column, run in self.runs:
            cells += [None] * (column - len(cells))
            cells += run
        return cells


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """A write that is ready to send: its changed, appended or removed rows.

    `slots` has one entry for each result, in order. An entry is a known result, a change of an
    existing row, or the index of an appended row in `created`. `index` is the position of the write
    in its group.
    """

    index: int
    write: Write
    slots: Sequence[Written | RowChange | int]
    changes: Sequence[RowChange] = ()
    created: NewRows | None = None
    removed: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Displayed texts of the rows to remove, by row number."""
    new_keys: Sequence[NewKey] = ()
    """Keys of the rows that an upsert appends."""
    compared: frozenset[int] = frozenset()
    """Columns by which the write found its rows, at most `MAX_COMPARED`."""
    values: Mapping[int, Mapping[int, object]] = field(default_factory=dict)
    """Typed values of the `compared` columns in existing rows, by row and column."""
    typed: Mapping[int, Sequence[object]] = field(default_factory=dict)
    """Typed cells by row number in the planning read, for a typed write."""

    @property
    def columns(self) -> frozenset[int]:
        created = self.created.columns if self.created else frozenset()
        return created.union(*(change.columns for change in self.changes))

    @property
    def rows(self) -> Sequence[int]:
        """Numbers of the existing rows that the write changes or removes."""
        return [*self.removed, *(change.row for change in self.changes)]

    @property
    def removed_rows(self) -> Sequence[int]:
        """Numbers of the rows that the write removes or empties."""
        return self.rows if self.write.rows is None else ()

    @property
    def has_condition(self) -> bool:
        """True if the write has an `If-Match` with an ETag, which the row must have."""
        condition = self.write.condition
        return condition is not None and not condition.is_any

    @property
    def is_conditional(self) -> bool:
        """True if the gateway must check that the write changed the planned records."""
        if self.write.kind == "search":
            return bool(self.compared)  # a filter of row numbers has no columns
        return self.has_condition

    @property
    def is_exclusive(self) -> bool:
        """True if other writes must wait while the outcome of this write is unknown."""
        return bool(self.removed) or (self.write.kind == "search" and self.created is not None)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Writes that one batch can carry out, and the outcomes of writes that need no batch.

    `outcomes` maps the index of a write to its result or error. All writes remove rows, or none of
    the writes does. The remaining writes are planned again after the batch.
    """

    outcomes: Mapping[int, Outcome]
    writes: Sequence[Planned]
    header: Header
    sheet_id: int
    after_row: int = 0
    """Number of the row above the created rows."""
    is_end: bool = True
    """True if `after_row` was the last record, or the last row of its native table."""
    table: NativeTable = NO_TABLE
    """Native table to which new rows belong, or `NO_TABLE` if they go below all records."""
    filled: FilledRow | None = None
    """Row of filled-down formulas below `after_row`, or None.

    With this row, new rows are inserted, otherwise appended.
    """
    beside: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Displayed texts of the existing rows next to inserted rows, by row number."""
    emptied: frozenset[int] = frozenset()
    """Numbers of the rows to empty, because Google does not remove the last unfrozen row."""
    grid_rows: int = 0
    """Number of rows of the sheet in the planning read, including blank rows, or 0 if unknown."""
    around: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Displayed texts of the rows next to removed or emptied rows, by row number."""
    looked_at: float
    """Time at which the planning read was sent, in monotonic seconds."""
    fresh_seconds: float = FRESH_LOOK_SECONDS
    """Maximum age in seconds of the planning read at sending. Older rows are read again."""
    is_cached: bool = False
    """True if the sheet id, frozen rows or header came from the cache."""
    cells: Mapping[int, Sequence[SeenCell]] = field(default_factory=dict)
    """Cells with number formats by row number, if the planning read had formats."""


def needs_types(write: Write) -> bool:
    """True if the gateway needs typed values to find the rows of the write or its changes."""
    by = write.selector
    if isinstance(by, ByFilter) and any(each.field != ROW_INDEX for each in comparisons(by.where)):
        return True
    return isinstance(by, ByKey) or (write.is_typed and write.rows is not None)


@dataclass(kw_only=True)
class _Batch:
    writes: list[Planned] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    removed: list[int] = field(default_factory=list)
    new_keys: set[NewKey] = field(default_factory=set)

    def may_take(self, write: Write, header: Header, *, removes: bool) -> bool:
        """True if the batch changes no cell by which the write finds its rows.

        `removes`: the write removes rows. Removals and other writes never share a batch.
        """
        read_columns = _read_columns(write, header.seen_with(write.access.columns))
        if self.writes and removes != bool(self.removed):
            return False
        if self.removed and None in read_columns:
            return False
        if self.new_keys:
            columns = {frozenset(column for column, _ in key) for key in self.new_keys}
            if not isinstance(write.selector, ByKey) or columns != {read_columns}:
                return False
        return read_columns.isdisjoint(self.columns)

    def take(self, planned: Planned) -> None:
        """Add a write, unless it shares rows with the batch or exceeds the limits."""
        rows = {*planned.rows, *(slot.row for slot in planned.slots if not isinstance(slot, int))}
        if self.writes and (
            not rows.isdisjoint(self.rows)
            or len(rows) + len(self.rows) > MAX_ROWS
            or not self.new_keys.isdisjoint(planned.new_keys)
        ):
            return
        if self.removed:  # earlier removals move the rows
            slots = [
                number_only(slot.row - bisect_left(self.removed, slot.row))
                if isinstance(slot, Written)
                else slot
                for slot in planned.slots
            ]
            planned = replace(planned, slots=slots)
        self.writes.append(planned)
        self.rows |= rows
        self.columns.update(*(change.values for change in planned.changes))
        self.removed = sorted([*self.removed, *planned.removed])
        self.new_keys |= {*planned.new_keys}


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Plans writes.

    With `ignore_unknown`, fields that the header lacks are ignored. With `clears`, a delete empties
    the row instead of removing it, so that no other row moves.
    """

    ignore_unknown: bool
    clears: bool = False

    async def plan(
        self, worksheet: Worksheet, writes: Mapping[int, Write], look: Look
    ) -> tuple[Sequence[Planned], dict[int, Outcome]]:
        """Return the writes for one batch, and results or errors of other writes by index.

        Writes in neither result are planned again after the batch.
        """
        table = look if isinstance(look, Table) else None
        batch, outcomes = _Batch(), dict[int, Outcome]()
        for index, write in writes.items():
            removes = write.rows is None and not self.clears
            if table is not None and not batch.may_take(write, table.header, removes=removes):
                continue
            try:
                work = self.planned(index, write, look)
                planned = await worksheet.search(table, work, write.access.key_id, is_write=True)
            except OutOfSteps as error:
                outcomes[index] = _too_costly(write, table, error)
            except GatewayError as error:
                outcomes[index] = error
            else:
                if not (planned.changes or planned.created or planned.removed):
                    known = [slot for slot in planned.slots if isinstance(slot, Written)]
                    outcomes[index] = tuple(known)
                elif table is None:  # rows in a group are different
                    batch.writes.append(planned)
                else:
                    batch.take(planned)
        return batch.writes, outcomes

    def planned(self, index: int, write: Write, look: Look) -> Work[Planned]:
        """Plan one write. The plan has no changes if all rows already have the values."""
        by = write.selector
        if isinstance(look, RowLook):
            return self._by_number(index, write, look)
        if isinstance(look, Header):
            return self._append(index, write, write.view(look), look.end)
        if isinstance(by, ByKey):
            return self._by_key(index, write, by, look)
        if isinstance(by, ByFilter):
            return self._by_filter(index, write, by, look)
        raise TypeError(
            f"rows of a table are found by a filter or by keys, not by {type(by).__name__}"
        )

    def lacks_fields(self, header: Header, creates: Iterable[Write]) -> bool:
        """True if a create has a field that the header lacks and that must not be ignored."""
        return not self.ignore_unknown and any(
            view.find(name) is None
            for create in creates
            for view in [header.seen_with(create.access.columns)]
            for fields in create.rows or ()
            for name in fields
        )

    def _append(self, index: int, write: Write, view: View, end: EndRule) -> Work[Planned]:
        """Plan new rows. Raises InvalidBody for a row that is not a record by the rule `end`."""
        placements: list[Placement] = []
        rows: list[list[Stored]] = []
        skips_false = end.skips_false and end.column is None
        for number, fields in enumerate(write.rows or ()):
            yield UPDATE_STEPS * len(fields)
            path = write.path(number)
            placement = place(fields, view, ignore_unknown=self.ignore_unknown, at=path)
            check_has_value(placement.cells.values(), at=path, skips_false=skips_false)
            if end.column is not None:
                check_record_field(placement.cells, end.column, view, at=path)
            yield len(placement.cells)
            placements.append(placement)
            rows.append(new_row(placement.cells))
        new = NewRows(placements=placements, rows=rows)
        return Planned(index=index, write=write, slots=range(len(rows)), created=new)

    def _by_number(self, index: int, write: Write, look: RowLook) -> Work[Planned]:
        view = write.view(look.header)
        condition = write.condition
        for row in write.numbers:
            if row not in look.rows:
                below = [look.tail.get(row, ())]
                raise row_not_found(row, look.header.row, below=below, view=view)
            if condition is None:
                continue
            displayed, values = look.rows[row], look.values[row] if write.is_typed else None
            tag = view.tag(row, displayed, values)
            if not condition.holds(tag):
                existing = row_record(row, view.select(None), displayed, values)
                raise PreconditionFailed(existing, tag=tag, has_tags=condition.tags != frozenset())
        typed = {row: look.values[row] for row in write.numbers} if write.is_typed else {}
        if write.rows is None:
            removed = {row: look.rows[row] for row in write.numbers}
            planned = yield from self._removal(index, write, (), removed, look.header)
            return replace(planned, typed=typed) if typed else planned
        slots: list[Written | RowChange] = []
        changes: list[RowChange] = []
        is_form = write.is_typed and write.is_form
        for number, (row, fields) in enumerate(zip(write.numbers, write.rows, strict=True)):
            yield FIELD_STEPS[write.is_typed] * len(fields)
            path = write.path(number)
            placement = place(fields, view, ignore_unknown=self.ignore_unknown, at=path)
            seen = (row, placement, view, look.rows[row], typed.get(row))
            slot = row_change(*seen, is_form=is_form, has_tag=write.has_tag)
            slots.append(slot)
            if isinstance(slot, RowChange):
                changes.append(slot)
        return Planned(index=index, write=write, slots=slots, changes=changes, typed=typed)

    def _by_filter(self, index: int, write: Write, by: ByFilter, table: Table) -> Work[Planned]:
        view = write.view(table.header)
        compared = _compared(write, view)
        query = Query(where=by.where, limit=by.max_rows, wants_total=True)
        page = yield from evaluate(table, query, view)
        if page.total is not None and page.total > by.max_rows:
            raise TooManyRowsAffected(
                f"{page.total} rows match, but this request is allowed to change at most "
                f"{by.max_rows}. Narrow 'where', or raise 'max-affected' up to the limit of the "
                "key's plan.",
                outcome="not_applied",
            )
        numbers = page.rows
        if len(numbers) * len(table.displayed) > MAX_TARGET_CELLS:
            raise _too_large(
                f"The {len(numbers)} matching rows have more than {MAX_TARGET_CELLS:,} cells, the "
                "maximum of one write."
            )
        yield len(numbers) * len(table.displayed) // CELLS_OF_STEP
        texts = table.texts(numbers)
        if write.rows is None:
            slots = [number_only(row) for row in numbers]
            rows = dict(zip(numbers, texts, strict=True))
            planned = yield from self._removal(index, write, slots, rows, table.header)
            return replace(planned, compared=compared)
        (fields,) = write.rows
        if byte_count(fields) * len(numbers) > MAX_WRITTEN_BYTES:
            raise _too_large(
                f"The fields of the body, written to {len(numbers)} rows, take more than "
                f"{MAX_WRITTEN_BYTES // 1_048_576} MiB, the maximum of one write."
            )
        placement = place(fields, view, ignore_unknown=self.ignore_unknown)

        is_form = write.is_typed and write.is_form
        changes: list[RowChange] = []
        for row, displayed in zip(numbers, texts, strict=True):
            yield FIELD_STEPS[write.is_typed] * len(placement.cells) + len(table.displayed)
            typed = table.typed_cells(row) if write.is_typed else None
            change = row_change(row, placement, view, displayed, typed, is_form=is_form)
            if isinstance(change, RowChange):
                changes.append(change)
        return Planned(
            index=index,
            write=write,
            slots=[number_only(row, placement.ignored) for row in numbers],
            changes=changes,
            compared=compared,
            values=(yield from table.typed_values(numbers, compared)),
        )

    def _by_key(self, index: int, upsert: Write, by: ByKey, table: Table) -> Work[Planned]:
        view = table.header.seen_with(upsert.access.columns)
        columns = _key_columns(by, view)
        view.check_parameters(upsert.unknown)
        planned = yield from self._append(index, upsert, view, BLANK_ONLY)
        sent = planned.created or NewRows(placements=(), rows=())
        placements, end = sent.placements, table.header.end
        keys: list[Sequence[Stored]] = []
        for number, placement in enumerate(placements):
            yield KEY_STEPS * len(columns)
            keys.append(_key(placement, columns, view, upsert.path(number)))
        is_form = upsert.is_typed and upsert.is_form
        found = yield from _rows_of(table, columns, keys, is_form=is_form)
        if len(found) * len(table.displayed) > MAX_TARGET_CELLS:
            raise _too_large(
                f"The {len(found)} rows to update have more than {MAX_TARGET_CELLS:,} cells, the "
                "maximum of one write."
            )
        new = [number for number in range(len(placements)) if number not in found]
        for number in new:
            own, path = placements[number].cells, upsert.path(number)
            if end.column is not None:
                check_record_field(own, end.column, view, at=path)
            else:
                check_has_value(own.values(), at=path, skips_false=end.skips_false)
        places = {number: at for at, number in enumerate(new)}
        yield len(found) * len(table.displayed) // CELLS_OF_STEP
        displayed = dict(zip(found, table.texts([*found.values()]), strict=True))
        typed: dict[int, Sequence[object]] = {}
        if upsert.is_typed:
            rows, width = [*found.values()], len(table.displayed)
            cells = yield from mapped(table.typed_cells, rows, lambda _: width, MOST_STEPS)
            typed = dict(zip(rows, cells, strict=True))

        slots: list[Written | RowChange | int] = []
        for number, placement in enumerate(placements):
            yield FIELD_STEPS[upsert.is_typed] * len(placement.cells)
            if number in places:
                slots.append(places[number])
                continue
            row = found[number]
            seen = (row, placement, view, displayed[number], typed.get(row))
            change: Written | RowChange
            if by.merges:
                change = row_change(*seen, kept=frozenset(columns), is_form=is_form)
            else:
                change = written_row(*seen, has_tag=False)
            if isinstance(change, Written):
                change = with_created(change, is_new=False)
            slots.append(change)
        stored = [[*map(as_key, key)] for key in keys] if is_form else keys
        new_keys = yield from _new_keys(table, columns, {at: stored[at] for at in new}, upsert)
        created = None
        if new:
            created = NewRows(
                placements=[placements[number] for number in new],
                rows=[sent.rows[number] for number in new],
            )
        compared = _compared(upsert, view)
        return replace(
            planned,
            slots=slots,
            changes=[slot for slot in slots if isinstance(slot, RowChange)],
            created=created,
            new_keys=new_keys,
            compared=compared,
            values=(yield from table.typed_values(found.values(), compared)) if found else {},
            typed=typed,
        )

    def _removal(
        self,
        index: int,
        write: Write,
        slots: Sequence[Written],
        rows: Mapping[int, Sequence[str]],
        header: Header,
    ) -> Work[Planned]:
        """Plan the removal or emptying of rows, with the results `slots`.

        `rows` maps row numbers to displayed texts.
        """
        if not self.clears:
            return Planned(index=index, write=write, slots=slots, removed=rows)

        def emptied(row: int) -> RowChange:
            return RowChange(
                row=row,
                placement=Placement(cells={}),
                displayed=rows[row],
                runs=[(0, [""] * max(len(header.cells), len(rows[row])))],
            )

        changes = yield from mapped(emptied, rows, lambda row: len(header.cells), MOST_STEPS)
        return Planned(index=index, write=write, slots=slots, changes=changes)


def _too_costly(write: Write, table: Table | None, error: OutOfSteps) -> QueryTooCostly:
    if table is None:
        return QueryTooCostly(
            "This request has too many rows or fields to process at once. Send fewer rows per "
            "request.",
            outcome="not_applied",
        )
    if isinstance(write.selector, ByFilter):
        return too_costly(Query(where=write.selector.where), table, error)
    return QueryTooCostly(
        f"The worksheet has too many rows ({table.last_row - table.header.row:,}) to find the rows "
        "of this upsert within the limits of one request. Write by rowIndex, or use a "
        "worksheet with fewer rows."
    )


def row_change(
    row: int,
    placement: Placement,
    view: View,
    displayed: Sequence[str],
    typed: Sequence[object] | None = None,
    *,
    is_form: bool = False,
    kept: frozenset[int] = frozenset(),
    has_tag: bool = False,
) -> Written | RowChange:
    """Return the change of a row, or the result of the write if the row already has all values.

    Columns in `kept` are not written. `typed` are the typed cells of the row, for a typed write.
    `is_form`: the values come from an HTML form, so all values are texts. `has_tag`: the result has
    an ETag.
    """
    cells = placement.cells
    if kept:
        cells = {at: value for at, value in cells.items() if at not in kept}
    if typed is None:
        runs = changed_runs(cells, displayed)
    else:
        held = {at: typed[at] if at < len(typed) else None for at in cells}
        changed = {
            at: sent
            for at, sent in cells.items()
            if not is_held(sent, text_at(displayed, at), held[at], is_form=is_form)
        }
        runs = changed_runs(changed)
    if not runs:
        return written_row(row, placement, view, displayed, typed, has_tag=has_tag)
    return RowChange(row=row, placement=placement, displayed=displayed, runs=runs)


def _read_columns(write: Write, view: View) -> frozenset[int | None]:
    """Return the columns by which the write finds its rows. None stands for the row number."""
    by = write.selector
    names = by.names if isinstance(by, ByKey) else ()
    if isinstance(by, ByFilter):
        names = tuple(each.field for each in comparisons(by.where))
    return frozenset(map(view.find, names))


def _compared(write: Write, view: View) -> frozenset[int]:
    columns = [column for column in _read_columns(write, view) if column is not None]
    return frozenset(columns[:MAX_COMPARED])


def _rows_of(
    table: Table, columns: Sequence[int], keys: Sequence[Sequence[Stored]], *, is_form: bool
) -> Work[Mapping[int, int]]:
    """Find the existing row of each key, by the position of the key in `keys`.

    A row has a key if its cells equal the key's values by the rules of `$eq`. A text of a form also
    matches a boolean. Raises InvalidBody if two keys match one row, and DuplicateKey if two rows
    match one key.
    """
    candidates: Mapping[int, Set[int]] | None = None
    """Positions of the matching keys by row position, after the columns compared so far."""
    for at, column in enumerate(columns):
        index = table.index(column)
        if (yield from index.keys()).odd:
            yield from index.displays()
        yield from index.order()
        numbers: dict[Operand, set[int]] = {}
        yield KEY_STEPS * len(keys)
        for number, key in enumerate(keys):
            for value in {key[at], as_key(key[at])} if is_form else key[at : at + 1]:
                numbers.setdefault(make_operand(value), set()).add(number)
        equal: dict[int, list[Set[int]]] = {}
        for operand, several in numbers.items():
            yield KEY_STEPS
            places = yield from ColumnField(index, table.rows).equal((operand,)).places()
            for start in range(0, len(places), BLOCK):
                block = places[start : start + BLOCK]
                yield STEPS_PER_ROW * len(block)
                for each in block:
                    if candidates is None or each in candidates:
                        equal.setdefault(each, []).append(several)
        found: dict[int, Set[int]] = {}
        for each, sets in equal.items():
            yield STEPS_PER_ROW + sum(map(len, sets)) * (len(sets) > 1)
            both = sets[0] if len(sets) == 1 else frozenset().union(*sets)
            if candidates is not None:
                yield min(len(both), len(candidates[each]))
                both = both & candidates[each]
            if both:
                found[each] = both
        candidates = found
    rows: dict[int, list[int]] = {}
    for each, both in (candidates or {}).items():
        yield STEPS_PER_ROW
        if len(both) > 1:
            raise InvalidBody(
                "Two rows of the body match the same row of the worksheet. Send only one of them."
            )
        (number,) = both
        rows.setdefault(number, []).append(each + table.header.row)
    for several_rows in rows.values():
        if len(several_rows) > 1:
            raise DuplicateKey(
                f"Rows {_listed(sorted(several_rows))} have the same key. Nothing was written: "
                "make their keys different, or delete all but one.",
                outcome="not_applied",
            )
    return {number: row for number, (row,) in sorted(rows.items())}


def _new_keys(
    table: Table, columns: Sequence[int], keys: Mapping[int, Sequence[Stored]], upsert: Write
) -> Work[Sequence[NewKey]]:
    """Return the comparable keys of new rows. Raises InvalidBody if one cell could match two keys.

    `keys` are the values of the key columns, by index of the row in the body. In a column that
    displays formatted numbers, a new text such as `$5.00` can equal 5.
    """
    forms_of: list[Callable[[Stored], Hashable]] = []
    for column in columns:
        forms_of.append(new_key_form if (yield from table.index(column).keys()).odd else key_form)
    found: list[NewKey] = []
    seen: list[dict[Hashable, int]] = [{} for _ in columns]
    for number, key in keys.items():
        yield KEY_STEPS * len(columns)
        forms = [form_of(value) for form_of, value in zip(forms_of, key, strict=True)]
        first = same_key(key, forms, number, seen)
        if first is not None:
            detail = (
                "The sheet would display this key and the key of the row at "
                f"{upsert.path(first)} in the same way. Send only one of these rows."
            )
            raise not_written([Problem(upsert.path(number), detail)])
        found.append(tuple(sorted(zip(columns, forms, strict=True))))
    return found


def _key_columns(by: ByKey, view: View) -> list[int]:
    columns = [view.find(name) for name in by.names]
    unknown = [name for name, column in zip(by.names, columns, strict=True) if column is None]
    if unknown:
        raise view.unknown_field("on_conflict", unknown)
    return [column for column in dict.fromkeys(columns) if column is not None]


def _key(placement: Placement, columns: Sequence[int], view: View, path: str) -> Sequence[Stored]:
    values = [placement.cells.get(column) for column in columns]
    missing = [at for at, value in zip(columns, values, strict=True) if value in (None, "")]
    if missing:
        detail = "on_conflict names this field, so it needs a value."
        raise not_written([Problem(pointer(view.names[at], at=path), detail) for at in missing])
    return values


def _too_large(reason: str) -> WriteTooLarge:
    return WriteTooLarge(
        f"{reason} Nothing was written: narrow 'where', or write fewer rows or fields at once.",
        outcome="not_applied",
    )


def _listed(rows: Sequence[int]) -> str:
    shown = ", ".join(map(str, rows[:10]))
    return shown if len(rows) <= 10 else f"{shown} and {len(rows) - 10} more"
