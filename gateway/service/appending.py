"""Creates: a row is appended where we looked, and checked to be where it should.

Rules: the anchor is a cell, never the whole sheet, since a blank header or cell would send the
row to other columns. It is the blank cell below the last row, which Google writes exactly there
or, if somebody was quicker, below their rows; rows are inserted, never written over. Where the
grid ends with the last row (every imported sheet), the anchor is the last row itself, under
which Google appends and grows the grid; if that row begins with a blank, the grid grows first.
"""

from collections.abc import Mapping
from dataclasses import replace

from gateway.errors import (
    GatewayError,
    UpstreamError,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.observe import misplaced_write
from gateway.rows import a1
from gateway.rows.record import Placement, Stored, check_has_value, new_row, place, text_at
from gateway.rows.table import FIRST_DATA_ROW
from gateway.service.reading import Reader
from gateway.service.refusal import explain
from gateway.service.sightings import Sighting, Sightings
from gateway.service.worksheet import WorksheetRef, written_area
from gateway.service.writes import Written, written_record
from gateway.upstream.base import Sheets, Values

GROWTH_ROWS = 100
"""Rows added to a full grid, so that growing stays rare."""


class Appender:
    def __init__(
        self, sheets: Sheets, reader: Reader, sightings: Sightings, *, ignore_unknown: bool
    ) -> None:
        self._sheets = sheets
        self._reader = reader
        self._sightings = sightings
        self._ignore_unknown = ignore_unknown

    async def append(self, ref: WorksheetRef, fields: Mapping[str, Stored]) -> Written:
        """Append one row. 1 write if the header was seen just now, else 1 read + 1 write.

        A full grid whose last row begins with a blank costs 1 read + 1 write more.
        """
        known = self._sightings.fresh(ref)
        if known is not None and self._knows(known, fields):
            try:
                return await self._append_after(ref, known, fields)
            except UpstreamRefusal as refusal:
                error = await explain(self._sheets, ref, refusal)
                if not isinstance(error, UpstreamRefusal):
                    raise error from refusal
        return await self._append_looking(ref, fields)

    async def _append_looking(self, ref: WorksheetRef, fields: Mapping[str, Stored]) -> Written:
        seen = await self._reader.look(ref)
        try:
            return await self._append_after(ref, seen, fields)
        except UpstreamRefusal as refusal:
            raise await explain(self._sheets, ref, refusal) from refusal

    async def _append_after(
        self, ref: WorksheetRef, seen: Sighting, fields: Mapping[str, Stored]
    ) -> Written:
        placement = place(fields, seen.header, ignore_unknown=self._ignore_unknown)
        row = new_row(placement.cells)
        check_has_value(row)
        try:
            seen = await self._with_room(ref, seen)
            anchor = a1.cell_range(ref.title, _anchor_row(seen))
            values = await self._sheets.append_rows(ref.spreadsheet, anchor, [row])
        except GatewayError as error:
            if isinstance(error, UpstreamRefusal) or error.outcome != "not_applied":
                self._sightings.forget(ref)
            raise
        return self._verified(ref, seen, placement, row, values)

    async def _with_room(self, ref: WorksheetRef, seen: Sighting) -> Sighting:
        """The sighting, once the grid has grown if it has no cell to anchor at."""
        if seen.last_row < seen.grid_rows or not seen.starts_blank:
            return seen
        worksheets = await self._sheets.list_worksheets(ref.spreadsheet)
        try:
            for worksheet in worksheets:
                if worksheet.title == ref.title:
                    await self._sheets.grow_grid(ref.spreadsheet, worksheet.sheet_id, GROWTH_ROWS)
        except WriteOutcomeUnknown as error:
            raise UpstreamError(
                "Google did not say whether the worksheet grew. The row was not written; send it "
                "again.",
                outcome="not_applied",
            ) from error
        return replace(seen, grid_rows=seen.grid_rows + GROWTH_ROWS)

    def _verified(
        self,
        ref: WorksheetRef,
        seen: Sighting,
        placement: Placement,
        row: list[Stored],
        values: Values,
    ) -> Written:
        """What was written, once Google's answer shows that it is where it should be."""
        self._sightings.forget(ref)
        area = written_area(ref, values.range)
        named = [column for column, value in enumerate(row) if value is not None]
        # Whether Google's echo counts cells that were skipped at the start is not known.
        columns = {(0, len(row) - 1), (named[0], named[-1])}
        is_placed = (area.first_column, area.last_column) in columns
        # At the anchor itself also where it was the last row: a person may have emptied it since.
        anchor_row = max(_anchor_row(seen), FIRST_DATA_ROW)
        if not is_placed or not anchor_row <= area.first_row == area.last_row:
            misplaced_write(f"columns {sorted(columns)} from row {anchor_row}", values.range)
            raise UpstreamError(
                f"Google put the row elsewhere than asked, at {area.first_row}:{area.last_row} "
                "of the worksheet. It is there; move it, and do not send it again.",
                outcome="applied",
            )
        shown = values.cells[0] if values.cells else ()
        if area.first_row > seen.last_row:  # else the end is not where it was seen
            self._sightings.keep(
                ref,
                replace(
                    seen,
                    last_row=area.first_row,
                    starts_blank=row[0] is None,
                    grid_rows=max(seen.grid_rows, area.first_row),
                    as_of=self._sightings.moment(),
                ),
            )
        texts = {
            column: text_at(shown, column - area.first_column) if column >= named[0] else ""
            for column in placement.cells
        }
        return written_record(area.first_row, placement, seen.header, texts)

    def _knows(self, seen: Sighting, fields: Mapping[str, Stored]) -> bool:
        """Whether the header has all fields, so that none of them asks for a new look."""
        return self._ignore_unknown or all(seen.header.find(name) is not None for name in fields)


def _anchor_row(seen: Sighting) -> int:
    return min(seen.last_row + 1, seen.grid_rows)
