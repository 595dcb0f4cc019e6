"""Access: fields and worksheets that the caller of a request may see and write.

Rules: applied where input is read and output is made. Cached rows and batches do not depend on it.
"""

import hmac
from dataclasses import dataclass, replace

import msgspec

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

    def to(self, worksheet: WorksheetId) -> "Access":
        """The access with the key of row tags in this worksheet.

        With one key for all worksheets, a caller could try what a hidden cell holds: by the tags
        of rows in a worksheet of their own.
        """
        columns = self.columns
        if not columns.tag_key:
            return self
        place = msgspec.json.encode([worksheet.spreadsheet, worksheet.title])
        key = hmac.digest(columns.tag_key, place, "sha256")
        return replace(self, columns=replace(columns, tag_key=key))


FULL_ACCESS = Access()


@dataclass(frozen=True)
class Target:
    """The worksheet of a request and the caller's access; only `gateway.access` makes one."""

    worksheet: WorksheetId
    access: Access = FULL_ACCESS
