"""Access: fields and worksheets that the caller of a request may see and write.

Rules: applied where input is read and output is made. Cached rows and batches do not depend on it.
"""

from dataclasses import dataclass

from gateway.table.view import ALL_COLUMNS, ColumnGrant
from gateway.worksheets.worksheet_id import WorksheetId


@dataclass(frozen=True, kw_only=True)
class Access:
    """Access of a caller; `key_id` decides turns, `titles` are the visible worksheets.

    `titles` None means all.
    """

    key_id: str = ""
    titles: frozenset[str] | None = None
    columns: ColumnGrant = ALL_COLUMNS

    def may_hear_of(self, title: str) -> bool:
        return self.titles is None or title in self.titles


FULL_ACCESS = Access()


@dataclass(frozen=True)
class Target:
    """The worksheet of a request and the caller's access; only `gateway.access` makes one."""

    worksheet: WorksheetId
    access: Access = FULL_ACCESS
