"""Updates: the row is looked at, then only the named cells are written."""

from collections.abc import Mapping, Sequence

from gateway.rows import a1
from gateway.rows.header import Header, parse_header
from gateway.rows.record import Stored, changed_runs, place, text_at
from gateway.service.reading import check_names
from gateway.service.refusal import explaining, row_not_found
from gateway.service.sightings import Sightings
from gateway.service.worksheet import WorksheetRef, own_area, written_area
from gateway.service.writes import Written, written_record
from gateway.upstream.base import Sheets, Writing


class Updater:
    def __init__(self, sheets: Sheets, sightings: Sightings, *, ignore_unknown: bool) -> None:
        self._sheets = sheets
        self._sightings = sightings
        self._ignore_unknown = ignore_unknown

    async def update(self, ref: WorksheetRef, row: int, fields: Mapping[str, Stored]) -> Written:
        """Write the named cells of a row. 1 read + 1 write; 1 more read if the row is blank.

        No write if every field is what its cell displays already: a string, or null for nothing.
        """
        header, displayed = await self._look(ref, row)
        placement = place(fields, header, ignore_unknown=self._ignore_unknown)
        texts = {column: text_at(displayed, column) for column in placement.cells}
        writings = [
            Writing(
                range=a1.run_range(ref.title, row, column, column + len(values) - 1),
                rows=[values],
            )
            for column, values in changed_runs(placement.cells, displayed)
        ]
        if writings:
            texts |= await self._write(ref, row, writings)
        return written_record(row, placement, header, texts)

    async def _look(self, ref: WorksheetRef, row: int) -> tuple[Header, Sequence[object]]:
        """The header and the displayed cells of the row, of one moment."""
        ranges = [a1.header_range(ref.title), a1.row_range(ref.title, row)]
        async with explaining(self._sheets, ref, row=row):
            top, own = await self._sheets.read_ranges(ref.spreadsheet, ranges)
        own_area(ref, own.range)
        header = parse_header(top.cells[0] if top.cells else ())
        check_names(header)
        known = self._sightings.last(ref)
        if known is not None and known.header.cells != header.cells:
            self._sightings.forget(ref)
        displayed = own.cells[0] if own.cells else ()
        if not any(displayed):
            await self._check_rows_follow(ref, row)
        return header, displayed

    async def _check_rows_follow(self, ref: WorksheetRef, row: int) -> None:
        """A blank row is a row only if a row that is not blank comes after it."""
        async with explaining(self._sheets, ref, row=row):
            below = await self._sheets.read_ranges(ref.spreadsheet, [a1.rows_from(ref.title, row)])
        if not any(any(cells) for cells in below[0].cells):
            raise row_not_found(row)

    async def _write(
        self, ref: WorksheetRef, row: int, writings: Sequence[Writing]
    ) -> dict[int, str]:
        """Write, and give what the written cells display now, by column."""
        try:
            async with explaining(self._sheets, ref, row=row):
                answers = await self._sheets.write_cells(ref.spreadsheet, writings)
        finally:
            if any(value == "" for writing in writings for value in writing.rows[0]):
                # The worksheet may have a new last row now; no look from before knows it.
                self._sightings.forget(ref)
        texts: dict[int, str] = {}
        for writing, values in zip(writings, answers, strict=True):
            first = written_area(ref, values.range).first_column
            shown = values.cells[0] if values.cells else ()
            for offset in range(len(writing.rows[0])):
                texts[first + offset] = text_at(shown, offset)
        return texts
