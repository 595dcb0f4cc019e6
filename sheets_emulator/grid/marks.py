"""Marks of a worksheet: protections, names, merges, filter, tables, sizes of rows and columns.

Rules:
- The range of a mark (`span`) moves with its rows and columns (`dimensions`).
- Lines are rows or columns. Only lines with non-default properties are stored, by index.
"""

from dataclasses import dataclass, replace

from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.box import Box
from sheets_emulator.reply import Json

ROW_PIXELS = 21  # of new rows; COLUMN_PIXELS is of new columns (recorded)
COLUMN_PIXELS = 100
FOOTER = "footerColorStyle"  # the row property that gives a table a footer


@dataclass(frozen=True, kw_only=True)
class Protection:
    """A protected range of a worksheet.

    `editors` and `groups` are e-mail addresses of users and of groups. `range_id` is the ID of a
    protected named range, which has the same `span`. `open_spans` are the unprotected ranges of a
    protected worksheet.
    """

    protection_id: int
    span: Span
    warning_only: bool = False
    description: str | None = None
    editors: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    is_open_to_domain: bool = False
    range_id: str | None = None
    open_spans: tuple[Span, ...] = ()

    def allows(self, account: str) -> bool:
        """True if the account can write to the range.

        The owner, with the account "", always can.
        """
        return not account or self.warning_only or account in self.editors


@dataclass(frozen=True, kw_only=True)
class NamedRange:
    """A named range. Requests can use its name instead of a range."""

    range_id: str
    name: str
    span: Span


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Merged cells. Only the first cell is displayed."""

    span: Span


@dataclass(frozen=True, kw_only=True)
class Filter:
    """The basic filter of a worksheet. `settings` are the other members of Google's BasicFilter."""

    span: Span
    settings: Json


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """A table's column with settings, which are other members of Google's TableColumnProperties."""

    span: Span
    settings: Json


@dataclass(frozen=True, kw_only=True)
class NativeTable:
    """A table that a request created, unlike the tables that `table.py` detects in data.

    `span` is bounded. `rows` is Google's TableRowsProperties. `columns` has only columns with
    settings.
    """

    table_id: str
    name: str
    span: Span
    columns: tuple[TableColumn, ...] = ()
    rows: Json

    @property
    def box(self) -> Box:
        """All cells of the table, with header and footer."""
        bottom, right = self.span.bottom or 0, self.span.right or 0
        return Box(top=self.span.top, left=self.span.left, bottom=bottom, right=right)

    @property
    def has_footer(self) -> bool:
        return FOOTER in self.rows

    @property
    def body(self) -> Box:
        """The cells between header and footer."""
        return replace(self.box, top=self.box.top + 1, bottom=self.box.bottom - self.has_footer)


@dataclass(frozen=True, kw_only=True)
class Line:
    """Properties of a row or column.

    `pixels` of None is the default size. `depth` is the number of groups that contain the row or
    column. `collapsed` has the depths of the collapsed groups.
    """

    pixels: int | None = None
    is_hidden: bool = False
    depth: int = 0
    collapsed: frozenset[int] = frozenset()


PLAIN_LINE = Line()
