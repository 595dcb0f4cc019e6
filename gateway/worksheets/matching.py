"""Plan writes by filter and upserts: find their rows among all rows of the worksheet.

Rules: the rows are those of one moment. A batch takes as many writes as can be carried out one
after the other with the same result; the others are planned again after it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gateway.errors import (
    DuplicateKey,
    GatewayError,
    InvalidBody,
    Problem,
    QueryTooCostly,
    TooManyRowsAffected,
    WriteTooLarge,
)
from gateway.query.evaluate import evaluate
from gateway.query.query import Query, condition_fields
from gateway.table.cells import number_in
from gateway.table.record import Placement, Stored, key_text, place, pointer
from gateway.table.steps import OutOfSteps, Work, mapped
from gateway.table.table import FIRST_DATA_ROW, Table, column_at
from gateway.table.texts import as_texts, composed, composed_texts
from gateway.table.view import ROW_INDEX, View
from gateway.worksheets.planning import (
    MAX_COMPARED,
    MAX_TARGET_CELLS,
    MOST_STEPS,
    UPDATE_STEPS,
    NewRows,
    Planned,
    Planner,
    RowChange,
    row_change,
)
from gateway.worksheets.reading import Search
from gateway.worksheets.snapshot import Snapshot
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
    told_if_new,
    written_row,
)

Key = tuple[str | float, ...]
"""The values of an upsert's key fields: numbers, and the texts of everything else in NFC."""

STEPS_PER_ROW = 4
"""Steps for one cell of a key, in one pattern."""

KEY_STEPS = 20
"""Steps for one value of a key of the body."""

NUMBER_STEPS = 20
"""Steps for reading the number that a text displays."""

CELLS_OF_STEP = 4
"""Cells that are taken out of their columns in one step."""

MAX_WRITTEN_BYTES = 8 * 1024 * 1024
"""Values that a write by filter sends to all its rows together."""


def needs_types(write: Write) -> bool:
    """True if the typed rendering decides which rows are meant."""
    by = write.selector
    return isinstance(by, ByFilter) and any(
        name != ROW_INDEX for name in condition_fields(by.where)
    )


@dataclass(kw_only=True)
class _Batch:
    """The writes of a batch so far, with the rows and columns that they change."""

    writes: list[Planned] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    removed: list[int] = field(default_factory=list)
    new_keys: set[tuple[tuple[int, str], ...]] = field(default_factory=set)

    def may_take(self, write: Write, read_columns: frozenset[int | None], *, removes: bool) -> bool:
        """False if the writes before it change what decides which rows are meant.

        `read_columns` are the columns that do; None: the numbers of the rows. A batch removes rows
        or changes them.
        """
        if self.writes and removes != bool(self.removed):
            return False
        if self.removed and None in read_columns:
            return False
        if self.new_keys:
            columns = {frozenset(column for column, _ in key) for key in self.new_keys}
            if not isinstance(write.selector, ByKey) or columns != {read_columns}:
                return False
        return read_columns.isdisjoint(self.columns)

    def takes(self, planned: Planned) -> bool:
        """Take a write, if those before it change none of its rows, and leave it room."""
        rows = {slot.row for slot in planned.slots if not isinstance(slot, int)}
        rows |= {*planned.removed, *(change.row for change in planned.changes)}
        if self.writes and (
            not rows.isdisjoint(self.rows)
            or len(rows) + len(self.rows) > MAX_ROWS
            or not self.new_keys.isdisjoint(planned.new_keys)
        ):
            return False
        if self.removed:  # they went before
            slots = [self._moved(slot) for slot in planned.slots]
            planned = replace(planned, slots=slots)
        self.writes.append(planned)
        self.rows |= rows
        self.columns.update(*(change.values for change in planned.changes))
        self.removed = sorted([*self.removed, *planned.removed])
        self.new_keys |= {*planned.new_keys}
        return True

    def _moved(self, slot: Written | RowChange | int) -> Written | RowChange | int:
        if not isinstance(slot, Written):
            return slot
        return number_only(slot.row - bisect_left(self.removed, slot.row))


@dataclass(frozen=True, kw_only=True)
class Matching:
    planner: Planner
    search: Search

    async def plan(
        self, worksheet: Worksheet, snapshot: Snapshot, writes: Mapping[int, Write]
    ) -> tuple[Sequence[Planned], dict[int, Outcome]]:
        """The writes that one batch can carry out, and the results or errors of others."""
        batch, outcomes = _Batch(), dict[int, Outcome]()
        table = snapshot.table
        for index, write in writes.items():
            view = table.header.seen_with(write.access.columns)
            by = write.selector
            if isinstance(by, ByKey):
                names: Iterable[str] = by.names
            elif isinstance(by, ByFilter):
                names = condition_fields(by.where)
            else:
                raise TypeError("rows are found by a filter or by keys")
            read_columns = frozenset(map(view.find, names))
            removes = write.rows is None and not self.planner.clears
            if not batch.may_take(write, read_columns, removes=removes):
                continue
            compared = [column for column in read_columns if column is not None][:MAX_COMPARED]
            if isinstance(by, ByKey):
                work = self._by_key(table, view, index, write, by, frozenset(compared))
            else:
                work = self._by_filter(table, view, index, write, by, frozenset(compared))
            try:
                planned = await self.search.run(
                    worksheet, table, work, write.access.key_id, is_write=True
                )
            except OutOfSteps:
                outcomes[index] = self._too_costly(write, table)
            except GatewayError as error:
                outcomes[index] = error
            else:
                if planned.changes or planned.created or planned.removed:
                    batch.takes(planned)
                else:
                    outcomes[index] = planned.results({}, ())
        return batch.writes, outcomes

    def _by_filter(
        self,
        table: Table,
        view: View,
        index: int,
        write: Write,
        by: ByFilter,
        compared: frozenset[int],
    ) -> Work[Planned]:
        view.check_parameters(write.unknown)
        query = Query(where=by.where, limit=by.max_rows, wants_total=True)
        page = yield from evaluate(table, query, view)
        if page.total is not None and page.total > by.max_rows:
            raise TooManyRowsAffected(
                f"{page.total} rows match, and this request may change at most {by.max_rows}. "
                "Narrow 'where', or raise max-affected as far as the key's plan allows.",
                outcome="not_applied",
            )
        if len(page.rows) * len(table.displayed) > MAX_TARGET_CELLS:
            raise _too_large(
                f"The {len(page.rows)} rows that match have more than {MAX_TARGET_CELLS:,} cells."
            )
        yield len(page.rows) * len(table.displayed) // CELLS_OF_STEP
        texts = table.texts(page.rows)
        if write.rows is None:
            slots = [number_only(row) for row in page.rows]
            rows = dict(zip(page.rows, texts, strict=True))
            planned = yield from self.planner.removal(index, write, slots, rows, table.header)
            return replace(planned, compared=compared)
        (fields,) = write.rows
        if byte_count(fields) * len(page.rows) > MAX_WRITTEN_BYTES:
            raise _too_large(
                f"The fields of the body, written to {len(page.rows)} rows, take more than "
                f"{MAX_WRITTEN_BYTES // 1_048_576} MiB."
            )
        placement = place(fields, view, ignore_unknown=self.planner.ignore_unknown)
        changes = yield from mapped(
            lambda each: row_change(each[0], placement, view, each[1]),
            zip(page.rows, texts, strict=True),
            lambda _: UPDATE_STEPS * len(placement.cells),
            MOST_STEPS,
        )
        return Planned(
            index=index,
            write=write,
            slots=[number_only(row, placement.ignored) for row in page.rows],
            changes=[each for each in changes if isinstance(each, RowChange)],
            compared=compared,
        )

    def _by_key(
        self,
        table: Table,
        view: View,
        index: int,
        upsert: Write,
        by: ByKey,
        compared: frozenset[int],
    ) -> Work[Planned]:
        columns = _key_columns(by, view)
        key_columns = frozenset(columns)
        sent = yield from self.planner.new_rows(upsert, table.header)
        placements = sent.placements
        keys = yield from mapped(
            lambda at: _key(placements[at], columns, view, upsert.path(at)),
            range(len(placements)),
            lambda _: KEY_STEPS * len(columns),
            MOST_STEPS,
        )
        found = yield from _rows_of(table, columns, keys)
        if len(found) * len(table.displayed) > MAX_TARGET_CELLS:
            raise _too_large(
                f"The {len(found)} rows that are there have more than {MAX_TARGET_CELLS:,} cells."
            )
        new = [number for number in range(len(placements)) if number not in found]
        places = {number: at for at, number in enumerate(new)}
        yield len(found) * len(table.displayed) // CELLS_OF_STEP
        displayed = dict(zip(found, table.texts([*found.values()]), strict=True))

        def slot(number: int) -> Written | RowChange | int:
            if number in places:
                return places[number]
            return _merged(
                by, view, found[number], placements[number], displayed[number], key_columns
            )

        slots = yield from mapped(
            slot,
            range(len(placements)),
            lambda number: UPDATE_STEPS * len(placements[number].cells),
            MOST_STEPS,
        )
        new_keys = yield from mapped(
            lambda number: _texts_of_key(placements[number], columns),
            new,
            lambda _: KEY_STEPS * len(columns),
            MOST_STEPS,
        )
        created = None
        if new:
            created = NewRows(
                view=view,
                placements=[placements[number] for number in new],
                rows=[sent.rows[number] for number in new],
            )
        return Planned(
            index=index,
            write=upsert,
            slots=slots,
            changes=[slot for slot in slots if isinstance(slot, RowChange)],
            created=created,
            new_keys=new_keys,
            compared=compared,
        )

    def _too_costly(self, write: Write, table: Table) -> QueryTooCostly:
        if isinstance(write.selector, ByFilter):
            return self.search.too_costly(Query(where=write.selector.where), table)
        return QueryTooCostly(
            f"The worksheet has too many rows ({table.last_row - 1:,}) to find those of an "
            "upsert in the steps that a request may take."
        )


def _merged(
    by: ByKey,
    view: View,
    row: int,
    placement: Placement,
    displayed: Sequence[str],
    keys: frozenset[int],
) -> Written | RowChange:
    """The change of an existing row, or the row if it stays as it is."""
    change: Written | RowChange
    if by.merges:
        change = row_change(row, placement, view, displayed, kept=keys)
    else:
        change = written_row(row, placement, view, displayed, has_tag=False)
    return told_if_new(change, is_new=False) if isinstance(change, Written) else change


def _rows_of(table: Table, columns: Sequence[int], keys: Sequence[Key]) -> Work[Mapping[int, int]]:
    """The row of each key that the worksheet has, by the key's number."""
    found = yield from _matched(table, columns, {key: number for number, key in enumerate(keys)})
    for rows in found.values():
        if len(rows) > 1:
            raise DuplicateKey(
                f"Rows {_listed(rows)} have the same key. Nothing was written: make their "
                "keys different, or delete all but one.",
                outcome="not_applied",
            )
    if len({rows[0] for rows in found.values()}) < len(found):
        raise InvalidBody("Two rows of the body have the key of the same row.")
    return {number: rows[0] for number, rows in found.items()}


def _matched(
    table: Table, columns: Sequence[int], wanted: Mapping[Key, int]
) -> Work[Mapping[int, list[int]]]:
    """The rows of each wanted key; a number equals every text that displays it.

    Each row is looked up once for each pattern of numbers and texts that the keys have.
    """
    patterns = {tuple(isinstance(part, float) for part in key) for key in wanted}
    numeric = [any(pattern[at] for pattern in patterns) for at in range(len(columns))]
    steps_of_row = sum(NUMBER_STEPS if is_number else 1 for is_number in numeric)
    steps_of_row += STEPS_PER_ROW * len(columns) * len(patterns)
    found: dict[int, list[int]] = {}
    cells: list[Sequence[str]] = []
    for column in columns:
        texts = yield from as_texts(column_at(table.displayed, column))
        cells.append((yield from composed_texts(texts)))
    size = max(1, MOST_STEPS // steps_of_row)
    for start in range(FIRST_DATA_ROW - 1, table.last_row, size):
        block = range(start, min(start + size, table.last_row))
        yield steps_of_row * len(block)
        parts = [[*column[block.start : block.stop]] for column in cells]
        for part in parts:
            part += [""] * (len(block) - len(part))
        numbers = [
            [*map(_number, part)] if is_number else part
            for part, is_number in zip(parts, numeric, strict=True)
        ]
        for pattern in patterns:
            forms = [
                number if is_number else part
                for part, number, is_number in zip(parts, numbers, pattern, strict=True)
            ]
            for place_, key in enumerate(zip(*forms, strict=True), block.start):
                number = wanted.get(key)
                if number is not None:
                    found.setdefault(number, []).append(place_ + 1)
    return found


def _number(text: str) -> float | None:
    value = number_in(text)
    return None if value is None else float(value)


def _key_columns(by: ByKey, view: View) -> list[int]:
    columns = [view.find(name) for name in by.names]
    unknown = [name for name, column in zip(by.names, columns, strict=True) if column is None]
    if unknown:
        raise view.unknown_field("on_conflict", unknown)
    return [column for column in dict.fromkeys(columns) if column is not None]


def _key(placement: Placement, columns: Sequence[int], view: View, path: str) -> Key:
    values = [placement.cells.get(column) for column in columns]
    missing = [at for at, value in zip(columns, values, strict=True) if value in (None, "")]
    if missing:
        detail = "on_conflict names this field, so it needs a value."
        problems = [Problem(pointer(view.names[at], at=path), detail) for at in missing]
        raise InvalidBody(
            f"Nothing was written. First: {problems[0].pointer} - {detail}", problems=problems
        )
    return tuple(map(_key_part, values))


def _texts_of_key(placement: Placement, columns: Sequence[int]) -> tuple[tuple[int, str], ...]:
    return tuple(sorted((at, composed(key_text(placement.cells[at]))) for at in columns))


def _key_part(value: Stored) -> str | float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else composed(key_text(value))  # type: ignore[arg-type]


def _too_large(reason: str) -> WriteTooLarge:
    return WriteTooLarge(
        f"{reason} Nothing was written: narrow 'where', or write fewer rows or fields at once.",
        outcome="not_applied",
    )


def _listed(rows: Sequence[int]) -> str:
    shown = ", ".join(map(str, rows[:10]))
    return shown if len(rows) <= 10 else f"{shown} and {len(rows) - 10} more"
