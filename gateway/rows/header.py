"""The header row: which column each field name stands for."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

ROW_INDEX = "rowIndex"
"""The field that every record has; a column of that name is not part of a record."""

_NAMES_IN_MESSAGES = 50
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Header:
    """Row 1 of a worksheet as it is displayed, blank cells at its end left out."""

    cells: tuple[str, ...]
    columns: Mapping[str, int]
    """Field name, exactly as written, to column (from 0), in sheet order."""
    trimmed: Mapping[str, int]
    """The same with the blanks around each name cut."""

    def find(self, name: str) -> int | None:
        """The column of a name that a client sent: as it is, else without blanks around it."""
        column = self.columns.get(name)
        return self.trimmed.get(name.strip()) if column is None else column

    def select(self, names: Sequence[str] | None) -> list[tuple[str, int]]:
        """Name and column of the fields wanted (None: all), in sheet order; others passed over."""
        if names is None:
            return list(self.columns.items())
        wanted = {self.find(name) for name in names}
        return [(name, column) for name, column in self.columns.items() if column in wanted]

    def listing(self) -> str:
        """The field names for a message, at most 50 of them, cut where long."""
        names = list(self.columns)
        more = len(names) - _NAMES_IN_MESSAGES
        shown = ", ".join(f'"{name[:_LONGEST_NAME]}"' for name in names[:_NAMES_IN_MESSAGES])
        return f"{shown} and {more} more" if more > 0 else shown

    def duplicates(self) -> list[str]:
        """Names that stand in more than one column; only the first column has them."""
        counts = Counter(cell for cell in self.cells if cell.strip())
        return [name for name, count in counts.items() if count > 1]


def parse_header(row: Iterable[object]) -> Header:
    """Make a header of the displayed cells of row 1; one without any names is possible."""
    cells = ["" if cell is None else str(cell) for cell in row]
    while cells and not cells[-1].strip():
        cells.pop()
    columns: dict[str, int] = {}
    trimmed: dict[str, int] = {}
    for column, name in enumerate(cells):
        if name.strip() and name.strip() != ROW_INDEX:
            columns.setdefault(name, column)
            trimmed.setdefault(name.strip(), column)
    return Header(cells=tuple(cells), columns=columns, trimmed=trimmed)
