"""Plan writes: find the cells that creates and updates write, by a look at the worksheet.

Pure but for the look at the rows of updates, which costs 1 read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.errors import (
    GatewayError,
    HeaderChanged,
    PreconditionFailed,
    RowNotFound,
    UpstreamRefusal,
)
from gateway.google.sheets import Sheets, SheetView
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
from gateway.table.view import View
from gateway.worksheets.input import Input
from gateway.worksheets.loader import check_names
from gateway.worksheets.refusal import explain, explaining, row_not_found
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import WorksheetId, own_sheet
from gateway.worksheets.writes import Create, Outcome, Results, Update, WriteIdentity, written_row

FRESH_LOOK_SECONDS = 1.0
"""A look is at most so old when an update is sent."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NewRows:
    """A create whose values have found their columns; `rows` are the cells from column A."""

    index: int
    create: Create
    view: View
    placements: Sequence[Placement]
    rows: Sequence[list[Stored]]

    @property
    def identity(self) -> WriteIdentity | None:
        return self.create.identity

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(column for each in self.placements for column in each.cells)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowChange:
    """An update whose values have found their cells; `displayed` is the row as we saw it."""

    index: int
    row: int
    identity: WriteIdentity | None
    view: View
    placement: Placement
    displayed: Sequence[str]
    runs: Sequence[tuple[int, list[Stored]]]

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(self.placement.cells)

    @property
    def values(self) -> Mapping[int, Stored]:
        """The written values by column."""
        return {column + at: value for column, run in self.runs for at, value in enumerate(run)}

    @property
    def cells(self) -> list[Stored]:
        """The written cells of the row from column A; None leaves a cell as it is."""
        values = self.values
        return [values.get(column) for column in range(max(values) + 1)]


@dataclass(frozen=True, kw_only=True)
class RowLook:
    """The header and the displayed cells of the rows that exist, of one moment.

    `missing` are the requested rows that do not exist. `answered_at` is in monotonic seconds.
    """

    sheet_id: int
    header: Header
    rows: Mapping[int, Sequence[str]]
    missing: frozenset[int]
    answered_at: float


@dataclass(frozen=True, kw_only=True)
class Planner:
    ignore_unknown: bool
    input: Input

    def new_rows(
        self, creates: Mapping[int, Create], header: Header
    ) -> tuple[list[NewRows], dict[int, Outcome]]:
        """The creates that can be sent, and the errors of the others by their index."""
        parts: list[NewRows] = []
        refused: dict[int, Outcome] = {}
        for index, create in creates.items():
            try:
                parts.append(self._new_rows(index, create, header))
            except GatewayError as error:
                refused[index] = error
        return parts, refused

    def row_changes(
        self, updates: Mapping[int, Update], look: RowLook
    ) -> tuple[list[RowChange], dict[int, Outcome]]:
        """The updates that change cells, and the results or errors of the others."""
        parts: list[RowChange] = []
        outcomes: dict[int, Outcome] = {}
        for index, update in updates.items():
            try:
                part = self._row_change(index, update, look)
            except GatewayError as error:
                outcomes[index] = error
            else:
                if part.runs:
                    parts.append(part)
                else:
                    outcomes[index] = update_result(part, {})
        return parts, outcomes

    def knows_fields(self, header: Header, creates: Mapping[int, Create]) -> bool:
        """True if the header has all fields of the creates, or unknown ones are ignored."""
        if self.ignore_unknown:
            return True
        views = ((header.seen_with(each.access.columns), each) for each in creates.values())
        return all(
            view.find(name) is not None
            for view, create in views
            for fields in create.rows
            for name in fields
        )

    def _new_rows(self, index: int, create: Create, header: Header) -> NewRows:
        view = header.seen_with(create.access.columns)
        placements = []
        for number, fields in enumerate(create.rows):
            path = create.path(number)
            placement = place(fields, view, ignore_unknown=self.ignore_unknown, at=path)
            check_has_value(placement.cells.values(), at=path)
            placements.append(placement)
        rows = [self.input(create.access, new_row(each.cells)) for each in placements]
        return NewRows(index=index, create=create, view=view, placements=placements, rows=rows)

    def _row_change(self, index: int, update: Update, look: RowLook) -> RowChange:
        view = look.header.seen_with(update.access.columns)
        if update.row not in look.rows:
            raise row_not_found(update.row)
        displayed = look.rows[update.row]
        tag = view.tag(displayed)
        if update.condition is not None and not update.condition.holds(tag):
            existing = row_record(update.row, view.select(None), displayed)
            raise PreconditionFailed(existing, tag=tag)
        placement = place(update.fields, view, ignore_unknown=self.ignore_unknown)
        runs = [
            (column, self.input(update.access, values))
            for column, values in changed_runs(placement.cells, displayed)
        ]
        return RowChange(
            index=index,
            row=update.row,
            identity=update.identity,
            view=view,
            placement=placement,
            displayed=displayed,
            runs=runs,
        )


async def look_at_rows(sheets: Sheets, worksheet: Worksheet, rows: Sequence[int]) -> RowLook:
    """Look at the header and some rows. 1 read; 1 more if one of them is blank, 2 if that is slow.

    A row past the grid costs 1 read more, 3 if it is not alone.
    """
    look = await _look(sheets, worksheet, rows)
    last = _last_filled(look)
    doubtful = [row for row in look.rows if row > last]
    if doubtful:  # a blank row exists only if a row that is not blank comes after it
        last = max(last, await _last_row(sheets, worksheet.id, min(doubtful)))
        if worksheet.header.now() - look.answered_at > FRESH_LOOK_SECONDS:
            look = await _look(sheets, worksheet, rows)
            last = max(last, _last_filled(look))
    existing = {row: texts for row, texts in look.rows.items() if row <= last}
    return replace(look, rows=existing, missing=frozenset(rows) - existing.keys())


async def _look(sheets: Sheets, worksheet: Worksheet, rows: Sequence[int]) -> RowLook:
    """The header and the rows in the grid, blank ones too."""
    moment = worksheet.header.moment()
    found: Sequence[int] = sorted(rows)
    try:
        view = await _read_rows(sheets, worksheet.id, found)
    except UpstreamRefusal as refusal:
        error = await explain(sheets, worksheet.id, refusal, row=found[-1])
        if not isinstance(error, RowNotFound):
            raise error from refusal
        found = await _rows_in_grid(sheets, worksheet.id, found) if len(found) > 1 else ()
        if not found:
            return _nothing_found(worksheet, rows)
        async with explaining(sheets, worksheet.id, row=found[-1]):
            view = await _read_rows(sheets, worksheet.id, found)
    top, *blocks = view.blocks
    header = parse_header(top.texts[0] if top.texts else ())
    answered_at = worksheet.header.seen_sheet(view.sheet_id)
    worksheet.header.compare(header, as_of=moment)
    check_names(header)
    displayed = {
        row: block.texts[0] if block.texts else () for row, block in zip(found, blocks, strict=True)
    }
    worksheet.saw(header, displayed)
    return RowLook(
        sheet_id=view.sheet_id,
        header=header,
        rows=displayed,
        missing=frozenset(rows) - displayed.keys(),
        answered_at=answered_at,
    )


def note_unchanged(
    worksheet: Worksheet,
    updates: Mapping[int, Update],
    outcomes: Mapping[int, Outcome],
    look: RowLook,
) -> None:
    """Note the updates that change nothing: no later answer may show an older row than theirs."""
    rows = {
        updates[index].row
        for index, outcome in outcomes.items()
        if not isinstance(outcome, Exception)
    }
    if rows:
        patches = [RowPatch(row=row, texts={}) for row in sorted(rows)]
        before = {row: look.rows[row] for row in rows}
        worksheet.written(Effect(header=look.header, rows=patches, before=before))


def create_results(part: NewRows, first_row: int, displayed: Sequence[Sequence[str]]) -> Results:
    """The answer of a create; `displayed` are the texts of its rows from column A."""
    return tuple(
        written_row(first_row + at, placement, part.view, displayed[at])
        for at, placement in enumerate(part.placements)
    )


def update_result(part: RowChange, texts: Mapping[int, str]) -> Results:
    """The answer of an update; `texts` are its cells that display other texts now, by column."""
    width = max([len(part.displayed), *(column + 1 for column in texts)])
    displayed = [texts.get(column, text_at(part.displayed, column)) for column in range(width)]
    return (written_row(part.row, part.placement, part.view, displayed),)


def header_changed(
    part: NewRows | RowChange, before: Header, after: Header, row: int
) -> HeaderChanged | None:
    """The error if a written column has another name than at the look."""
    if all(text_at(before.cells, at) == text_at(after.cells, at) for at in part.columns):
        return None
    return HeaderChanged(
        f"The values were written to row {row}, but somebody changed the worksheet's header at "
        "the same time: they may be under other names now. Look at the row, and do not send it "
        "again.",
        row=row,
    )


async def _read_rows(sheets: Sheets, worksheet: WorksheetId, rows: Sequence[int]) -> SheetView:
    ranges = [
        a1.header_range(worksheet.title),
        *(a1.row_range(worksheet.title, row) for row in rows),
    ]
    return own_sheet(worksheet, await sheets.read_sheet(worksheet.spreadsheet, ranges))


async def _rows_in_grid(
    sheets: Sheets, worksheet: WorksheetId, rows: Sequence[int]
) -> Sequence[int]:
    worksheets = await sheets.list_worksheets(worksheet.spreadsheet)
    heights = {sheet.title: sheet.rows for sheet in worksheets}
    return [row for row in rows if row <= heights.get(worksheet.title, 0)]


def _nothing_found(worksheet: Worksheet, rows: Sequence[int]) -> RowLook:
    return RowLook(
        sheet_id=0,
        header=parse_header(()),
        rows={},
        missing=frozenset(rows),
        answered_at=worksheet.header.now(),
    )


def _last_filled(look: RowLook) -> int:
    """The last row of a look that is not blank."""
    return max((row for row, texts in look.rows.items() if any(texts)), default=0)


async def _last_row(sheets: Sheets, worksheet: WorksheetId, row: int) -> int:
    """The last row from this one on that is not blank; 0 if all are. 1 read."""
    async with explaining(sheets, worksheet, row=row):
        (below,) = await sheets.read_ranges(
            worksheet.spreadsheet, [a1.rows_from(worksheet.title, row)]
        )
    filled = [offset for offset, cells in enumerate(below.cells) if any(cells)]
    return row + filled[-1] if filled else 0
