"""The worksheet that a request is about, and Google's echo of its name."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from gateway.errors import GatewayError, UpstreamError, WorksheetNotFound
from gateway.table.a1 import Area, parse_area
from gateway.table.quoting import quoted
from gateway.table.view import ALL_COLUMNS, ColumnGrant
from gateway.worksheets.near_titles import near_titles

MAX_LISTED = 10
"""Worksheets of which a message names all."""


@dataclass(frozen=True, kw_only=True)
class WorksheetRef:
    """A worksheet that the caller may use; only `gateway.access` makes one for a request.

    `spreadsheet` matches the id pattern, `title` is any text. `visible` are the worksheets that
    the caller may hear of, None for all, `columns` the fields that they may see and write, `key_id`
    is whose turn it is, `may_write_formulas` counts where values are typed in; none of them plays a
    part in telling worksheets apart.
    """

    spreadsheet: str
    title: str
    visible: frozenset[str] | None = field(default=None, compare=False)
    columns: ColumnGrant = field(default=ALL_COLUMNS, compare=False)
    key_id: str = field(default="", compare=False)
    may_write_formulas: bool = field(default=False, compare=False)

    def may_hear_of(self, title: str) -> bool:
        return self.visible is None or title in self.visible


def worksheet_not_found(ref: WorksheetRef, titles: Sequence[str]) -> WorksheetNotFound:
    """The error for a title that is none of these; names others that the caller may hear of."""
    error = WorksheetNotFound(
        f"The spreadsheet has no worksheet named {quoted(ref.title)}. The name is on the tab; case "
        f"and blanks count.{_others(ref, titles)}"
    )
    error.titles = titles
    return error


def _others(ref: WorksheetRef, titles: Sequence[str]) -> str:
    """The titles that the caller may hear of, or if they are many those near to the one asked for.

    They need not be all that the spreadsheet has, so no more is said than that it has these.
    """
    heard_of = list(islice(filter(ref.may_hear_of, titles), MAX_LISTED + 1))
    if len(heard_of) <= MAX_LISTED:
        words, names = "It has", heard_of
    else:
        words, names = "Near names:", list(near_titles(ref.title, tuple(titles), ref.visible))
    return f" {words} {', '.join(map(quoted, names))}." if names else ""


def own_area(ref: WorksheetRef, echo: str) -> Area:
    """The area of an echoed range, which must be of this very worksheet.

    Google finds titles whatever their case, the contract does not: another spelling in the
    echo means that the worksheet asked for is not there.
    """
    try:
        area = parse_area(echo)
    except ValueError as error:
        raise UpstreamError("Google answered with a range that cannot be read.") from error
    if area.title != ref.title:
        raise worksheet_not_found(ref, [area.title])
    return area


def written_area(ref: WorksheetRef, echo: str) -> Area:
    """The area of a range that was written; whatever is odd about its echo, it was written."""
    try:
        return own_area(ref, echo)
    except GatewayError as error:
        raise UpstreamError(
            "Google wrote the row, but answered with another place than asked. Look at the "
            "worksheet, and do not send it again.",
            outcome="applied",
        ) from error
