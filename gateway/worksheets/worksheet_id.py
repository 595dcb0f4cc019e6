"""Identity of a worksheet, and Google's echo of its name."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.errors import UpstreamError, WorksheetNotFound
from gateway.google.sheets import SheetView
from gateway.table.a1 import Area, parse_area
from gateway.table.quoting import quoted


@dataclass(frozen=True)
class WorksheetId:
    """The only key of caches, queues and batches. `spreadsheet` matches the ID pattern."""

    spreadsheet: str
    title: str


def worksheet_not_found(
    worksheet: WorksheetId, titles: Sequence[str], hint: str = ""
) -> WorksheetNotFound:
    """The error for a missing title; the message does not list `titles`."""
    error = WorksheetNotFound(
        f"The spreadsheet has no worksheet named {quoted(worksheet.title)}. The name is on the "
        f"tab; case and blanks count.{hint}"
    )
    error.titles = titles
    return error


def own_area(worksheet: WorksheetId, echo: str) -> Area:
    """The area of an echoed range, which must be of this worksheet.

    Google ignores the case of titles, our contract does not: another spelling in the echo means
    that the requested worksheet does not exist.
    """
    try:
        area = parse_area(echo)
    except ValueError as error:
        raise UpstreamError("Google answered with a range that cannot be read.") from error
    if area.title != worksheet.title:
        raise worksheet_not_found(worksheet, [area.title])
    return area


def own_sheet(worksheet: WorksheetId, view: SheetView) -> SheetView:
    """The view, if it is of the worksheet that was asked for. Google ignores the case of titles."""
    if view.title != worksheet.title:
        raise worksheet_not_found(worksheet, [view.title])
    return view
