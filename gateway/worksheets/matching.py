"""Plan writes by filter and upserts: find their rows among all rows of the worksheet.

Rules: the rows are those of one moment. A batch takes as many writes as can be carried out one
after the other with the same result; the others are planned again after it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product, zip_longest

from gateway.errors import (
    DuplicateKey,
    GatewayError,
    InvalidBody,
    Problem,
    QueryTooCostly,
    TooManyRowsAffected,
)
from gateway.query.query import Query, condition_fields
from gateway.table.cells import number_in
from gateway.table.record import Placement, Stored, key_text, new_row, place
from gateway.table.steps import OutOfSteps, Work, blocks
from gateway.table.table import FIRST_DATA_ROW, Table, column_at
from gateway.table.view import ROW_INDEX, View
from gateway.worksheets.access import Access
from gateway.worksheets.group import MAX_ROWS
from gateway.worksheets.planning import NewRows, Planned, Planner, RowChange, told_if_new
from gateway.worksheets.search import Search
from gateway.worksheets.snapshot import Snapshot
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.writes import (
    DeleteWhere,
    Outcome,
    TableWrite,
    UpdateWhere,
    Upsert,
    Written,
    number_only,
    written_row,
)

Key = tuple[str | float, ...]
"""The values of an upsert's key fields: numbers, and the texts of everything else."""

STEPS_PER_ROW = 4


def needs_types(write: TableWrite) -> bool:
    """True if the typed rendering decides which rows are meant."""
    if isinstance(write, Upsert):
        return False
    return any(name != ROW_INDEX for name in condition_fields(write.where))


@dataclass(kw_only=True)
class _Batch:
    """The writes of a batch so far, with the rows and columns that they change."""

    writes: list[Planned] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    removed: list[int] = field(default_factory=list)
    new_keys: set[tuple[tuple[int, str], ...]] = field(default_factory=set)

    def takes(self, planned: Planned, read_columns: frozenset[int | None]) -> bool:
        """Take a write, if those before it change nothing that it depends on, and leave it room.

        `read_columns` are the columns that decide which rows are meant; None: their numbers.
        """
        rows = {slot.row for slot in planned.slots if not isinstance(slot, int)}
        rows |= {*planned.removed, *(change.row for change in planned.changes)}
        if self.writes and (
            bool(planned.removed) != bool(self.removed)
            or (self.removed and None in read_columns)
            or not read_columns.isdisjoint(self.columns)
            or not rows.isdisjoint(self.rows)
            or len(rows) + len(self.rows) > MAX_ROWS
            or (self.new_keys and not self._are_others(planned, read_columns))
        ):
            return False
        if self.removed:  # they went before
            slots = [self._moved(slot) for slot in planned.slots]
            planned = replace(planned, slots=slots)
        self.writes.append(planned)
        self.rows |= rows
        self.columns |= {at for change in planned.changes for at in change.values}
        self.removed = sorted([*self.removed, *planned.removed])
        self.new_keys |= {*planned.new_keys}
        return True

    def _are_others(self, planned: Planned, read_columns: frozenset[int | None]) -> bool:
        """True if no row that was added so far is meant by this write."""
        columns = {frozenset(column for column, _ in key) for key in self.new_keys}
        return (
            isinstance(planned.write, Upsert)
            and columns == {read_columns}
            and self.new_keys.isdisjoint(planned.new_keys)
        )

    def _moved(self, slot: Written | RowChange | int) -> Written | RowChange | int:
        if not isinstance(slot, Written):
            return slot
        return number_only(slot.row - bisect_left(self.removed, slot.row))


@dataclass(frozen=True, kw_only=True)
class Matching:
    planner: Planner
    search: Search

    async def plan(
        self, worksheet: Worksheet, snapshot: Snapshot, writes: Mapping[int, TableWrite]
    ) -> tuple[Sequence[Planned], dict[int, Outcome]]:
        """The writes that one batch can carry out, and the results or errors of others."""
        batch, outcomes = _Batch(), dict[int, Outcome]()
        table = snapshot.table
        for index, write in writes.items():
            view = table.header.seen_with(write.access.columns)
            try:
                if isinstance(write, Upsert):
                    planned = await self._upsert(worksheet, table, view, index, write)
                    read_columns = frozenset(map(view.find, write.keys))
                else:
                    planned = await self._by_filter(worksheet, table, view, index, write)
                    read_columns = frozenset(map(view.find, condition_fields(write.where)))
            except GatewayError as error:
                outcomes[index] = error
                continue
            if planned.changes or planned.created or planned.removed:
                batch.takes(planned, read_columns)
            else:
                outcomes[index] = planned.results({}, ())
        return batch.writes, outcomes

    async def _by_filter(
        self,
        worksheet: Worksheet,
        table: Table,
        view: View,
        index: int,
        write: UpdateWhere | DeleteWhere,
    ) -> Planned:
        query = Query(where=write.where, limit=write.max_rows, wants_total=True)
        page = await self.search.page(worksheet, table, query, write.access, is_write=True)
        if page.total is not None and page.total > write.max_rows:
            raise TooManyRowsAffected(
                f"{page.total} rows match, and this request may change at most {write.max_rows}. "
                "Narrow 'where', or raise max-affected as far as the key's plan allows.",
                outcome="not_applied",
            )
        if isinstance(write, DeleteWhere):
            slots = [number_only(row) for row in page.rows]
            rows = {row: _texts(table, row) for row in page.rows}
            return self.planner.removal(index, write, slots, rows, table.header)
        placement = place(write.fields, view, ignore_unknown=self.planner.ignore_unknown)
        changes = [
            self.planner.row_change(row, placement, view, _texts(table, row)) for row in page.rows
        ]
        return Planned(
            index=index,
            write=write,
            slots=[number_only(row, placement.ignored) for row in page.rows],
            changes=[each for each in changes if isinstance(each, RowChange)],
        )

    async def _upsert(
        self, worksheet: Worksheet, table: Table, view: View, index: int, upsert: Upsert
    ) -> Planned:
        columns = _key_columns(upsert, view)
        placements = [
            place(
                fields,
                view,
                ignore_unknown=self.planner.ignore_unknown,
                at=upsert.path(number),
            )
            for number, fields in enumerate(upsert.rows)
        ]
        keys = [_key(each, columns, upsert.path(at)) for at, each in enumerate(placements)]
        found = await self._rows_of(worksheet, table, columns, keys, upsert.access)
        slots: list[Written | RowChange | int] = []
        new: list[int] = []
        for number, placement in enumerate(placements):
            if number in found:
                slots.append(self._merged(upsert, table, view, found[number], placement, columns))
            else:
                slots.append(len(new))
                new.append(number)
        created = None
        if new:
            created = NewRows(
                view=view,
                placements=[placements[number] for number in new],
                rows=[new_row(placements[number].cells) for number in new],
            )
        return Planned(
            index=index,
            write=upsert,
            slots=slots,
            changes=[slot for slot in slots if isinstance(slot, RowChange)],
            created=created,
            new_keys=[
                tuple(sorted((at, key_text(placements[number].cells[at])) for at in columns))
                for number in new
            ],
        )

    def _merged(
        self,
        upsert: Upsert,
        table: Table,
        view: View,
        row: int,
        placement: Placement,
        keys: Sequence[int],
    ) -> Written | RowChange:
        """The change of an existing row, or the row if it stays as it is."""
        displayed = _texts(table, row)
        if not upsert.merges:
            return told_if_new(written_row(row, placement, view, displayed), is_new=False)
        change = self.planner.row_change(row, placement, view, displayed, kept=frozenset(keys))
        return told_if_new(change, is_new=False) if isinstance(change, Written) else change

    async def _rows_of(
        self,
        worksheet: Worksheet,
        table: Table,
        columns: Sequence[int],
        keys: Sequence[Key],
        access: Access,
    ) -> Mapping[int, int]:
        """The row of each key that the worksheet has, by the key's number."""
        wanted = {key: number for number, key in enumerate(keys)}
        try:
            found = await self.search.run(
                worksheet, table, _matched(table, columns, wanted), access.key_id, is_write=True
            )
        except OutOfSteps:
            raise QueryTooCostly(
                f"The worksheet has too many rows ({table.last_row - 1:,}) to find those of an "
                "upsert in the steps that a request may take."
            ) from None
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
    """The rows of each wanted key; a number equals every text that displays it."""
    are_numbers = [any(isinstance(key[at], float) for key in wanted) for at in range(len(columns))]
    found: dict[int, list[int]] = {}
    cells = [column_at(table.displayed, column) for column in columns]
    for block in blocks(FIRST_DATA_ROW - 1, table.last_row):
        yield STEPS_PER_ROW * len(columns) * len(block)
        parts = [column[block.start : block.stop] for column in cells]
        for place_, texts in enumerate(zip_longest(*parts, fillvalue=""), block.start):
            for key in _forms(texts, are_numbers):
                number = wanted.get(key)
                if number is not None:
                    found.setdefault(number, []).append(place_ + 1)
    return found


def _forms(texts: tuple[object, ...], are_numbers: Sequence[bool]) -> Iterator[Key]:
    if not any(are_numbers):
        yield texts  # type: ignore[misc]
        return
    forms: list[list[str | float]] = []
    for text, may_be_number in zip(texts, are_numbers, strict=True):
        shown = text if isinstance(text, str) else ""
        value = number_in(shown) if may_be_number else None
        forms.append([shown] if value is None else [shown, float(value)])
    yield from product(*forms)


def _key_columns(upsert: Upsert, view: View) -> list[int]:
    columns = [view.find(name) for name in upsert.keys]
    unknown = [name for name, column in zip(upsert.keys, columns, strict=True) if column is None]
    if unknown:
        raise view.unknown_field("on_conflict", unknown)
    return [column for column in dict.fromkeys(columns) if column is not None]


def _key(placement: Placement, columns: Sequence[int], path: str) -> Key:
    values = [placement.cells.get(column) for column in columns]
    if any(value is None or value == "" for value in values):
        detail = "A field that 'on_conflict' names is missing or blank."
        raise InvalidBody(detail, problems=[Problem(path, detail)])
    return tuple(map(_key_part, values))


def _key_part(value: Stored) -> str | float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else key_text(value)  # type: ignore[arg-type]


def _texts(table: Table, row: int) -> list[str]:
    return [table.text(row, column) for column in range(len(table.displayed))]


def _listed(rows: Sequence[int]) -> str:
    shown = ", ".join(map(str, rows[:10]))
    return shown if len(rows) <= 10 else f"{shown} and {len(rows) - 10} more"
