"""Updates: look at the rows, then write only the named cells."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.errors import (
    GatewayError,
    InternalError,
    PreconditionFailed,
    RowNotFound,
    UpstreamError,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Sheets, Values, Writing
from gateway.table import a1
from gateway.table.header import Header, parse_header
from gateway.table.patch import RowPatch
from gateway.table.record import Placement, Stored, changed_runs, place, row_record, text_at
from gateway.table.view import View
from gateway.worksheets.bisection import MAX_EXTRA_WRITES, separate, undecided
from gateway.worksheets.idempotency import Ledger, Sending
from gateway.worksheets.input import RAW, Input
from gateway.worksheets.loader import check_names
from gateway.worksheets.reconciliation import Reconciler
from gateway.worksheets.refusal import SHEET_WIDE, explain, explaining, row_not_found
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import WorksheetId, own_area, written_area
from gateway.worksheets.writes import Outcome, Update, WriteIdentity, written_row


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


class Updater:
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

    async def update(self, worksheet: Worksheet, updates: Sequence[Update]) -> Sequence[Outcome]:
        """Write the named cells of rows. 1 read + 1 write; 1 more read if one of them is blank.

        No write if every field is what its cell displays already: a string, or null for nothing.
        A row past the grid costs 1 read more, 3 where it is not alone.
        """
        outcomes: dict[int, Outcome] = {}
        header, rows = await self._look(worksheet, sorted({update.row for update in updates}))
        parts: list[RowChange] = []
        for row in {update.row for update in updates} - rows.keys():
            worksheet.missed(row)
        for index, update in enumerate(updates):
            try:
                parts.append(self._part(index, update, header, rows))
            except GatewayError as error:
                outcomes[index] = error
        unchanged = [part for part in parts if not part.runs]
        changing = [part for part in parts if part.runs]
        for part in unchanged:
            outcomes[part.index] = result_of(part, {})
        if unchanged:  # their answers rest on our look: no later one may show an older row
            worksheet.written(effect_of(header, {part: {} for part in unchanged}))
        sent: dict[RowChange, Outcome] = {}
        try:
            await self._send_all(worksheet, header, changing, sent)
        except GatewayError as error:
            sent = dict.fromkeys(changing, error) | sent
        outcomes |= {part.index: outcome for part, outcome in sent.items()}
        return [outcomes[index] for index in range(len(updates))]

    def _part(
        self, index: int, update: Update, header: Header, rows: Mapping[int, Sequence[str]]
    ) -> RowChange:
        view = header.seen_with(update.access.columns)
        if update.row not in rows:
            raise row_not_found(update.row)
        displayed = rows[update.row]
        tag = view.tag(displayed)
        if update.condition is not None and not update.condition.holds(tag):
            existing = row_record(update.row, view.select(None), displayed)
            raise PreconditionFailed(existing, tag=tag)
        placement = place(update.fields, view, ignore_unknown=self._ignore_unknown)
        runs = [
            (column, self._input.prepare(update.access, values))
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

    async def _look(
        self, worksheet: Worksheet, rows: Sequence[int]
    ) -> tuple[Header, Mapping[int, Sequence[str]]]:
        """The header and the displayed cells of the rows that are there, of one moment."""
        moment = worksheet.header.moment()
        try:
            top, *found = await self._read(worksheet, rows)
        except UpstreamRefusal as refusal:
            error = await explain(self._sheets, worksheet.id, refusal, row=rows[-1])
            if not isinstance(error, RowNotFound):
                raise error from refusal
            rows = await self._rows_in_grid(worksheet, rows) if len(rows) > 1 else ()
            if not rows:
                return parse_header(()), {}
            async with explaining(self._sheets, worksheet.id, row=rows[-1]):
                top, *found = await self._read(worksheet, rows)
        header = parse_header(top.cells[0] if top.cells else ())
        worksheet.header.compare(header, as_of=moment)
        check_names(header)
        displayed = {
            row: [text_at(cells, column) for column in range(len(cells))]
            for row, values in zip(rows, found, strict=True)
            for cells in [values.cells[0] if values.cells else ()]
        }
        worksheet.saw(header, displayed)
        return header, await self._those_that_are_rows(worksheet, displayed)

    async def _read(self, worksheet: Worksheet, rows: Sequence[int]) -> list[Values]:
        ranges = [
            a1.header_range(worksheet.id.title),
            *(a1.row_range(worksheet.id.title, row) for row in rows),
        ]
        found = await self._sheets.read_ranges(worksheet.id.spreadsheet, ranges)
        own_area(worksheet.id, found[-1].range)
        return found

    async def _rows_in_grid(self, worksheet: Worksheet, rows: Sequence[int]) -> Sequence[int]:
        worksheets = await self._sheets.list_worksheets(worksheet.id.spreadsheet)
        heights = {sheet.title: sheet.rows for sheet in worksheets}
        return [row for row in rows if row <= heights.get(worksheet.id.title, 0)]

    async def _those_that_are_rows(
        self, worksheet: Worksheet, displayed: Mapping[int, Sequence[str]]
    ) -> Mapping[int, Sequence[str]]:
        """A blank row is a row only if a row that is not blank comes after it."""
        blank = {row for row, texts in displayed.items() if not any(texts)}
        last = max(displayed.keys() - blank, default=0)
        doubtful = [row for row in blank if row > last]
        if doubtful:
            first = min(doubtful)
            async with explaining(self._sheets, worksheet.id, row=first):
                (below,) = await self._sheets.read_ranges(
                    worksheet.id.spreadsheet, [a1.rows_from(worksheet.id.title, first)]
                )
            filled = [offset for offset, cells in enumerate(below.cells) if any(cells)]
            last = first + filled[-1] if filled else last
        return {row: texts for row, texts in displayed.items() if row not in blank or row < last}

    async def _send_all(
        self,
        worksheet: Worksheet,
        header: Header,
        parts: Sequence[RowChange],
        outcomes: dict[RowChange, Outcome],
    ) -> None:
        """Send the updates; those that Google refuses by name are left out, one after the other."""
        left = list(parts)
        tries = MAX_EXTRA_WRITES
        while left:
            try:
                outcomes.update(await self._send(worksheet, header, left))
                return
            except UpstreamRefusal as refusal:
                culprit = culprit_among(left, refusal)
                row = 1 if culprit is None else culprit.row
                error = await explain(self._sheets, worksheet.id, refusal, row=row)
                if isinstance(error, SHEET_WIDE):
                    raise error from refusal
                if culprit is None:
                    outcomes.update(await self._separated(worksheet, header, left, error, tries))
                    return
                outcomes[culprit] = error
                left.remove(culprit)
                if tries == 0:
                    outcomes.update(dict.fromkeys(left, undecided(refusal)))
                    return
                tries -= 1

    async def _separated(
        self,
        worksheet: Worksheet,
        header: Header,
        parts: Sequence[RowChange],
        refusal: GatewayError,
        tries: int,
    ) -> Mapping[RowChange, Outcome]:
        async def send(some: Sequence[RowChange]) -> Mapping[RowChange, Outcome]:
            return await self._send(worksheet, header, some)

        values = {part: [*part.placement.cells.values()] for part in parts}
        return await separate(values, send, refusal, tries=tries)

    async def _send(
        self, worksheet: Worksheet, header: Header, parts: Sequence[RowChange]
    ) -> Mapping[RowChange, Outcome]:
        """Write the cells of all parts in one call, and find what their rows display now."""
        parts, unnoted = await self._noted(parts)
        if not parts:
            return unnoted
        try:
            results = await self._written(worksheet, header, parts)
        except WriteOutcomeUnknown as error:
            results = await self._settled(worksheet, header, parts, error)
        for part in parts:
            worksheet.header.note_rows(header, part.row, 1)
        return {**unnoted, **results}

    async def _noted(
        self, parts: Sequence[RowChange]
    ) -> tuple[Sequence[RowChange], Mapping[RowChange, Outcome]]:
        """Note the parts with an Idempotency-Key; those that cannot be noted must not be sent."""
        try:
            await self._ledger.sending([sending_of(part) for part in parts])
        except InternalError as error:
            unkeyed = [part for part in parts if part.identity is None]
            return unkeyed, {part: error for part in parts if part.identity is not None}
        return parts, {}

    async def _settled(
        self,
        worksheet: Worksheet,
        header: Header,
        parts: Sequence[RowChange],
        error: WriteOutcomeUnknown,
    ) -> Mapping[RowChange, Outcome]:
        """Look what became of a write, and send it again if all is as it was before."""
        found = await self._found(worksheet, header, parts, error)
        if found is not None:
            return found
        try:
            await self._ledger.sending([sending_of(part) for part in parts])
            return await self._written(worksheet, header, parts)
        except GatewayError as again:
            if not error.was_answered:
                raise error from again  # the first one may still land
            if not isinstance(again, WriteOutcomeUnknown) or not again.was_answered:
                raise
            found = await self._found(worksheet, header, parts, again)
            if found is not None:
                return found
            raise UpstreamError(
                "Google failed twice, and nothing was written. Send it again.",
                outcome="not_applied",
            ) from again

    async def _found(
        self,
        worksheet: Worksheet,
        header: Header,
        parts: Sequence[RowChange],
        error: WriteOutcomeUnknown,
    ) -> Mapping[RowChange, Outcome] | None:
        """The rows of an open write, if it is there; None if all is as it was before."""
        writings = [writing for part in parts for writing in writings_of(worksheet.id, part)]
        looked_at = {part.row: part.displayed for part in parts}
        displayed = await self._reconciler.settle_update(
            worksheet.id, header, looked_at, writings, error=error
        )
        if displayed is None:
            return None
        worksheet.forget()
        rows = [(part, displayed[part.row]) for part in parts]
        return {
            part: (written_row(part.row, part.placement, part.view, texts),) for part, texts in rows
        }

    async def _written(
        self, worksheet: Worksheet, header: Header, parts: Sequence[RowChange]
    ) -> Mapping[RowChange, Outcome]:
        writings = [writing for part in parts for writing in writings_of(worksheet.id, part)]
        try:
            answers = iter(await self._sheets.write_cells(worksheet.id.spreadsheet, writings))
        except GatewayError as error:
            if error.outcome != "not_applied":
                worksheet.may_be_written()
            raise
        finally:
            if any(value == "" for writing in writings for value in writing.rows[0]):
                # The worksheet may have a new last row now; no look from before knows it.
                worksheet.header.forget()
        try:
            texts = {
                part: texts_of(worksheet.id, part, [next(answers) for _ in part.runs])
                for part in parts
            }
        except GatewayError:
            worksheet.forget()  # something was written somewhere
            raise
        effect = replace(effect_of(header, texts), keeps_values=self._input.keeps_values)
        worksheet.written(effect)
        return {part: result_of(part, texts[part]) for part in parts}


_NAMED = re.compile(r"data\[(\d+)\]")
"""Where Google's refusal of a batch says which of its parts is to blame."""


def sending_of(part: RowChange) -> Sending:
    """The written cells of a row, from column A; None leaves a cell as it is."""
    row: list[Stored] = [None] * (part.runs[-1][0] + len(part.runs[-1][1]))
    for column, values in part.runs:
        row[column : column + len(values)] = values
    return Sending(part.identity, part.row, [row])


def writings_of(worksheet: WorksheetId, part: RowChange) -> list[Writing]:
    return [
        Writing(
            range=a1.run_range(worksheet.title, part.row, column, column + len(values) - 1),
            rows=[values],
        )
        for column, values in part.runs
    ]


def culprit_among(parts: Sequence[RowChange], refusal: UpstreamRefusal) -> RowChange | None:
    """The part that Google's refusal names by the number of its range, or the only one."""
    named = _NAMED.search(refusal.google_message)
    owners = [part for part in parts for _ in part.runs]
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


def result_of(part: RowChange, texts: Mapping[int, str]) -> Outcome:
    """The answer for a row, some of whose cells display other texts now."""
    width = max([len(part.displayed), *(column + 1 for column in texts)])
    displayed = [texts.get(column, text_at(part.displayed, column)) for column in range(width)]
    return (written_row(part.row, part.placement, part.view, displayed),)


def effect_of(header: Header, texts: Mapping[RowChange, Mapping[int, str]]) -> Effect:
    """What updates left in the worksheet, by what their written cells display now."""
    patches = [
        RowPatch(row=part.row, texts=shown, values=_values(part)) for part, shown in texts.items()
    ]
    return Effect(header=header, rows=patches, before={part.row: part.displayed for part in texts})


def _values(part: RowChange) -> Mapping[int, Stored]:
    runs = ((column + at, value) for column, run in part.runs for at, value in enumerate(run))
    return dict(runs)
