"""Marks of a worksheet: protections, names, merges, filter, tables, sizes of rows and columns.

Rules:
- A mark's `span` moves with its rows and columns (`dimensions`).
- Lines are rows or columns; only lines with non-default properties are stored, by index.
"""

from dataclasses import dataclass, replace

from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.box import Box
from sheets_emulator.reply import Json

ROW_PIXELS = 21  # of a new row and a new column (recorded)
COLUMN_PIXELS = 100
FOOTER = "footerColorStyle"  # the row property that gives a table a footer


@dataclass(frozen=True, kw_only=True)
class Protection:
    """A protected part of a worksheet.

    `editors` and `groups` are e-mail addresses of users and of groups. `range_id` is the protected
    named range, whose span it has. `open_spans` are the unprotected ranges of a protected
    worksheet.
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
        """True if the account can write here. An account of "" is the owner, who always can."""
        return not account or self.warning_only or account in self.editors


@dataclass(frozen=True, kw_only=True)
class NamedRange:
    """A named range, which requests can use like a range."""

    range_id: str
    name: str
    span: Span


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Merged cells; the first one is displayed."""

    span: Span


@dataclass(frozen=True, kw_only=True)
class Filter:
    """A worksheet's basic filter; `settings` are the other members of Google's BasicFilter."""

    span: Span
    settings: Json


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """The settings of a table's column: the other members of Google's TableColumnProperties."""

    span: Span
    settings: Json


@dataclass(frozen=True, kw_only=True)
class NativeTable:
    """A table of Google Sheets, unlike data that `table` detects; `span` is bounded.

    `rows` is Google's TableRowsProperties. Columns without settings are left out of `columns`.
    """

    table_id: str
    name: str
    span: Span
    columns: tuple[TableColumn, ...] = ()
    rows: Json

    @property
    def box(self) -> Box:
        """All cells, with header and footer."""
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
    """A row or column with non-default properties.

    `pixels` None means the default size. `depth` is the number of its groups; `collapsed` are the
    depths of collapsed groups.
    """

    pixels: int | None = None
    is_hidden: bool = False
    depth: int = 0
    collapsed: frozenset[int] = frozenset()


PLAIN_LINE = Line()
