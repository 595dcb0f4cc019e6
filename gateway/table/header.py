"""The header row: names of columns, and which of them a key sees."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from gateway.table.view import ALL_COLUMNS, ROW_INDEX, ColumnGrant, View


@dataclass(frozen=True)
class Header:
    """Row 1 of a worksheet as it is displayed, blank cells at its end left out."""

    cells: tuple[str, ...]
    columns: Mapping[str, int]
    """Field name, exactly as written, to column (from 0), in sheet order."""

    @cached_property
    def whole(self) -> View:
        """The view of a key that may see and write everything."""
        return View(columns=self.columns, trimmed=_trimmed(self.columns), header_cells=self.cells)

    def seen_with(self, grant: ColumnGrant) -> View:
        """The view of a key; granted names match headers like the field names of a request."""
        if grant == ALL_COLUMNS:
            return self.whole
        writable = self._named(grant.writable)
        readable = self._named(grant.readable)
        if readable is None:
            return replace(self.whole, writable=writable)
        seen = {name: column for name, column in self.columns.items() if column in readable}
        return View(
            columns=seen,
            trimmed=_trimmed(seen),
            header_cells=self.cells,
            is_whole=False,
            writable=writable,
            tag_key=grant.tag_key,
        )

    def duplicates(self) -> list[str]:
        """Names of more than one column; only the first column has the name."""
        counts = Counter(cell for cell in self.cells if cell.strip())
        return [name for name, count in counts.items() if count > 1]

    def _named(self, names: frozenset[str] | None) -> frozenset[int] | None:
        """The columns of these names; None for None."""
        if names is None:
            return None
        found = map(self.whole.find, names)
        return frozenset(column for column in found if column is not None)


def parse_header(row: Iterable[object]) -> Header:
    """Make a header of the displayed cells of row 1; one without any names is possible."""
    cells = ["" if cell is None else str(cell) for cell in row]
    while cells and not cells[-1].strip():
        cells.pop()
    columns: dict[str, int] = {}
    for column, name in enumerate(cells):
        if name.strip() and name.strip() != ROW_INDEX:
            columns.setdefault(name, column)
    return Header(cells=tuple(cells), columns=columns)


def _trimmed(columns: Mapping[str, int]) -> Mapping[str, int]:
    trimmed: dict[str, int] = {}
    for name, column in columns.items():
        trimmed.setdefault(name.strip(), column)
    return trimmed
