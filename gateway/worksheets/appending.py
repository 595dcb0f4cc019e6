"""Creates: append rows where the loader looked, and check where they landed.

Rules: the anchor is a cell, never the whole sheet, since a blank header or cell would send the
rows to other columns. It is the blank cell below the last row, which Google writes exactly there
or, if somebody was quicker, below their rows; rows are inserted, never written over. Where the
grid ends with the last row (every imported sheet), the anchor is the last row itself, under
which Google appends and grows the grid; if that row begins with a blank, the grid grows first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.errors import (
    GatewayError,
    InternalError,
    UpstreamError,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Sheets, Values
from gateway.table import a1
from gateway.table.header import Header
from gateway.table.patch import RowPatch
from gateway.table.record import Placement, Stored, check_has_value, new_row, place
from gateway.table.table import FIRST_DATA_ROW
from gateway.table.view import View
from gateway.telemetry.events import misplaced_write
from gateway.worksheets.bisection import MAX_EXTRA_WRITES, separate
from gateway.worksheets.header_cache import SheetExtent
from gateway.worksheets.idempotency import Ledger, stacked
from gateway.worksheets.input import RAW, Input
from gateway.worksheets.reconciliation import Reconciler, displayed_rows
from gateway.worksheets.refusal import SHEET_WIDE, explain
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import WorksheetId, written_area
from gateway.worksheets.writes import Create, Outcome, Results, written_row

GROWTH_ROWS = 100
"""Rows added to a full grid, so that growing stays rare."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """A create whose values have found their columns."""

    index: int
    create: Create
    view: View
    placements: Sequence[Placement]
    rows: Sequence[list[Stored]]


@dataclass(frozen=True, kw_only=True)
class AppendResult:
    """The row number of the first appended row, and what all of them display from column A."""

    first_row: int
    displayed: Sequence[Sequence[str]]

    def texts(self, index: int) -> Sequence[str]:
        """What one of the rows displays; blank cells at its end may be left out."""
        return self.displayed[index] if index < len(self.displayed) else ()


class Appender:
    def __init__(
        self,
        sheets: Sheets,
        reconciler: Reconciler,
        ledger: Ledger,
        *,
        ignore_unknown: bool,
        value_input: Input = RAW,
    ) -> None:
        self._sheets = sheets
        self._input = value_input
        self._reconciler = reconciler
        self._ledger = ledger
        self._ignore_unknown = ignore_unknown

    async def append(self, worksheet: Worksheet, creates: Sequence[Create]) -> Sequence[Outcome]:
        """Append all rows at once. 1 write if the header was seen just now, else 1 read + 1 write.

        A full grid whose last row begins with a blank costs 1 read + 1 write more. A refused
        group costs at most 4 more writes, and 1 read each time to learn why.
        """
        tries = MAX_EXTRA_WRITES
        seen = self._known(worksheet, creates)
        is_old = seen is not None
        while True:
            seen = seen or await worksheet.look()
            parts, refused = self._parts(worksheet, creates, seen)
            try:
                sent = await self._sent(worksheet, seen, parts, tries, is_old=is_old)
            except GatewayError as error:
                sent = dict.fromkeys(parts, error)
            if sent is not None:
                outcomes = refused | {part.index: outcome for part, outcome in sent.items()}
                return [outcomes[index] for index in range(len(creates))]
            seen, is_old, tries = None, False, tries - 1

    async def _sent(
        self,
        worksheet: Worksheet,
        seen: SheetExtent,
        parts: Sequence[_Part],
        tries: int,
        *,
        is_old: bool,
    ) -> Mapping[_Part, Outcome] | None:
        """Send placed rows; None if the look may be too old."""
        try:
            return await self._send(worksheet, seen, parts) if parts else {}
        except UpstreamRefusal as refusal:
            error = await explain(self._sheets, worksheet.id, refusal)
            if isinstance(error, SHEET_WIDE):
                raise error from refusal
            if is_old and isinstance(error, UpstreamRefusal):
                return None
            return await self._separated(worksheet, parts, error, tries)

    def _known(self, worksheet: Worksheet, creates: Sequence[Create]) -> SheetExtent | None:
        """The fresh extent, if its header has all fields of the creates."""
        seen = worksheet.header.fresh()
        if seen is None or self._ignore_unknown:
            return seen
        return seen if all(_knows_fields(seen.header, create) for create in creates) else None

    def _parts(
        self, worksheet: Worksheet, creates: Sequence[Create], seen: SheetExtent
    ) -> tuple[list[_Part], dict[int, Outcome]]:
        """The creates that can be sent, and why the others, by their index, cannot."""
        parts: list[_Part] = []
        refused: dict[int, Outcome] = {}
        for index, create in enumerate(creates):
            try:
                parts.append(self._part(index, create, seen.header))
            except GatewayError as error:
                refused[index] = error
        return parts, refused

    def _part(self, index: int, create: Create, header: Header) -> _Part:
        view = header.seen_with(create.access.columns)
        placements = []
        for number, fields in enumerate(create.rows):
            path = create.path(number)
            placement = place(fields, view, ignore_unknown=self._ignore_unknown, at=path)
            check_has_value(placement.cells.values(), at=path)
            placements.append(placement)
        rows = [self._input.prepare(create.access, new_row(each.cells)) for each in placements]
        return _Part(index=index, create=create, view=view, placements=placements, rows=rows)

    async def _separated(
        self, worksheet: Worksheet, parts: Sequence[_Part], refusal: GatewayError, tries: int
    ) -> Mapping[_Part, Outcome]:
        async def send(some: Sequence[_Part]) -> Mapping[_Part, Outcome]:
            seen = worksheet.header.fresh() or await worksheet.look()
            # The header may be another one by now.
            again, refused = self._parts(worksheet, [part.create for part in some], seen)
            sent = await self._send(worksheet, seen, again) if again else {}
            outcomes = refused | {part.index: outcome for part, outcome in sent.items()}
            return {part: outcomes[index] for index, part in enumerate(some)}

        values = {part: part.rows for part in parts}
        return await separate(values, send, refusal, tries=tries)

    async def _send(
        self, worksheet: Worksheet, seen: SheetExtent, parts: Sequence[_Part]
    ) -> Mapping[_Part, Outcome]:
        """Append the rows of all parts in one write, and find where they are."""
        seen = await self._with_room(worksheet, seen)
        parts, unnoted = await self._noted(seen, parts)
        if not parts:
            return unnoted
        rows = [row for part in parts for row in part.rows]
        anchor_row = min(seen.last_row + 1, seen.grid_rows)
        anchor = a1.cell_range(worksheet.id.title, anchor_row)
        try:
            values = await self._sheets.append_rows(worksheet.id.spreadsheet, anchor, rows)
        except WriteOutcomeUnknown as error:
            worksheet.header.forget()
            worksheet.may_be_written()
            append_result = await self._settled(worksheet, seen, parts, error)
        except GatewayError as error:
            if isinstance(error, UpstreamRefusal) or error.outcome != "not_applied":
                worksheet.header.forget()
                worksheet.may_be_written()
            raise
        else:
            worksheet.header.forget()
            append_result = self._checked(worksheet, values, rows, anchor_row)
            self._remember(worksheet, seen, rows, append_result)
        worksheet.header.note_rows(seen.header, append_result.first_row, len(rows))
        effect = _effect(seen.header, rows, append_result)
        worksheet.written(replace(effect, keeps_values=self._input.keeps_values))
        results = _results(parts, append_result)
        await self._ledger.landed(
            worksheet.id, [(part.create.identity, results[part]) for part in parts]
        )
        return {**unnoted, **results}

    def _checked(
        self, worksheet: Worksheet, values: Values, rows: Sequence[list[Stored]], anchor_row: int
    ) -> AppendResult:
        try:
            return check_append(worksheet.id, values, rows, anchor_row=anchor_row)
        except GatewayError:
            worksheet.forget()  # they are somewhere
            raise

    async def _noted(
        self, seen: SheetExtent, parts: Sequence[_Part]
    ) -> tuple[Sequence[_Part], Mapping[_Part, Outcome]]:
        """Note the parts with an Idempotency-Key; those that cannot be noted must not be sent."""
        notes = [(part.create.identity, part.rows) for part in parts]
        try:
            await self._ledger.sending(stacked(seen.last_row + 1, notes))
        except InternalError as error:
            unkeyed = [part for part in parts if part.create.identity is None]
            return unkeyed, {part: error for part in parts if part.create.identity is not None}
        return parts, {}

    async def _settled(
        self,
        worksheet: Worksheet,
        seen: SheetExtent,
        parts: Sequence[_Part],
        error: WriteOutcomeUnknown,
    ) -> AppendResult:
        """Where the rows of a write are whose outcome Google left open; its error, if nowhere."""
        rows = [row for part in parts for row in part.rows]
        first_row = await self._reconciler.settle_append(
            worksheet.id, rows, from_row=seen.last_row + 1, error=error
        )
        try:
            displayed = await displayed_rows(self._sheets, worksheet.id, first_row, len(rows))
        except UpstreamError:
            # They are taken all the same: no open create must think that they are its own.
            worksheet.forget()
            unseen = _results(parts, AppendResult(first_row=first_row, displayed=()))
            await self._ledger.landed(
                worksheet.id, [(None, results) for results in unseen.values()]
            )
            raise
        return AppendResult(first_row=first_row, displayed=displayed)

    def _remember(
        self,
        worksheet: Worksheet,
        seen: SheetExtent,
        rows: Sequence[Sequence[Stored]],
        append_result: AppendResult,
    ) -> None:
        """The new end of the worksheet, unless the end was not where it was seen."""
        last_row = append_result.first_row + len(rows) - 1
        if append_result.first_row > seen.last_row:
            worksheet.header.keep(
                replace(
                    seen,
                    last_row=last_row,
                    starts_blank=rows[-1][0] is None,
                    grid_rows=max(seen.grid_rows, last_row),
                    as_of=worksheet.header.moment(),
                ),
            )

    async def _with_room(self, worksheet: Worksheet, seen: SheetExtent) -> SheetExtent:
        """The extent, once the grid has grown if it has no cell to anchor at."""
        if seen.last_row < seen.grid_rows or not seen.starts_blank:
            return seen
        worksheets = await self._sheets.list_worksheets(worksheet.id.spreadsheet)
        try:
            for sheet in worksheets:
                if sheet.title == worksheet.id.title:
                    await self._sheets.grow_grid(
                        worksheet.id.spreadsheet, sheet.sheet_id, GROWTH_ROWS
                    )
        except WriteOutcomeUnknown as error:
            worksheet.header.forget()
            raise UpstreamError(
                "Google did not say whether the worksheet grew. The row was not written; send it "
                "again.",
                outcome="not_applied",
            ) from error
        grown = replace(
            seen, grid_rows=seen.grid_rows + GROWTH_ROWS, as_of=worksheet.header.moment()
        )
        worksheet.header.keep(grown)
        return grown


def _knows_fields(header: Header, create: Create) -> bool:
    view = header.seen_with(create.access.columns)
    return all(view.find(name) is not None for fields in create.rows for name in fields)


def _effect(
    header: Header, rows: Sequence[Sequence[Stored]], append_result: AppendResult
) -> Effect:
    """What an append left; what else its rows display (array formulas) counts as text for now."""
    patches = []
    for at, row in enumerate(rows):
        written = {column: value for column, value in enumerate(row) if value is not None}
        shown = {column: text for column, text in enumerate(append_result.texts(at)) if text}
        texts = dict.fromkeys(written, "") | shown
        patches.append(
            RowPatch(row=append_result.first_row + at, texts=texts, values={**shown, **written})
        )
    return Effect(header=header, rows=patches)


def _results(parts: Sequence[_Part], append_result: AppendResult) -> Mapping[_Part, Results]:
    """The answers of creates whose rows are one under the other."""
    results: dict[_Part, Results] = {}
    done = 0
    for part in parts:
        results[part] = tuple(
            written_row(append_result.first_row + at, placement, part.view, append_result.texts(at))
            for at, placement in enumerate(part.placements, start=done)
        )
        done += len(part.placements)
    return results


def check_append(
    worksheet: WorksheetId, values: Values, rows: Sequence[Sequence[Stored]], *, anchor_row: int
) -> AppendResult:
    """The place of the rows; UpstreamError, `applied`, if it is not where they were sent."""
    area = written_area(worksheet, values.range)
    named = [[column for column, value in enumerate(row) if value is not None] for row in rows]
    # Whether Google's echo counts cells that were skipped at the start is not known.
    filled = (min(columns[0] for columns in named), max(columns[-1] for columns in named))
    is_in_columns = (area.first_column, area.last_column) in {(0, filled[1]), filled}
    # At the anchor itself also where it was the last row: a person may have emptied it since.
    first_row = max(anchor_row, FIRST_DATA_ROW)
    is_below = first_row <= area.first_row
    if not is_in_columns or not is_below or area.last_row != area.first_row + len(rows) - 1:
        misplaced_write(f"{len(rows)} rows, columns {filled}, from row {first_row}", values.range)
        others = "" if len(rows) == 1 else " with rows of others,"
        raise UpstreamError(
            f"Google put the row elsewhere than asked,{others} at {area.first_row}:{area.last_row} "
            "of the worksheet. It is there; move it, and do not send it again.",
            outcome="applied",
        )
    left = [""] * area.first_column
    displayed = [
        [*left, *("" if cell is None else str(cell) for cell in line)] for line in values.cells
    ]
    return AppendResult(first_row=area.first_row, displayed=displayed)
