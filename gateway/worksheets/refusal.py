"""Find out why Google rejected a request, which its 400 INVALID_ARGUMENT does not say."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from gateway.errors import (
    GatewayError,
    InvalidBody,
    LookOutdated,
    NoHeaderRow,
    ProtectedCells,
    RowNotFound,
    StorageFull,
    UpstreamError,
    UpstreamRefusal,
    WorksheetNotFound,
)
from gateway.google.sheets import Sheets
from gateway.table.header import View
from gateway.table.record import MAX_CELL_CHARACTERS, text_at
from gateway.telemetry.events import google_refused
from gateway.worksheets.access import WorksheetId, worksheet_not_found

SHEET_WIDE = (WorksheetNotFound, StorageFull)
"""Errors that concern all writes of a rejected group. Other errors can concern a single write."""

# Texts of Google's messages are the last resort. If Google translates them, the error is a 502.
_WORDS: Mapping[str, Callable[[], GatewayError]] = {
    "You are trying to edit a protected": lambda: ProtectedCells(outcome="not_applied"),
    "increase the number of cells in the workbook": lambda: StorageFull(
        "The spreadsheet has reached Google's limit of 10 million cells. Delete unused rows.",
        outcome="not_applied",
    ),
    "more than the maximum of 50000 characters": lambda: InvalidBody(
        f"A cell holds at most {MAX_CELL_CHARACTERS} characters. Send a shorter text.",
        outcome="not_applied",
    ),
}


async def explain(
    sheets: Sheets,
    worksheet: WorksheetId,
    refusal: UpstreamRefusal,
    *,
    row: int = 1,
    header_row: int = 1,
    sheet_id: int | None = None,
    grid_rows: int = 0,
) -> GatewayError:
    """Return the error for a request that Google rejected.

    Costs 1 read, of the titles and sizes of the worksheets. `row` is the last row that the request
    named. The request named `header_row`, too. Returns LookOutdated if a write was planned for
    another `sheet_id` or another number of `grid_rows` than the worksheet has now. Without a known
    reason returns a new UpstreamRefusal, because an exception cannot be its own cause.
    """
    google_refused(refusal.google_message)
    worksheets = {each.title: each for each in await sheets.list_worksheets(worksheet.spreadsheet)}
    if worksheet.title not in worksheets:
        return worksheet_not_found(worksheet, list(worksheets))
    found = worksheets[worksheet.title]
    if sheet_id not in (None, found.sheet_id):
        return LookOutdated()
    if header_row > found.rows:
        return no_header_row(header_row)
    if row > found.rows:
        return row_not_found(row, header_row)
    if grid_rows not in (0, found.rows):
        return LookOutdated()
    for words, make in _WORDS.items():
        if words in refusal.google_message:
            return make()
    return UpstreamRefusal(refusal.google_message)


@asynccontextmanager
async def explaining(
    sheets: Sheets, worksheet: WorksheetId, *, header_row: int
) -> AsyncIterator[None]:
    """Replace an UpstreamRefusal of the block by the error that `explain` returns for it."""
    try:
        yield
    except UpstreamRefusal as refusal:
        raise await explain(sheets, worksheet, refusal, header_row=header_row) from refusal


def row_not_found(
    row: int,
    header_row: int = 1,
    *,
    below: Iterable[Sequence[object]] = (),
    view: View | None = None,
) -> RowNotFound:
    """Return the error for a row number that is not a record.

    `below` are rows under the last record. The message has more advice if one of these rows
    displays a text in a column of `view`.
    """
    end = "last row that is not blank"
    columns = () if view is None else view.columns.values()
    if any(text_at(cells, column) for cells in below for column in columns):
        end = "last record. Rows that are only filled down do not count as records"
    return RowNotFound(
        f"The worksheet has no row {row}. Data rows begin at {header_row + 1} and end with the "
        f"{end}."
    )


def no_header_row(header_row: int) -> NoHeaderRow:
    if header_row == 1:
        return NoHeaderRow(
            "Row 1 of the worksheet has no field names. Put the field names into that row."
        )
    return NoHeaderRow(
        f"Row {header_row} of the worksheet should be its header, but has no field names. Put the "
        "field names into that row, or ask the gateway's operator to correct header_row."
    )


def no_record_field(header_row: int) -> NoHeaderRow:
    """Return the error for a header without the record field, whose name some keys must not see."""
    return NoHeaderRow(
        f"The header in row {header_row} of the worksheet lacks the field that the setting "
        "record_field names. Put the field name back, or ask the gateway's operator to correct "
        "record_field."
    )


def header_moved(row: int, header_row: int) -> NoHeaderRow:
    """Return the error for a header that is not in the row of the settings."""
    return NoHeaderRow(
        f"The header of the worksheet is in row {row} now, because rows above it were "
        f"inserted or deleted, but the gateway's settings say row {header_row}. Move the header "
        f"back, or ask the gateway's operator to set header_row = {row}."
    )


def undecided() -> UpstreamError:
    """Return the error for a write that Google repeatedly rejected together with other writes."""
    return UpstreamError(
        "Google rejected this write together with other writes, which might be the cause. "
        "This write was not applied: send the request again.",
        outcome="not_applied",
    )


def tabs_changing() -> UpstreamError:
    """Return the error for a write whose worksheet tab changed during each planning read."""
    return UpstreamError(
        "The worksheet was renamed or replaced at the same time. Nothing was written: send "
        "the request again.",
        outcome="not_applied",
    )


def other_tab() -> UpstreamError:
    """Return the error for an applied write whose worksheet was renamed at the same time."""
    return UpstreamError(
        "The write was applied, but the worksheet was renamed at the same time, so the rows are "
        "in the tab that had this title before. Check that tab, and do not send the request again.",
        outcome="applied",
    )
