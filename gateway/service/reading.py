"""Looks at worksheets: whole tables for reads, and the little that an append must know."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from gateway.errors import NoHeaderRow, UpstreamRefusal
from gateway.observe import header_trouble
from gateway.rows import a1
from gateway.rows.evaluate import check_fields
from gateway.rows.header import ROW_INDEX, Header, parse_header
from gateway.rows.query import Query
from gateway.rows.record import text_at
from gateway.rows.table import Column, Table, make_table
from gateway.service.refusal import explaining
from gateway.service.sightings import Sighting, Sightings
from gateway.service.worksheet import WorksheetRef, own_area
from gateway.upstream.base import Dimension, Render, Sheets


class Reader:
    """Reads worksheets and remembers what was seen of their headers and ends."""

    def __init__(self, sheets: Sheets, sightings: Sightings, clock: Callable[[], float]) -> None:
        self._sheets = sheets
        self._sightings = sightings
        self._clock = clock

    async def displayed_table(self, ref: WorksheetRef) -> Table:
        """The whole worksheet as it displays itself. 1 read."""
        table, _ = await self._survey(ref)
        return table

    async def typed_table(self, ref: WorksheetRef, query: Query) -> Table:
        """Both halves of the worksheet. 2 reads, 1 if the query names a field that is none.

        The halves are read side by side if a recent look knew all fields of the query. Two
        more reads if the sheet changed between the two.
        """
        if self._knows_fields(ref, query):
            return await self._both_halves(ref)
        table = await self.displayed_table(ref)
        check_fields(query, table.header)
        typed, _ = await self._read_half(ref, Render.TYPED)
        return await self._both_halves(ref) if table.is_torn(typed) else table.with_typed(typed)

    async def look(self, ref: WorksheetRef) -> Sighting:
        """The header and the end of the worksheet as they are now. 1 read.

        One more read if an earlier look's last row is blank by now: rows were deleted.
        """
        known = self._sightings.last(ref)
        seen = None if known is None else await self._look_again(ref, known)
        if seen is None:
            _, seen = await self._survey(ref)
        return seen

    async def _survey(self, ref: WorksheetRef) -> tuple[Table, Sighting]:
        """The displayed half, and what an append needs of it. 1 read."""
        started, moment = self._clock(), self._sightings.moment()
        columns, grid_rows = await self._read_half(ref, Render.DISPLAYED)
        table = make_table(columns)
        self._sightings.compare(ref, table.header, as_of=moment)
        self._check_header(ref, table.header)
        sighting = Sighting(
            header=table.header,
            last_row=table.last_row,
            starts_blank=not table.text(table.last_row, 0),
            grid_rows=grid_rows,
            header_as_of=started,
            as_of=moment,
        )
        self._sightings.keep(ref, sighting)
        return table, sighting

    async def _look_again(self, ref: WorksheetRef, known: Sighting) -> Sighting | None:
        """Header and end by way of a known last row; None if that does not settle it."""
        started, moment = self._clock(), self._sightings.moment()
        ranges = [a1.header_range(ref.title), a1.rows_from(ref.title, known.last_row)]
        try:
            top, end = await self._sheets.read_ranges(ref.spreadsheet, ranges)
        except UpstreamRefusal:  # the grid ends above the known row
            return None
        header = parse_header(top.cells[0] if top.cells else ())
        area = own_area(ref, end.range)
        self._sightings.compare(ref, header, as_of=moment)
        self._check_header(ref, header)
        filled = [index for index, row in enumerate(end.cells) if any(row)]
        if not filled:
            return None
        sighting = replace(
            known,
            header=header,
            last_row=known.last_row + filled[-1],
            starts_blank=not text_at(end.cells[filled[-1]], 0),
            grid_rows=area.last_row,
            header_as_of=started,
            as_of=moment,
        )
        self._sightings.keep(ref, sighting)
        return sighting

    async def _both_halves(self, ref: WorksheetRef) -> Table:
        """Both halves read side by side; once more if they are of different states. 2-4 reads."""
        table, typed = await self._halves(ref)
        if table.is_torn(typed):
            table, typed = await self._halves(ref)
        return table.with_typed(typed)

    async def _halves(self, ref: WorksheetRef) -> tuple[Table, Sequence[Column]]:
        table, (typed, _) = await asyncio.gather(
            self.displayed_table(ref), self._read_half(ref, Render.TYPED)
        )
        return table, typed

    async def _read_half(self, ref: WorksheetRef, render: Render) -> tuple[Sequence[Column], int]:
        """The columns of the whole worksheet, and how many rows its grid has."""
        async with explaining(self._sheets, ref):
            values = await self._sheets.read_values(
                ref.spreadsheet,
                a1.rows_from(ref.title, 1),
                render=render,
                dimension=Dimension.COLUMNS,
            )
        return values.cells, own_area(ref, values.range).last_row

    def _knows_fields(self, ref: WorksheetRef, query: Query) -> bool:
        sighting = self._sightings.fresh(ref)
        return sighting is not None and all(
            name == ROW_INDEX or sighting.header.find(name) is not None
            for _, name in query.fields()
        )

    def _check_header(self, ref: WorksheetRef, header: Header) -> None:
        """NoHeaderRow if row 1 names no field; tells of duplicates once per header."""
        check_names(header)
        known = self._sightings.last(ref)
        if header.duplicates() and (known is None or known.header.cells != header.cells):
            header_trouble(ref.spreadsheet, ref.title, header.duplicates())


def check_names(header: Header) -> None:
    """NoHeaderRow if the header names no field."""
    if not header.columns:
        raise NoHeaderRow(
            "Row 1 of the worksheet names no field. Put the field names into its first row."
        )
