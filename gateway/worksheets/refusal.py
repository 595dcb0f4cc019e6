"""Reasons for a refused request, because Google's 400 INVALID_ARGUMENT does not explain it."""

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
"""Errors of a whole refused group; other errors may concern one write."""

# Google's English words are the last resort: they may be localised, then it is a 502.
_WORDS: Mapping[str, Callable[[], GatewayError]] = {
    "You are trying to edit a protected": lambda: ProtectedCells(outcome="not_applied"),
    "increase the number of cells in the workbook": lambda: StorageFull(
        "The spreadsheet has reached Google's limit of 10 million cells.", outcome="not_applied"
    ),
    "more than the maximum of 50000 characters": lambda: InvalidBody(
        f"A cell holds at most {MAX_CELL_CHARACTERS} characters.", outcome="not_applied"
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
    """Find the error for a refusal. 1 read: the worksheets' titles and sizes.

    `row` is the last row that the request named; it named the header, too. LookOutdated if a write
    was planned for a tab that has another title by now, by its `sheet_id`, or for a grid that had
    another size. For an unexplained refusal the result is a new UpstreamRefusal with the same
    message, because an exception cannot be raised from itself.
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
    """Translate a refusal of the block's call by `explain`."""
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
    """The error of a row that is not a record.

    Its message has more advice if a row `below` the last record displays something in the view.
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
            "Row 1 of the worksheet names no field. Put the field names into its first row."
        )
    return NoHeaderRow(
        f"Row {header_row} of the worksheet, its header by the gateway's settings, names no field. "
        "Put the field names into it, or ask the gateway's operator to correct header_row."
    )


def no_record_field(header_row: int) -> NoHeaderRow:
    """The error of a header without the record field, whose name some keys may not see."""
    return NoHeaderRow(
        f"Row {header_row} of the worksheet, its header, lacks the record_field of the gateway's "
        "settings. Put that field name back, or ask the gateway's operator to correct "
        "record_field."
    )


def header_moved(row: int, header_row: int) -> NoHeaderRow:
    """The error of a worksheet whose header is in another row than in its settings."""
    return NoHeaderRow(
        f"The header of the worksheet is in row {row} now, because rows above it were "
        f"inserted or deleted; the gateway's settings say row {header_row}. Move it back, or "
        f"ask the gateway's operator to set header_row = {row}."
    )


def undecided() -> UpstreamError:
    """The error of a write that Google repeatedly refused together with others."""
    return UpstreamError(
        "Google refused a group of writes, and the cause may be another write of the group. "
        "This one was not written; send it again.",
        outcome="not_applied",
    )


def tabs_changing() -> UpstreamError:
    """The error of a write whose worksheet title belonged to another tab at each look."""
    return UpstreamError(
        "The worksheet was renamed or replaced at the same time. Nothing was written; send "
        "the request again.",
        outcome="not_applied",
    )


def other_tab() -> UpstreamError:
    """The error of a write after which its worksheet had another name."""
    return UpstreamError(
        "The write was applied, but the worksheet was renamed at the same time: the rows are "
        "in the tab that had its name before. Look there, and do not send the request again.",
        outcome="applied",
    )
