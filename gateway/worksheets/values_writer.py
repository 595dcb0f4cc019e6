"""Write groups of creates or updates with values calls, for `google.value_input = "user_entered"`.

Google parses the values as if a person typed them, which a batch with a fence cannot do. So an open
write stays open: it is never sent again and never guessed from content.

Rules of appends: the anchor is a cell, never the whole sheet, since a blank header or cell would
send the rows to other columns. It is the blank cell below the last row, which Google writes exactly
there or, if somebody was quicker, below their rows; rows are inserted, never written over. Where
the grid ends with the last row (every imported sheet), the anchor is the last row itself, under
which Google appends and grows the grid; if that row begins with a blank, the grid grows first.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.errors import (
    GatewayError,
    InternalError,
    RecordsUnavailable,
    UpstreamError,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Sheets, Values, Writing
from gateway.table import a1
from gateway.table.header import Header
from gateway.table.patch import RowPatch
from gateway.table.record import Stored, text_at
from gateway.table.table import FIRST_DATA_ROW
from gateway.telemetry.events import misplaced_write
from gateway.worksheets.header_cache import SheetExtent
from gateway.worksheets.idempotency import AppliedRows, Entry, Ledger, Sending, no_fence
from gateway.worksheets.planning import (
    NewRows,
    Planned,
    Planner,
    RowChange,
    create_results,
    look_at_rows,
    note_unchanged,
    update_result,
)
from gateway.worksheets.refusal import SHEET_WIDE, explain, undecided
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import WorksheetId, written_area
from gateway.worksheets.writes import Create, Outcome, Results, Update, Write

GROWTH_ROWS = 100
"""Rows added to a full grid, so that growing stays rare."""

MAX_EXTRA_WRITES = 4
"""Further writes of a refused group."""

_NAMED = re.compile(r"data\[(\d+)\]")
"""The range for which Google refuses a batch."""


@dataclass(frozen=True, kw_only=True)
class AppendResult:
    """The number of the first appended row, and the displayed texts of all from column A."""

    first_row: int
    displayed: Sequence[Sequence[str]]

    def texts(self, index: int) -> Sequence[str]:
        """The texts of one row; blank cells at its end may be left out."""
        return self.displayed[index] if index < len(self.displayed) else ()


class ValuesWriter:
    def __init__(self, sheets: Sheets, ledger: Ledger, planner: Planner) -> None:
        self._sheets = sheets
        self._ledger = ledger
        self._planner = planner

    async def write(self, worksheet: Worksheet, writes: Sequence[Write]) -> Sequence[Outcome]:
        """Carry out a group of creates or updates. To be awaited in the write queue."""
        creates = [each for each in writes if isinstance(each, Create)]
        if creates:
            return await self._create(worksheet, creates)
        updates = [each for each in writes if isinstance(each, Update)]
        return await self._update(worksheet, updates)

    async def _create(self, worksheet: Worksheet, creates: Sequence[Create]) -> Sequence[Outcome]:
        """Append all rows at once. 1 write if the header was seen just now, else 1 read + 1 write.

        A full grid whose last row begins with a blank costs 1 read + 1 write more. A refused
        group costs at most 4 more writes, and 1 read each time to learn why.
        """
        left: Mapping[int, Create] = dict(enumerate(creates))
        extent = worksheet.header.fresh()
        if extent is not None and not self._planner.knows_fields(extent.header, left):
            extent = None
        is_old = extent is not None
        extent = extent or await worksheet.look()
        parts, outcomes = self._planner.creates(left, extent.header)
        try:
            outcomes |= await self._append(worksheet, extent, parts)
        except UpstreamRefusal as refusal:
            error = await explain(self._sheets, worksheet.id, refusal)
            may_be_old = is_old and isinstance(error, UpstreamRefusal)
            if isinstance(error, SHEET_WIDE) or (len(parts) == 1 and not may_be_old):
                outcomes |= {part.index: error for part in parts}
            else:
                outcomes |= await self._append_singly(worksheet, parts)
        except GatewayError as failure:
            outcomes |= {part.index: failure for part in parts}
        return [outcomes[index] for index in range(len(creates))]

    async def _update(self, worksheet: Worksheet, updates: Sequence[Update]) -> Sequence[Outcome]:
        """Write the named cells of rows. 1 read + 1 write; 1 more read if one of them is blank.

        No write if every field is what its cell displays already: a string, or null for nothing.
        """
        look = await look_at_rows(self._sheets, worksheet, sorted({each.row for each in updates}))
        for row in look.missing:
            worksheet.missed(row)
        parts, outcomes = self._planner.updates(dict(enumerate(updates)), look)
        note_unchanged(worksheet, (), outcomes.values(), look)
        for _ in range(1 + MAX_EXTRA_WRITES):
            if not parts:
                break
            try:
                outcomes |= await self._write(worksheet, look.header, parts)
                parts = []
            except UpstreamRefusal as refusal:
                culprit = culprit_among(parts, refusal)
                row = 1 if culprit is None else culprit.changes[0].row
                error = await explain(self._sheets, worksheet.id, refusal, row=row)
                if isinstance(error, SHEET_WIDE):
                    outcomes |= {part.index: error for part in parts}
                    parts = []
                elif culprit is None:
                    break
                else:
                    outcomes[culprit.index] = error
                    parts.remove(culprit)
            except GatewayError as failure:
                outcomes |= {part.index: failure for part in parts}
                parts = []
        outcomes |= {part.index: undecided() for part in parts}
        return [outcomes[index] for index in range(len(updates))]

    async def resume(self, worksheet: Worksheet, write: Write, entry: Entry) -> AppliedRows | None:
        """Raises `WriteOutcomeUnknown`: without a fence nothing proves what became of a write."""
        raise no_fence()

    async def _append_singly(
        self, worksheet: Worksheet, parts: Sequence[Planned]
    ) -> Mapping[int, Outcome]:
        """Send the creates of a refused group one by one, as far as the writes go."""
        outcomes: dict[int, Outcome] = {part.index: undecided() for part in parts}
        for part in parts[:MAX_EXTRA_WRITES]:
            try:
                extent = worksheet.header.fresh() or await worksheet.look()
                creates = {part.index: part.write} if isinstance(part.write, Create) else {}
                again, refused = self._planner.creates(creates, extent.header)
                outcomes |= refused | await self._append(worksheet, extent, again)
            except UpstreamRefusal as refusal:
                outcomes[part.index] = await explain(self._sheets, worksheet.id, refusal)
            except GatewayError as error:
                outcomes[part.index] = error
        return outcomes

    async def _append(
        self, worksheet: Worksheet, extent: SheetExtent, parts: Sequence[Planned]
    ) -> dict[int, Outcome]:
        """Append the rows of all creates in one write."""
        if not parts:
            return {}
        extent = await self._with_room(worksheet, extent)
        sendings = [
            Sending(part.identity, extent.last_row + 1, new_rows(part).rows) for part in parts
        ]
        unnoted = await self._unnoted(parts, sendings)
        parts = [part for part in parts if part.index not in unnoted]
        if not parts:
            return unnoted
        rows = [row for part in parts for row in new_rows(part).rows]
        anchor_row = min(extent.last_row + 1, extent.grid_rows)
        anchor = a1.cell_range(worksheet.id.title, anchor_row)
        try:
            values = await self._sheets.append_rows(worksheet.id.spreadsheet, anchor, rows)
        except GatewayError as error:
            if isinstance(error, UpstreamRefusal) or error.outcome != "not_applied":
                worksheet.header.forget()
                worksheet.may_be_written()
            if isinstance(error, UpstreamRefusal):
                raise
            return unnoted | {part.index: error for part in parts}
        worksheet.header.forget()
        try:
            result = check_append(worksheet.id, values, rows, anchor_row=anchor_row)
        except GatewayError as error:
            worksheet.forget()  # they are somewhere
            return unnoted | {part.index: error for part in parts}
        self._remember(worksheet, extent, rows, result)
        worksheet.header.note_rows(extent.header, result.first_row, len(rows))
        worksheet.written(_append_effect(extent.header, rows, result))
        results = _results(parts, result)
        await self._ledger.completed(
            [(part.identity, results[part.index]) for part in parts if part.identity is not None]
        )
        return unnoted | results

    async def _write(
        self, worksheet: Worksheet, header: Header, parts: Sequence[Planned]
    ) -> dict[int, Outcome]:
        """Write the cells of all updates in one call."""
        sendings = [
            Sending(part.identity, change.row, [change.cells], [change.row])
            for part in parts
            for change in part.changes
        ]
        unnoted = await self._unnoted(parts, sendings)
        parts = [part for part in parts if part.index not in unnoted]
        if not parts:
            return unnoted
        changes = [change for part in parts for change in part.changes]
        writings = [writing for change in changes for writing in writings_of(worksheet.id, change)]
        try:
            answers = iter(await self._sheets.write_cells(worksheet.id.spreadsheet, writings))
        except GatewayError as error:
            if error.outcome != "not_applied":
                worksheet.may_be_written()
            if isinstance(error, UpstreamRefusal):
                raise
            return unnoted | {part.index: error for part in parts}
        finally:
            if any(value == "" for writing in writings for value in writing.rows[0]):
                # The worksheet may have a new last row now; no look from before knows it.
                worksheet.header.forget()
        try:
            texts = {
                change: texts_of(worksheet.id, change, [next(answers) for _ in change.runs])
                for change in changes
            }
        except GatewayError as error:
            worksheet.forget()  # something was written somewhere
            return unnoted | {part.index: error for part in parts}
        worksheet.written(_update_effect(header, texts))
        for change in changes:
            worksheet.header.note_rows(header, change.row, 1)
        done = {change: update_result(change, texts[change]) for change in changes}
        results = {part.index: part.results(done, ()) for part in parts}
        await self._ledger.completed(
            [(part.identity, results[part.index]) for part in parts if part.identity is not None]
        )
        return unnoted | results

    async def _unnoted(
        self, parts: Sequence[Planned], sendings: Sequence[Sending]
    ) -> dict[int, Outcome]:
        """Record the writes with an Idempotency-Key; the errors of those that cannot be."""
        try:
            await self._ledger.sending(sendings)
        except (InternalError, RecordsUnavailable) as error:
            return {part.index: error for part in parts if part.identity is not None}
        return {}

    def _remember(
        self,
        worksheet: Worksheet,
        extent: SheetExtent,
        rows: Sequence[Sequence[Stored]],
        result: AppendResult,
    ) -> None:
        """Keep the new end of the worksheet, unless the end was not where it was seen."""
        last_row = result.first_row + len(rows) - 1
        if result.first_row > extent.last_row:
            worksheet.header.keep(
                replace(
                    extent,
                    last_row=last_row,
                    starts_blank=rows[-1][0] is None,
                    grid_rows=max(extent.grid_rows, last_row),
                    as_of=worksheet.header.moment(),
                ),
            )

    async def _with_room(self, worksheet: Worksheet, extent: SheetExtent) -> SheetExtent:
        """The extent, once the grid has grown if it has no cell to anchor at."""
        if extent.last_row < extent.grid_rows or not extent.starts_blank:
            return extent
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
            extent, grid_rows=extent.grid_rows + GROWTH_ROWS, as_of=worksheet.header.moment()
        )
        worksheet.header.keep(grown)
        return grown


def writings_of(worksheet: WorksheetId, part: RowChange) -> list[Writing]:
    return [
        Writing(
            range=a1.run_range(worksheet.title, part.row, column, column + len(values) - 1),
            rows=[values],
        )
        for column, values in part.runs
    ]


def culprit_among(parts: Sequence[Planned], refusal: UpstreamRefusal) -> Planned | None:
    """The update that Google's refusal names by the number of its range, or the only one."""
    named = _NAMED.search(refusal.google_message)
    owners = [part for part in parts for change in part.changes for _ in change.runs]
    if named is None or int(named[1][:9]) >= len(owners):
        return parts[0] if len(parts) == 1 else None
    return owners[int(named[1])]


def texts_of(
    worksheet: WorksheetId, part: RowChange, answers: Sequence[Values]
) -> Mapping[int, str]:
    """What the written cells display now, by column."""
    texts: dict[int, str] = {}
    for (_, values), answer in zip(part.runs, answers, strict=True):
        first = written_area(worksheet, answer.range).first_column
        shown = answer.cells[0] if answer.cells else ()
        texts |= {first + offset: text_at(shown, offset) for offset in range(len(values))}
    return texts


def _append_effect(
    header: Header, rows: Sequence[Sequence[Stored]], result: AppendResult
) -> Effect:
    """The effect of an append; of the values only the displayed texts are known."""
    patches = []
    for at, row in enumerate(rows):
        written = {column: value for column, value in enumerate(row) if value is not None}
        shown = {column: text for column, text in enumerate(result.texts(at)) if text}
        texts = dict.fromkeys(written, "") | shown
        values = {column: text_at(result.texts(at), column) for column in texts}
        patches.append(RowPatch(row=result.first_row + at, texts=texts, values=values))
    return Effect(header=header, rows=patches, keeps_values=False)


def _update_effect(header: Header, texts: Mapping[RowChange, Mapping[int, str]]) -> Effect:
    return Effect(
        header=header,
        rows=[RowPatch(row=part.row, texts=shown, values=shown) for part, shown in texts.items()],
        before={part.row: part.displayed for part in texts},
        keeps_values=False,
    )


def new_rows(part: Planned) -> NewRows:
    if part.created is None:
        raise TypeError("a create appends rows")
    return part.created


def _results(parts: Sequence[Planned], result: AppendResult) -> dict[int, Results]:
    """The answers of creates whose rows are one under the other."""
    results: dict[int, Results] = {}
    done = 0
    for part in parts:
        rows = new_rows(part)
        texts = [result.texts(done + at) for at in range(len(rows.rows))]
        results[part.index] = create_results(rows, result.first_row + done, texts)
        done += len(rows.rows)
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
