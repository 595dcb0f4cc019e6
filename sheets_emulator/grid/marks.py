"""What lies over the cells of a worksheet: protections, names, merges, filter, sizes of lines.

Rules
- A mark has a `span`, which moves with the rows and columns under it (`dimensions`).
- Lines are rows or columns; only those that differ from a new one are kept, by index.
"""

from dataclasses import dataclass

from sheets_emulator.grid.a1 import Span
from sheets_emulator.reply import Json

ROW_PIXELS = 21  # of a new row and a new column (recorded)
COLUMN_PIXELS = 100


@dataclass(frozen=True, kw_only=True)
class Protection:
    """A protected part of a worksheet.

    `editors` are e-mail addresses, `groups` those of groups. `range_id`: the named range that it
    protects, whose span it has. `open_spans`: what of a protected worksheet anyone may write.
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
        """May the account write here? An account of "" is the owner, who always may."""
        return not account or self.warning_only or account in self.editors


@dataclass(frozen=True, kw_only=True)
class NamedRange:
    """A range with a name, which is as good as the range in a request."""

    range_id: str
    name: str
    span: Span


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Cells that are shown as one, the first of them."""

    span: Span


@dataclass(frozen=True, kw_only=True)
class Filter:
    """A worksheet's basic filter; `settings` is the rest of Google's BasicFilter."""

    span: Span
    settings: Json


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row or a column that is not as a new one is.

    `pixels` None: the size of a new one. `depth`: how many groups it is in; `collapsed`: the
    depths of those that are collapsed.
    """

    pixels: int | None = None
    is_hidden: bool = False
    depth: int = 0
    collapsed: frozenset[int] = frozenset()


PLAIN_LINE = Line()
