"""Recovery: find the rows that an earlier process may have written.

Rules: rows that were acknowledged to others are not ours, however alike they look. A look proves
that something is there, or was not there as it began; what people did meanwhile it cannot tell.
"""

from collections.abc import Mapping, Sequence

from gateway.errors import (
    GatewayError,
    InvalidBody,
    NoHeaderRow,
    NotGranted,
    RowNotFound,
    UpstreamError,
    UpstreamRefusal,
)
from gateway.google.sheets import Render, Sheets, Value, Values
from gateway.table import a1
from gateway.table.cell_match import CellMatch, Compare, as_stored, cell_match
from gateway.table.header import parse_header
from gateway.table.record import Stored, place, text_at
from gateway.worksheets.access import Access
from gateway.worksheets.idempotency import AppliedRows, Entry
from gateway.worksheets.loader import check_names
from gateway.worksheets.reconciliation import find_rows
from gateway.worksheets.refusal import explain
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import own_area
from gateway.worksheets.writes import Create, Update, Written, written_row


class Recovery:
    def __init__(
        self,
        sheets: Sheets,
        *,
        ignore_unknown: bool,
        compare: Compare = as_stored,
    ) -> None:
        self._sheets = sheets
        self._compare = compare
        self._ignore_unknown = ignore_unknown

    async def find_created(
        self, worksheet: Worksheet, create: Create, entry: Entry
    ) -> AppliedRows | None:
        """The rows of an open create, if they are there. 1 read if not, else 2.

        To be awaited while no write to the worksheet is under way.
        """
        first_row = await find_rows(
            self._sheets,
            worksheet.id,
            entry.rows,
            from_row=entry.first_row,
            taken=entry.taken,
            compare=self._compare,
        )
        if first_row is None:
            return None
        # The worksheet ends lower than was seen, or an append would take these rows for its own.
        worksheet.header.forget()
        return await self._found(worksheet, create.access, first_row, create.rows)

    async def find_updated(
        self, worksheet: Worksheet, update: Update, entry: Entry
    ) -> AppliedRows | None:
        """The row of an open update, if it holds what was written. 1 read if not, else 2."""
        try:
            values = await self._sheets.read_values(
                worksheet.id.spreadsheet,
                a1.row_range(worksheet.id.title, update.row),
                render=Render.TYPED,
            )
        except UpstreamRefusal as refusal:
            error = await explain(self._sheets, worksheet.id, refusal, row=update.row)
            if isinstance(error, RowNotFound):
                return None
            raise error from refusal
        own_area(worksheet.id, values.range)
        cells = values.cells[0] if values.cells else ()
        if cell_match(cells, entry.rows[0], self._compare) is not CellMatch.SAME:
            return None
        return await self._found(worksheet, update.access, update.row, [update.fields])

    async def _found(
        self,
        worksheet: Worksheet,
        access: Access,
        first_row: int,
        rows: Sequence[Mapping[str, Stored]],
    ) -> AppliedRows:
        """The answer for rows that are there, by their fields. 1 read."""
        worksheet.forget()  # it may have been read before they were written
        top, shown = await self._sheets.read_ranges(
            worksheet.id.spreadsheet,
            [a1.header_range(worksheet.id.title), a1.rows_from(worksheet.id.title, first_row)],
        )
        own_area(worksheet.id, shown.range)
        header = parse_header(_line(top, 0))
        numbers = range(first_row, first_row + len(rows))
        worksheet.saw(header, {row: _texts(_line(shown, row - first_row)) for row in numbers})
        view = header.seen_with(access.columns)
        try:
            check_names(header)
            placements = [
                place(fields, view, ignore_unknown=self._ignore_unknown) for fields in rows
            ]
        except (NoHeaderRow, InvalidBody, NotGranted) as error:
            return _unshowable(first_row, len(rows), error)
        return AppliedRows(
            results=tuple(
                written_row(first_row + offset, placement, view, _texts(_line(shown, offset)))
                for offset, placement in enumerate(placements)
            )
        )


def _unshowable(first_row: int, count: int, reason: GatewayError) -> AppliedRows:
    """Rows that are there, under a header that does not have their fields any more."""
    error = UpstreamError(
        f"The rows were written, at {first_row}:{first_row + count - 1} of the worksheet, but its "
        "header has changed since, and they cannot be shown. Do not send them again.",
        outcome="applied",
    )
    error.__cause__ = reason
    rows = range(first_row, first_row + count)
    results = tuple(Written(row=row, record={}, tag="", ignored=()) for row in rows)
    return AppliedRows(results=results, error=error)


def _line(values: Values, index: int) -> Sequence[Value]:
    return values.cells[index] if index < len(values.cells) else ()


def _texts(line: Sequence[Value]) -> list[str]:
    return [text_at(line, column) for column in range(len(line))]
