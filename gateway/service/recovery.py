"""Finding what an open record speaks of: rows that an earlier request may have written.

Rules: rows that were acknowledged to others are not ours, however alike they look. A look proves
that something is there, or was not there as it began; what people did meanwhile it cannot tell.
"""

from collections.abc import Mapping, Sequence

from gateway.errors import RowNotFound, UpstreamRefusal
from gateway.rows import a1
from gateway.rows.header import parse_header
from gateway.rows.record import Stored, place, text_at
from gateway.service.ledger import LAST_ROW, Entry, Span
from gateway.service.reading import check_names
from gateway.service.refusal import explain
from gateway.service.settling import find_rows, holds
from gateway.service.worksheet import WorksheetRef, own_area
from gateway.service.writes import Create, Results, Update, written_row
from gateway.upstream.base import Dimension, Render, Sheets, Value, Values


class Recovery:
    def __init__(self, sheets: Sheets, *, ignore_unknown: bool) -> None:
        self._sheets = sheets
        self._ignore_unknown = ignore_unknown

    async def find_created(self, ref: WorksheetRef, create: Create, entry: Entry) -> Results | None:
        """The rows of an open create, if they are there. 1 read if not, else 2.

        1 read more for each run of rows like them that belong to others.
        """
        first_row = await self._free_rows(ref, entry)
        if first_row is None:
            return None
        return await self._results(ref, first_row, create.rows)

    async def find_updated(self, ref: WorksheetRef, update: Update, entry: Entry) -> Results | None:
        """The row of an open update, if it holds what was written. 1 read if not, else 2."""
        try:
            values = await self._sheets.read_values(
                ref.spreadsheet,
                a1.row_range(ref.title, update.row),
                render=Render.TYPED,
                dimension=Dimension.ROWS,
            )
        except UpstreamRefusal as refusal:
            error = await explain(self._sheets, ref, refusal, row=update.row)
            if isinstance(error, RowNotFound):
                return None
            raise error from refusal
        own_area(ref, values.range)
        cells = values.cells[0] if values.cells else ()
        if not holds(cells, entry.rows[0]):
            return None
        return await self._results(ref, update.row, [update.fields])

    async def _free_rows(self, ref: WorksheetRef, entry: Entry) -> int | None:
        """The first of the rows that look as they were written, and are nobody else's."""
        from_row = entry.first_row
        while True:
            first = await find_rows(self._sheets, ref, entry.rows, from_row=from_row)
            if first is None:
                return None
            last = first + len(entry.rows) - 1
            others = [span for span in entry.taken if _overlap(span, Span(first, last))]
            if not others:
                return first
            from_row = max(span.last for span in others) + 1
            if from_row > LAST_ROW:
                return None

    async def _results(
        self, ref: WorksheetRef, first_row: int, rows: Sequence[Mapping[str, Stored]]
    ) -> Results:
        """The answer for rows that are there, by their fields. 1 read."""
        top, shown = await self._sheets.read_ranges(
            ref.spreadsheet, [a1.header_range(ref.title), a1.rows_from(ref.title, first_row)]
        )
        own_area(ref, shown.range)
        header = parse_header(_line(top, 0))
        check_names(header)
        return tuple(
            written_row(
                first_row + offset,
                place(fields, header, ignore_unknown=self._ignore_unknown),
                header,
                _texts(_line(shown, offset)),
            )
            for offset, fields in enumerate(rows)
        )


def _overlap(one: Span, other: Span) -> bool:
    return one.first <= other.last and other.first <= one.last


def _line(values: Values, index: int) -> Sequence[Value]:
    return values.cells[index] if index < len(values.cells) else ()


def _texts(line: Sequence[Value]) -> list[str]:
    return [text_at(line, column) for column in range(len(line))]
