"""Which worksheet a request is about, and reading Google's echo of its name."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.errors import GatewayError, UpstreamError, WorksheetNotFound
from gateway.rows.a1 import Area, parse_area
from gateway.rows.view import ALL_COLUMNS, ColumnGrant


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


def worksheet_not_found(ref: WorksheetRef, near: Sequence[str]) -> WorksheetNotFound:
    """The error for a title that no worksheet has; names near ones that the caller may hear of."""
    names = ", ".join(f'"{title}"' for title in near if ref.may_hear_of(title))
    hint = f" Near names: {names}." if names else ""
    error = WorksheetNotFound(
        f'The spreadsheet has no worksheet named "{ref.title[:100]}". The name is on the tab; '
        f"case and blanks count.{hint}"
    )
    error.near = near
    return error


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
