"""Plan writes: find the cells that creates and updates write, by a look at the worksheet.

Pure but for the look at the rows of updates, which costs 1 read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from gateway.errors import (
    LookOutdated,
    PreconditionFailed,
    RowNotFound,
    SheetTooLarge,
    UpstreamRefusal,
    WriteTooLarge,
)
from gateway.google.call_context import recording_sent_at
from gateway.google.sheets import Render, SheetArea, Sheets, SheetView
from gateway.table import a1
from gateway.table.header import Header, parse_header
from gateway.table.patch import RowPatch
from gateway.table.record import (
    Placement,
    Stored,
    changed_runs,
    check_has_value,
    new_row,
    place,
    row_record,
    text_at,
)
from gateway.table.steps import Work, mapped
from gateway.table.table import FIRST_DATA_ROW
from gateway.table.tag import IfMatch
from gateway.table.view import View
from gateway.worksheets.loader import OtherTab, check_names, read_tab
from gateway.worksheets.refusal import explain, row_not_found, tabs_changing
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import WorksheetId, own_sheet
from gateway.worksheets.writes import (
    ByKey,
    Fields,
    Outcome,
    Results,
    Write,
    Written,
    told_if_new,
    written_row,
)

FRESH_LOOK_SECONDS = 1.0
"""A look is at most so old when an update is sent."""

MAX_LOOKS = 3
"""Looks at rows of which some turn out to be past the grid."""

MAX_TARGET_CELLS = 500_000
"""Cells of the rows that writes look at."""

MAX_COMPARED = 16

UPDATE_STEPS = 24
"""Steps per field of a row, from its name to the cell that changes."""

MOST_STEPS = 16_384
"""Steps of a block, about 1 ms."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NewRows:
    """Rows to append whose values have found their columns; `rows` are the cells from column A."""

    view: View
    placements: Sequence[Placement]
    rows: Sequence[list[Stored]]

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(column for each in self.placements for column in each.cells)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowChange:
    """A row to update whose values have found their cells; `displayed` is the row as we saw it.

    A row to empty has no placement.
    """

    row: int
    view: View
    placement: Placement
    displayed: Sequence[str]
    runs: Sequence[tuple[int, list[Stored]]]

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(self.placement.cells)

    @property
    def is_emptied(self) -> bool:
        """True if the row is emptied in place of being removed."""
        return not self.placement.cells

    @cached_property
    def values(self) -> Mapping[int, Stored]:
        """The written values by column, in ascending order."""
        return {column + at: value for column, run in self.runs for at, value in enumerate(run)}

    @property
    def cells(self) -> list[Stored]:
        """The written cells of the row from column A; None leaves a cell as it is."""
        cells: list[Stored] = []
        for column, run in self.runs:
            cells += [None] * (column - len(cells))
            cells += run
        return cells


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """A write that can be sent: what it changes, appends or removes.

    `slots` are its results in order: one that is known already, a change, or the number of an
    appended row, from 0.
    """

    index: int
    write: Write
    slots: Sequence[Written | RowChange | int]
    changes: Sequence[RowChange] = ()
    created: NewRows | None = None
    removed: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The rows to remove, as they are displayed."""
    new_keys: Sequence[tuple[tuple[int, str], ...]] = ()
    """Columns and texts of the keys of rows that an upsert appends."""
    compared: frozenset[int] = frozenset()
    """The columns by which its rows were found, at most `MAX_COMPARED`."""

    @property
    def columns(self) -> frozenset[int]:
        """The columns that it writes to."""
        created = self.created.columns if self.created else frozenset()
        return created.union(*(change.columns for change in self.changes))

    @property
    def rows(self) -> Sequence[int]:
        """The existing rows that it changes or removes."""
        return [*self.removed, *(change.row for change in self.changes)]

    @property
    def has_condition(self) -> bool:
        """True if its row has to have the tag of an `If-Match`."""
        condition = self.write.condition
        return condition is not None and not condition.is_any

    @property
    def is_conditional(self) -> bool:
        """True if it is only meant for the records that it was planned for."""
        if self.write.kind == "search":
            return bool(self.compared)  # a filter of row numbers compares none
        return self.has_condition

    @property
    def is_exclusive(self) -> bool:
        """True if nothing may be written to the worksheet while its outcome is open."""
        return bool(self.removed) or (self.write.kind == "search" and self.created is not None)

    def results(self, changed: Mapping[RowChange, Written], created: Results) -> Results:
        results: list[Written] = []
        is_by_key = isinstance(self.write.selector, ByKey)
        for slot in self.slots:
            if isinstance(slot, Written):
                results.append(slot)
                continue
            result = created[slot] if isinstance(slot, int) else changed[slot]
            if is_by_key:
                result = told_if_new(result, is_new=isinstance(slot, int))
            results.append(result)
        return tuple(results)


@dataclass(frozen=True, kw_only=True)
class RowLook:
    """The header and the displayed cells of the rows that exist, of one moment.

    `missing` are the requested rows that do not exist, `around` the rows next to the requested
    ones, if they were wanted. `sent_at` is in monotonic seconds.
    """

    sheet_id: int
    header: Header
    rows: Mapping[int, Sequence[str]]
    missing: frozenset[int]
    sent_at: float
    around: Mapping[int, Sequence[str]] = field(default_factory=dict)
    frozen_rows: int = 0
    grid_rows: int = 0


@dataclass(frozen=True, kw_only=True)
class Planner:
    """`clears`: a delete empties its row, so that no other row moves."""

    ignore_unknown: bool
    clears: bool = False

    def create(self, index: int, create: Write, header: Header) -> Work[Planned]:
        rows = yield from self.new_rows(create, header)
        slots = range(len(rows.rows))
        return Planned(index=index, write=create, slots=slots, created=rows)

    def lacks_fields(self, header: Header, creates: Iterable[Write]) -> bool:
        """True if creates name fields that the header does not have."""
        return not self.ignore_unknown and any(
            view.find(name) is None
            for create in creates
            for view in [header.seen_with(create.access.columns)]
            for fields in create.rows or ()
            for name in fields
        )

    def by_number(self, index: int, write: Write, look: RowLook) -> Work[Planned]:
        """A write to rows by their numbers; it changes nothing if all rows have its values."""
        view = write.view(look.header)
        for row in write.numbers:
            _check_row(row, write.condition, view, look)
        if write.rows is None:
            removed = {row: look.rows[row] for row in write.numbers}
            return (yield from self.removal(index, write, (), removed, look.header))

        def slot(each: tuple[int, tuple[int, Fields]]) -> Written | RowChange:
            number, (row, fields) = each
            path = write.path(number)
            placement = place(fields, view, ignore_unknown=self.ignore_unknown, at=path)
            return row_change(row, placement, view, look.rows[row], has_tag=write.has_tag)

        slots = yield from mapped(
            slot,
            enumerate(zip(write.numbers, write.rows, strict=True)),
            lambda each: UPDATE_STEPS * len(each[1][1]),
            MOST_STEPS,
        )
        changes = [slot for slot in slots if isinstance(slot, RowChange)]
        return Planned(index=index, write=write, slots=slots, changes=changes)

    def removal(
        self,
        index: int,
        write: Write,
        slots: Sequence[Written],
        rows: Mapping[int, Sequence[str]],
        header: Header,
    ) -> Work[Planned]:
        """A write that removes rows, or empties them; `rows` are their displayed cells."""
        if not self.clears:
            return Planned(index=index, write=write, slots=slots, removed=rows)

        def emptied(row: int) -> RowChange:
            return RowChange(
                row=row,
                view=header.whole,
                placement=Placement(cells={}),
                displayed=rows[row],
                runs=[(0, [""] * max(len(header.cells), len(rows[row])))],
            )

        changes = yield from mapped(emptied, rows, lambda row: len(header.cells), MOST_STEPS)
        return Planned(index=index, write=write, slots=slots, changes=changes)

    def new_rows(self, create: Write, header: Header) -> Work[NewRows]:
        view = create.view(header)

        def placed(each: tuple[int, Fields]) -> Placement:
            number, fields = each
            path = create.path(number)
            placement = place(fields, view, ignore_unknown=self.ignore_unknown, at=path)
            check_has_value(placement.cells.values(), at=path)
            return placement

        placements = yield from mapped(
            placed,
            enumerate(create.rows or ()),
            lambda each: UPDATE_STEPS * len(each[1]),
            MOST_STEPS,
        )
        rows = yield from mapped(
            lambda each: new_row(each.cells), placements, lambda each: len(each.cells), MOST_STEPS
        )
        return NewRows(view=view, placements=placements, rows=rows)


def row_change(
    row: int,
    placement: Placement,
    view: View,
    displayed: Sequence[str],
    *,
    kept: frozenset[int] = frozenset(),
    has_tag: bool = False,
) -> Written | RowChange:
    """The change of a row, but for the columns `kept`; its result, if it has all values."""
    cells = {at: value for at, value in placement.cells.items() if at not in kept}
    runs = changed_runs(cells, displayed)
    if not runs:
        return written_row(row, placement, view, displayed, has_tag=has_tag)
    return RowChange(row=row, view=view, placement=placement, displayed=displayed, runs=runs)


def _check_row(row: int, condition: IfMatch | None, view: View, look: RowLook) -> None:
    """Raise RowNotFound or PreconditionFailed, which shows the row as the view has it."""
    if row not in look.rows:
        raise row_not_found(row)
    if condition is None:
        return
    displayed = look.rows[row]
    tag = view.tag(row, displayed)
    if not condition.holds(tag):
        existing = row_record(row, view.select(None), displayed)
        raise PreconditionFailed(existing, tag=tag, has_tags=condition.tags != frozenset())


async def look_at_rows(
    sheets: Sheets, worksheet: Worksheet, rows: Sequence[int], *, around: int = 0
) -> RowLook:
    """Look at the header and some rows. 1 read; 1 more if one of them is blank.

    A row past the grid costs 1 read more, 3 if it is not alone. `around`: how many rows above and
    below each of them are read too. If the title goes to another tab in between, all is looked at
    again.
    """
    for _ in range(MAX_LOOKS):
        look = await _look(sheets, worksheet, rows, around=around)
        last = _last_filled(look)
        doubtful = [row for row in look.rows if row > last]
        if doubtful:  # a blank row exists only if a row that is not blank comes after it
            area = SheetArea(look.sheet_id, min(doubtful))
            try:
                last = max(last, await _last_row(sheets, worksheet.id, area))
            except OtherTab:
                continue
        existing = {row: texts for row, texts in look.rows.items() if row <= last}
        return replace(look, rows=existing, missing=frozenset(rows) - existing.keys())
    raise tabs_changing()


async def _look(
    sheets: Sheets, worksheet: Worksheet, rows: Sequence[int], *, around: int
) -> RowLook:
    """The header and the rows in the grid, blank ones too."""
    moment, began = worksheet.moment(), worksheet.now()
    found: Sequence[int] = sorted(rows)
    grid_of: int | None = None
    for _ in range(MAX_LOOKS):  # people may remove rows between a look at the grid and the next
        spans = row_spans(found, around=around)
        try:
            with recording_sent_at() as sent:
                view = await _read_rows(sheets, worksheet.id, spans)
            if grid_of is None or grid_of == view.sheet_id:
                break
            found, grid_of = sorted(rows), None  # the grid was that of another tab
            continue
        except SheetTooLarge as too_large:
            raise (_too_many_cells() if len(rows) > 1 else _too_much_text()) from too_large
        except UpstreamRefusal as refusal:
            error = await explain(sheets, worksheet.id, refusal, row=found[-1])
            if not isinstance(error, RowNotFound):
                raise error from refusal
        grid_of, found = await _rows_in_grid(sheets, worksheet.id, found)
        if not found:
            return _nothing_found(worksheet, rows)
    else:
        raise LookOutdated
    header = header_of(view)
    sent_at = sent.at_seconds or began
    worksheet.header.compare(header, as_of=moment)
    worksheet.header.seen_sheet(view, sent_at)
    check_names(header)
    shown = rows_in(view, spans)
    displayed = {row: shown[row] for row in found if row in shown}
    if len(rows) > 1 and sum(map(len, shown.values())) > MAX_TARGET_CELLS:
        raise _too_many_cells()
    worksheet.saw(header, shown)
    return RowLook(
        sheet_id=view.sheet_id,
        header=header,
        rows=displayed,
        missing=frozenset(rows) - displayed.keys(),
        sent_at=sent_at,
        around={row: texts for row, texts in shown.items() if row not in displayed},
        frozen_rows=view.frozen_rows,
        grid_rows=view.rows,
    )


async def look_again(
    sheets: Sheets,
    worksheet: Worksheet,
    scheduler: Scheduler,
    header: Header,
    sheet_id: int,
    writes: Sequence[Planned],
    *,
    around: int,
) -> RowLook | None:
    """A look at the rows of planned writes; None if it does not show what they were planned by.

    1 read. A condition counts for the whole row, a filter or key for the columns that it compares;
    otherwise the columns that are written count. `around` as in `look_at_rows`.
    """
    rows = sorted({row for each in writes for row in each.rows})
    spans = row_spans(rows, around=around)
    moment, began = worksheet.moment(), worksheet.now()
    try:
        with recording_sent_at() as sent:
            view = await _read_rows(sheets, worksheet.id, spans)
    except SheetTooLarge as too_large:
        raise (_too_many_cells() if len(rows) > 1 else _too_much_text()) from too_large
    except UpstreamRefusal as refusal:
        error = await explain(sheets, worksheet.id, refusal, row=max(rows, default=1))
        if isinstance(error, RowNotFound):
            return None
        raise error from refusal
    now = header_of(view)
    worksheet.header.compare(now, as_of=moment)
    shown = rows_in(view, spans)
    worksheet.saw(now, shown)
    if (now.cells, view.sheet_id) != (header.cells, sheet_id):
        return None
    if not await scheduler.build(_are_unchanged(writes, shown)):
        return None
    return RowLook(
        sheet_id=sheet_id,
        header=header,
        rows=shown,
        missing=frozenset(),
        sent_at=sent.at_seconds or began,
    )


def _are_unchanged(writes: Sequence[Planned], shown: Mapping[int, Sequence[str]]) -> Work[bool]:
    """True if the rows of writes are as they were planned by, as far as the writes depend on it."""
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
    return True


def note_unchanged(
    worksheet: Worksheet, planned: Iterable[Planned], outcomes: Iterable[Outcome], look: RowLook
) -> None:
    """Note rows whose update changes nothing: no later answer may show an older row than theirs."""
    answered = chain(
        *(each.slots for each in planned),
        *(each for each in outcomes if not isinstance(each, Exception)),
    )
    rows = sorted({each.row for each in answered if isinstance(each, Written)})
    if rows:
        patches = [RowPatch(row=row, texts={}) for row in rows]
        before = {row: look.rows[row] for row in rows}
        worksheet.written(Effect(header=look.header, rows=patches, before=before))


def _too_many_cells() -> WriteTooLarge:
    return WriteTooLarge(
        f"The rows of this request have more than {MAX_TARGET_CELLS:,} cells, or too much text. "
        "Nothing was written: name fewer rows in one request.",
        outcome="not_applied",
    )


def _too_much_text() -> WriteTooLarge:
    return WriteTooLarge(
        "The row of this request is larger than what the gateway reads at once. Nothing was "
        "written: ask the gateway's operator to raise google.max_answer_bytes.",
        outcome="not_applied",
    )


def header_of(view: SheetView) -> Header:
    """The header, which is the first block of a view."""
    return parse_header(view.blocks[0].texts[0] if view.blocks[0].texts else ())


def row_spans(rows: Sequence[int], *, around: int) -> Sequence[tuple[int, int]]:
    """First and last row of each group of neighbours among ascending data rows.

    `around`: how many rows above and below belong to a group.
    """
    spans: list[tuple[int, int]] = []
    for row in rows:
        first, last = max(FIRST_DATA_ROW, row - around), row + around
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], last)
        else:
            spans.append((first, last))
    return spans


def rows_in(view: SheetView, spans: Sequence[tuple[int, int]]) -> Mapping[int, Sequence[str]]:
    """The rows of the spans that are in the grid, blank ones too, by their number."""
    return {
        row: block.texts[row - first] if row - first < len(block.texts) else ()
        for block, (first, last) in zip(view.blocks[1:], spans, strict=True)
        for row in range(first, min(last, view.rows) + 1)
    }


async def _read_rows(
    sheets: Sheets, worksheet: WorksheetId, spans: Sequence[tuple[int, int]]
) -> SheetView:
    """The header and spans of rows."""
    title = worksheet.title
    ranges = [a1.header_range(title), *(a1.rows_between(title, *span) for span in spans)]
    view = await sheets.read_sheet(worksheet.spreadsheet, ranges, has_values=False)
    return own_sheet(worksheet, view)


async def _rows_in_grid(
    sheets: Sheets, worksheet: WorksheetId, rows: Sequence[int]
) -> tuple[int | None, Sequence[int]]:
    """The sheet id of the tab with the title, and the rows in its grid. 1 read, 0 for one row."""
    if len(rows) == 1:  # it was refused
        return None, ()
    worksheets = await sheets.list_worksheets(worksheet.spreadsheet)
    for sheet in worksheets:
        if sheet.title == worksheet.title:
            return sheet.sheet_id, [row for row in rows if row <= sheet.rows]
    return None, ()


def _nothing_found(worksheet: Worksheet, rows: Sequence[int]) -> RowLook:
    return RowLook(
        sheet_id=0,
        header=parse_header(()),
        rows={},
        missing=frozenset(rows),
        sent_at=worksheet.now(),
    )


def _last_filled(look: RowLook) -> int:
    """The last row of a look that is not blank."""
    seen = chain(look.rows.items(), look.around.items())
    return max((row for row, texts in seen if any(texts)), default=0)


async def _last_row(sheets: Sheets, worksheet: WorksheetId, area: SheetArea) -> int:
    """The last row of an area that is not blank; 0 if all are. 1 read. Raises `OtherTab`."""
    below = await read_tab(sheets, worksheet, area, render=Render.DISPLAYED)
    columns = () if below is None else below.columns
    return area.first_row + max(map(len, columns)) - 1 if columns else 0
