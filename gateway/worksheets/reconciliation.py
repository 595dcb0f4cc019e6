"""Outcome reconciliation: look at the worksheet to tell what became of an open write.

Rules
- Cells are compared typed, as they were sent; what was not sent may be anything.
- Only a look tells something. One that fails tells nothing, and the outcome stays open; so it does
  where cells that were typed in may or may not be what was sent.
- Google does nothing more for a request that it answered (assumed), so what is not there two
  seconds later was not applied. A request that was not answered may land for three minutes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from gateway.errors import (
    GatewayError,
    RowNotFound,
    UpstreamError,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.google.call_context import current_call_context, in_call_context
from gateway.google.sheets import Render, Sheets, Value, Values, Writing
from gateway.table import a1
from gateway.table.cell_match import CellMatch, Compare, as_stored, cell_match, holds_no_more
from gateway.table.header import Header, parse_header
from gateway.table.record import Stored, text_at
from gateway.telemetry.events import look_failed
from gateway.worksheets.idempotency import RowInterval
from gateway.worksheets.refusal import explain
from gateway.worksheets.worksheet_id import WorksheetId, own_area

PAUSE_SECONDS = 2.0
"""Between the two looks for an append."""

LIMIT_SECONDS = 15.0
"""Longest time for all looks at one write; its client has waited for Google already."""

Texts = Sequence[str]
"""What the cells of a row display, from column A; blank cells at its end are left out."""

_NOTHING: Sequence[Value] = ()


async def find_rows(
    sheets: Sheets,
    worksheet: WorksheetId,
    rows: Sequence[Sequence[Stored]],
    *,
    from_row: int,
    taken: Sequence[RowInterval] = (),
    compare: Compare = as_stored,
) -> int | None:
    """The number of the first of neighbouring rows that hold these values, at `from_row` or below.

    None in a row stands for a cell that was not written: it may hold anything, an array formula's
    value for example, but rows that hold no more than these come first. Rows of `taken` are
    others', however alike they look. Each row needs a value.
    UpstreamError if there are only rows of which it cannot be told.
    1 read; 1 more if it is refused, as it is where the grid ends above `from_row`.
    """
    try:
        values = await _typed(sheets, worksheet, a1.rows_from(worksheet.title, from_row))
    except UpstreamRefusal as refusal:
        error = await explain(sheets, worksheet, refusal, row=from_row)
        if isinstance(error, RowNotFound):
            return None
        raise error from refusal
    found: dict[CellMatch, int] = {}
    for start, like in _starts(values.cells, rows, compare):
        first = from_row + start
        span = RowInterval(first, first + len(rows) - 1)
        if any(map(span.overlaps, taken)):
            continue
        is_alone = all(map(holds_no_more, values.cells[start : start + len(rows)], rows))
        if is_alone and like is CellMatch.SAME:
            return first
        found.setdefault(like, first)
    if CellMatch.OPEN in found and CellMatch.SAME not in found:
        raise UpstreamError("There are rows that may be those that were written, or others.")
    return found.get(CellMatch.SAME)


async def displayed_rows(
    sheets: Sheets, worksheet: WorksheetId, first_row: int, count: int
) -> Sequence[Texts]:
    """What rows display that are known to have been written. 1 read.

    UpstreamError, `applied`, if they cannot be read: the write itself is done.
    """
    try:
        with _verifying():
            values = await sheets.read_values(
                worksheet.spreadsheet,
                a1.rows_from(worksheet.title, first_row),
                render=Render.DISPLAYED,
            )
        own_area(worksheet, values.range)
    except GatewayError as error:
        raise UpstreamError(
            f"The rows were written, at {first_row}:{first_row + count - 1} of the worksheet, but "
            "could not be read back. Do not send them again.",
            outcome="applied",
        ) from error
    lines = [_texts(line) for line in values.cells[:count]]
    return [*lines, *[()] * (count - len(lines))]


class Reconciler:
    """Settles open writes, one look after the other; `sleep` is the pause between them."""

    def __init__(
        self,
        sheets: Sheets,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        pause_seconds: float = PAUSE_SECONDS,
        limit_seconds: float = LIMIT_SECONDS,
        compare: Compare = as_stored,
    ) -> None:
        self._sheets = sheets
        self._compare = compare
        self._sleep = sleep
        self._pause_seconds = pause_seconds
        self._limit_seconds = limit_seconds

    async def settle_append(
        self,
        worksheet: WorksheetId,
        rows: Sequence[Sequence[Stored]],
        *,
        from_row: int,
        error: WriteOutcomeUnknown,
    ) -> int:
        """The number of the first appended row. 1 read if it is there at once, else 2.

        `from_row` is the first row below the last that was known before the append. Raises
        UpstreamError, `not_applied`, if Google answered and the rows are not there; `error` if
        it did not, or if the last look fails. A refused look costs 1 read more.
        """
        try:
            async with asyncio.timeout(self._limit_seconds):
                with _verifying():
                    first_row = await self._found(worksheet, rows, from_row)
        except (GatewayError, TimeoutError) as trouble:
            look_failed(trouble)
            raise error from error.__cause__
        if first_row is not None:
            return first_row
        if not error.was_answered:
            raise error
        raise UpstreamError(
            "Google failed, and nothing was written. Send it again.", outcome="not_applied"
        ) from error

    async def settle_update(
        self,
        worksheet: WorksheetId,
        header: Header,
        displayed: Mapping[int, Texts],
        writings: Sequence[Writing],
        *,
        error: WriteOutcomeUnknown,
    ) -> Mapping[int, Texts] | None:
        """What the rows display now that the cells are written; None: send it again. 2 reads.

        `header` and `displayed`, by row number, are what was seen right before the write. It may
        be sent again if all of that is as it was: Google writes all cells of a request or none.
        Raises `error` if neither is so, or if a look fails.

        A write that was not answered may land after it was sent again; then it writes the same
        once more, over whatever was written in between, as it would in any case.
        """
        try:
            async with asyncio.timeout(self._limit_seconds):
                with _verifying():
                    # In this order: what is displayed is not older than what was found written.
                    is_written = await self._has_written(worksheet, writings)
                    header_now, displayed_now = await self._shown(worksheet, sorted(displayed))
        except (GatewayError, TimeoutError) as trouble:
            look_failed(trouble)
            raise error from error.__cause__
        if header_now.cells != header.cells:
            raise error
        if is_written:
            return displayed_now
        if any(_texts(displayed[row]) != displayed_now[row] for row in displayed):
            raise error
        return None

    async def _found(
        self, worksheet: WorksheetId, rows: Sequence[Sequence[Stored]], from_row: int
    ) -> int | None:
        """Two looks; that the rows are not there is said by the second alone."""
        try:
            first_row = await self._find(worksheet, rows, from_row)
        except GatewayError as trouble:
            look_failed(trouble)
        else:
            if first_row is not None:
                return first_row
        await self._sleep(self._pause_seconds)
        return await self._find(worksheet, rows, from_row)

    async def _find(
        self, worksheet: WorksheetId, rows: Sequence[Sequence[Stored]], from_row: int
    ) -> int | None:
        return await find_rows(
            self._sheets, worksheet, rows, from_row=from_row, compare=self._compare
        )

    async def _has_written(self, worksheet: WorksheetId, writings: Sequence[Writing]) -> bool:
        """Whether all cells hold what was to be written. 1 read."""
        areas = [a1.parse_area(writing.range) for writing in writings]
        first, last = min(area.first_row for area in areas), max(area.first_row for area in areas)
        one_row = a1.row_range(worksheet.title, first)
        range_ = one_row if first == last else a1.rows_from(worksheet.title, first)
        lines = (await _typed(self._sheets, worksheet, range_)).cells
        likenesses = (
            cell_match(
                _line(lines, area.first_row - first + offset)[area.first_column :],
                row,
                self._compare,
            )
            for area, writing in zip(areas, writings, strict=True)
            for offset, row in enumerate(writing.rows)
        )
        return all(like is CellMatch.SAME for like in likenesses)

    async def _shown(
        self, worksheet: WorksheetId, rows: Sequence[int]
    ) -> tuple[Header, Mapping[int, Texts]]:
        """The header and what the rows display, of one moment. 1 read."""
        ranges = [
            a1.header_range(worksheet.title),
            *(a1.row_range(worksheet.title, row) for row in rows),
        ]
        found = await self._sheets.read_ranges(worksheet.spreadsheet, ranges)
        for values in found:
            own_area(worksheet, values.range)
        top, *lines = [_line(values.cells, 0) for values in found]
        return parse_header(top), dict(zip(rows, map(_texts, lines), strict=True))


def _verifying() -> AbstractContextManager[None]:
    """The calls of a look go before all others that wait for the budget."""
    return in_call_context(replace(current_call_context(), is_verification=True))


def _starts(
    lines: Sequence[Sequence[Value]], rows: Sequence[Sequence[Stored]], compare: Compare
) -> Iterator[tuple[int, CellMatch]]:
    """Where rows begin that hold what was written, or may."""
    for start in range(len(lines) - len(rows) + 1):
        least = CellMatch.SAME
        for offset, row in enumerate(rows):
            least = min(least, cell_match(lines[start + offset], row, compare))
            if least is CellMatch.OTHER:  # mostly by the first row
                break
        else:
            yield start, least


async def _typed(sheets: Sheets, worksheet: WorksheetId, range_: str) -> Values:
    values = await sheets.read_values(worksheet.spreadsheet, range_, render=Render.TYPED)
    own_area(worksheet, values.range)
    return values


def _line(lines: Sequence[Sequence[Value]], index: int) -> Sequence[Value]:
    return lines[index] if index < len(lines) else _NOTHING


def _texts(line: Sequence[object]) -> Texts:
    texts = [text_at(line, column) for column in range(len(line))]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts)
