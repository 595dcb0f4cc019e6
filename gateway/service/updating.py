"""Updates: the rows are looked at, then only the named cells are written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.errors import GatewayError, RowNotFound, UpstreamRefusal
from gateway.rows import a1
from gateway.rows.header import ROW_INDEX, Header, parse_header
from gateway.rows.record import Placement, Stored, changed_runs, place, text_at
from gateway.rows.tag import row_tag
from gateway.service.culprits import MAX_EXTRA_WRITES, separate
from gateway.service.ledger import Ledger, Sending
from gateway.service.reading import check_names
from gateway.service.refusal import SHEET_WIDE, explain, explaining, row_not_found
from gateway.service.settling import Settler
from gateway.service.sightings import Sightings
from gateway.service.ticket import Ticket
from gateway.service.worksheet import WorksheetRef, own_area, written_area
from gateway.service.writes import Outcome, Update, written_row
from gateway.upstream.base import Sheets, Values, Writing
from gateway.write_errors import PreconditionFailed, WriteOutcomeUnknown

_NAMED = re.compile(r"data\[(\d+)\]")
"""Where Google's refusal of a batch says which of its parts is to blame."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """An update whose values have found their cells; `displayed` is the row as we saw it."""

    index: int
    row: int
    ticket: Ticket | None
    placement: Placement
    displayed: Sequence[str]
    runs: Sequence[tuple[int, list[Stored]]]


class Updater:
    def __init__(
        self,
        sheets: Sheets,
        sightings: Sightings,
        settler: Settler,
        ledger: Ledger,
        *,
        ignore_unknown: bool,
    ) -> None:
        self._sheets = sheets
        self._sightings = sightings
        self._settler = settler
        self._ledger = ledger
        self._ignore_unknown = ignore_unknown

    async def update(self, ref: WorksheetRef, updates: Sequence[Update]) -> Sequence[Outcome]:
        """Write the named cells of rows. 1 read + 1 write; 1 more read if one of them is blank.

        No write if every field is what its cell displays already: a string, or null for nothing.
        A row past the grid costs 1 read more, 3 where it is not alone.
        """
        outcomes: dict[int, Outcome] = {}
        header, rows = await self._look(ref, sorted({update.row for update in updates}))
        parts: list[_Part] = []
        for index, update in enumerate(updates):
            try:
                parts.append(self._part(index, update, header, rows))
            except GatewayError as error:
                outcomes[index] = error
        unchanged = [part for part in parts if not part.runs]
        changing = [part for part in parts if part.runs]
        for part in unchanged:
            outcomes[part.index] = _result(part, header, {})
        if changing:
            sent = await self._send_all(ref, header, changing)
            outcomes |= {part.index: outcome for part, outcome in sent.items()}
        return [outcomes[index] for index in range(len(updates))]

    def _part(
        self, index: int, update: Update, header: Header, rows: Mapping[int, Sequence[str]]
    ) -> _Part:
        if update.row not in rows:
            raise row_not_found(update.row)
        displayed = rows[update.row]
        tag = row_tag(header.cells, displayed)
        if update.condition is not None and not update.condition.holds(tag):
            raise PreconditionFailed(_record(update.row, header, displayed), tag=tag)
        placement = place(update.fields, header, ignore_unknown=self._ignore_unknown)
        runs = changed_runs(placement.cells, displayed)
        return _Part(
            index=index,
            row=update.row,
            ticket=update.ticket,
            placement=placement,
            displayed=displayed,
            runs=runs,
        )

    async def _look(
        self, ref: WorksheetRef, rows: Sequence[int]
    ) -> tuple[Header, Mapping[int, Sequence[str]]]:
        """The header and the displayed cells of the rows that are there, of one moment."""
        moment = self._sightings.moment()
        try:
            top, *found = await self._read(ref, rows)
        except UpstreamRefusal as refusal:
            error = await explain(self._sheets, ref, refusal, row=rows[-1])
            if not isinstance(error, RowNotFound):
                raise error from refusal
            rows = await self._rows_in_grid(ref, rows) if len(rows) > 1 else ()
            if not rows:
                return parse_header(()), {}
            async with explaining(self._sheets, ref, row=rows[-1]):
                top, *found = await self._read(ref, rows)
        header = parse_header(top.cells[0] if top.cells else ())
        self._sightings.compare(ref, header, as_of=moment)
        check_names(header)
        displayed = {
            row: [text_at(cells, column) for column in range(len(cells))]
            for row, values in zip(rows, found, strict=True)
            for cells in [values.cells[0] if values.cells else ()]
        }
        return header, await self._those_that_are_rows(ref, displayed)

    async def _read(self, ref: WorksheetRef, rows: Sequence[int]) -> list[Values]:
        ranges = [a1.header_range(ref.title), *(a1.row_range(ref.title, row) for row in rows)]
        found = await self._sheets.read_ranges(ref.spreadsheet, ranges)
        own_area(ref, found[-1].range)
        return found

    async def _rows_in_grid(self, ref: WorksheetRef, rows: Sequence[int]) -> Sequence[int]:
        worksheets = await self._sheets.list_worksheets(ref.spreadsheet)
        heights = {worksheet.title: worksheet.rows for worksheet in worksheets}
        return [row for row in rows if row <= heights.get(ref.title, 0)]

    async def _those_that_are_rows(
        self, ref: WorksheetRef, displayed: Mapping[int, Sequence[str]]
    ) -> Mapping[int, Sequence[str]]:
        """A blank row is a row only if a row that is not blank comes after it."""
        blank = {row for row, texts in displayed.items() if not any(texts)}
        last = max(displayed.keys() - blank, default=0)
        doubtful = [row for row in blank if row > last]
        if doubtful:
            first = min(doubtful)
            async with explaining(self._sheets, ref, row=first):
                (below,) = await self._sheets.read_ranges(
                    ref.spreadsheet, [a1.rows_from(ref.title, first)]
                )
            filled = [offset for offset, cells in enumerate(below.cells) if any(cells)]
            last = first + filled[-1] if filled else last
        return {row: texts for row, texts in displayed.items() if row not in blank or row < last}

    async def _send_all(
        self, ref: WorksheetRef, header: Header, parts: Sequence[_Part]
    ) -> Mapping[_Part, Outcome]:
        """Send the updates; those that Google refuses by name are left out, one after the other."""
        outcomes: dict[_Part, Outcome] = {}
        left = list(parts)
        tries = MAX_EXTRA_WRITES
        while left:
            try:
                return outcomes | dict(await self._send(ref, header, left))
            except UpstreamRefusal as refusal:
                culprit = _culprit(left, refusal)
                row = 1 if culprit is None else culprit.row
                error = await explain(self._sheets, ref, refusal, row=row)
                if isinstance(error, SHEET_WIDE):
                    raise error from refusal
                if culprit is None:
                    return outcomes | dict(await self._separated(ref, header, left, error, tries))
                outcomes[culprit] = error
                left.remove(culprit)
                if tries == 0:
                    refused = UpstreamRefusal(refusal.google_message)
                    return outcomes | dict.fromkeys(left, refused)
                tries -= 1
        return outcomes

    async def _separated(
        self,
        ref: WorksheetRef,
        header: Header,
        parts: Sequence[_Part],
        refusal: GatewayError,
        tries: int,
    ) -> Mapping[_Part, Outcome]:
        async def send(some: Sequence[_Part]) -> Mapping[_Part, Outcome]:
            return await self._send(ref, header, some)

        values = {part: [*part.placement.cells.values()] for part in parts}
        return await separate(values, send, refusal, tries=tries)

    async def _send(
        self, ref: WorksheetRef, header: Header, parts: Sequence[_Part]
    ) -> Mapping[_Part, Outcome]:
        """Write the cells of all parts in one call, and find what their rows display now."""
        await self._ledger.sending([_sending(part) for part in parts])
        try:
            results = await self._written(ref, header, parts)
        except WriteOutcomeUnknown as error:
            results = await self._settled(ref, header, parts, error)
        for part in parts:
            self._sightings.note_rows(ref, header, part.row, 1)
        return results

    async def _settled(
        self,
        ref: WorksheetRef,
        header: Header,
        parts: Sequence[_Part],
        error: WriteOutcomeUnknown,
    ) -> Mapping[_Part, Outcome]:
        """Look what became of a write, and send it again if all is as it was before."""
        writings = [writing for part in parts for writing in _writings(ref, part)]
        looked_at = {part.row: part.displayed for part in parts}
        displayed = await self._settler.settle_update(ref, header, looked_at, writings, error=error)
        if displayed is not None:
            rows = [(part, displayed[part.row]) for part in parts]
            return {
                part: (written_row(part.row, part.placement, header, texts),)
                for part, texts in rows
            }
        try:
            return await self._written(ref, header, parts)
        except GatewayError as again:
            if error.was_answered:
                raise
            raise error from again  # the first one may still land

    async def _written(
        self, ref: WorksheetRef, header: Header, parts: Sequence[_Part]
    ) -> Mapping[_Part, Outcome]:
        writings = [writing for part in parts for writing in _writings(ref, part)]
        try:
            answers = iter(await self._sheets.write_cells(ref.spreadsheet, writings))
        finally:
            if any(value == "" for writing in writings for value in writing.rows[0]):
                # The worksheet may have a new last row now; no look from before knows it.
                self._sightings.forget(ref)
        return {
            part: _result(part, header, _texts(ref, part, [next(answers) for _ in part.runs]))
            for part in parts
        }


def _sending(part: _Part) -> Sending:
    """What is written of a row, from column A; None is a cell that is left as it is."""
    row: list[Stored] = [None] * (part.runs[-1][0] + len(part.runs[-1][1]))
    for column, values in part.runs:
        row[column : column + len(values)] = values
    return Sending(part.ticket, part.row, [row])


def _writings(ref: WorksheetRef, part: _Part) -> list[Writing]:
    return [
        Writing(
            range=a1.run_range(ref.title, part.row, column, column + len(values) - 1),
            rows=[values],
        )
        for column, values in part.runs
    ]


def _culprit(parts: Sequence[_Part], refusal: UpstreamRefusal) -> _Part | None:
    """The part that Google's refusal names by the number of its range, or the only one."""
    named = _NAMED.search(refusal.google_message)
    owners = [part for part in parts for _ in part.runs]
    if named is None or int(named[1][:9]) >= len(owners):
        return parts[0] if len(parts) == 1 else None
    return owners[int(named[1])]


def _texts(ref: WorksheetRef, part: _Part, answers: Sequence[Values]) -> Mapping[int, str]:
    """What the written cells display now, by column."""
    texts: dict[int, str] = {}
    for (_, values), answer in zip(part.runs, answers, strict=True):
        first = written_area(ref, answer.range).first_column
        shown = answer.cells[0] if answer.cells else ()
        texts |= {first + offset: text_at(shown, offset) for offset in range(len(values))}
    return texts


def _result(part: _Part, header: Header, texts: Mapping[int, str]) -> Outcome:
    """The answer for a row, some of whose cells display other texts now."""
    width = max([len(part.displayed), *(column + 1 for column in texts)])
    displayed = [texts.get(column, text_at(part.displayed, column)) for column in range(width)]
    return (written_row(part.row, part.placement, header, displayed),)


def _record(row: int, header: Header, displayed: Sequence[str]) -> Mapping[str, object]:
    columns = header.columns.items()
    return {ROW_INDEX: row} | {name: text_at(displayed, at) or None for name, at in columns}
