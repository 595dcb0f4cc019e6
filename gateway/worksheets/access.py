"""Access: what the caller of a request may see and write of a worksheet.

Rules: applied where input is read and output is made. No cached rows and no batch depend on it.
"""

from dataclasses import dataclass

from gateway.table.view import ALL_COLUMNS, ColumnGrant
from gateway.worksheets.worksheet_id import WorksheetId


@dataclass(frozen=True, kw_only=True)
class Access:
    """`key_id` is whose turn it is; `titles` are the worksheets that the caller may hear of.

    `titles` None is all of them. `formulas` counts where values are typed in.
    """

    key_id: str = ""
    titles: frozenset[str] | None = None
    columns: ColumnGrant = ALL_COLUMNS
    formulas: bool = False

    def may_hear_of(self, title: str) -> bool:
        return self.titles is None or title in self.titles


FULL_ACCESS = Access()


@dataclass(frozen=True)
class Target:
    """The worksheet of a request and the caller's access; only `gateway.access` makes one."""

    worksheet: WorksheetId
    access: Access = FULL_ACCESS
