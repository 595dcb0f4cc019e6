"""A worksheet as it was read: its header and its two halves, both kept by column."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from gateway.rows.header import ROW_INDEX, Header, parse_header
from gateway.rows.tag import row_tag

Column = Sequence[object]
"""The cells of one column from row 1 down; blank cells at its end are left out."""

FIRST_DATA_ROW = 2


@dataclass(frozen=True)
class Table:
    """An immutable worksheet: what it displays and, once asked for, what its cells hold.

    The displayed half answers rows, plain lists and the last row; the typed half (numbers,
    booleans, serial dates) is needed to compare and sort.
    """

    header: Header
    displayed: Sequence[Column]
    last_row: int
    """The last row with anything in it; 0 for a blank worksheet."""
    typed: Sequence[Column] | None = None

    def text(self, row: int, column: int) -> str:
        """What a cell displays; "" for an empty one."""
        cell = cell_at(self.displayed, row, column)
        return cell if isinstance(cell, str) else ""

    def record(self, row: int, columns: Sequence[tuple[str, int]]) -> dict[str, object]:
        """`rowIndex` and the named columns of a row; an empty cell is None."""
        record: dict[str, object] = {ROW_INDEX: row}
        for name, column in columns:
            record[name] = self.text(row, column) or None
        return record

    def tag(self, row: int) -> str:
        """The entity tag of a row: over its header and all that it displays."""
        cells = [cell_at(self.displayed, row, column) for column in range(len(self.displayed))]
        return row_tag(self.header.cells, cells)

    def with_typed(self, typed: Sequence[Column]) -> "Table":
        return replace(self, typed=typed)

    def is_torn(self, typed: Sequence[Column]) -> bool:
        """Whether `typed` was read from another state of the worksheet than the displayed half.

        Text and empty cells are the same in both halves, but for what explains an error; where one
        differs, the sheet changed in between.
        """
        nothing: Column = ()
        return any(
            isinstance(value, str | None) and not _is_same(value or "", shown or "")
            for cells, texts in zip_longest(typed, self.displayed, fillvalue=nothing)
            for value, shown in zip_longest(cells, texts)
        )


def make_table(displayed: Sequence[Column]) -> Table:
    """A table of the displayed half, as columns from row 1 down."""
    return Table(
        header=parse_header(cell_at(displayed, 1, column) for column in range(len(displayed))),
        displayed=displayed,
        last_row=max((_filled(cells) for cells in displayed), default=0),
    )


def cell_at(columns: Sequence[Column], row: int, column: int) -> object:
    """One cell of a half, None past the end of its column."""
    if column >= len(columns) or row > len(columns[column]):
        return None
    return columns[column][row - 1]


def _is_same(typed: str, shown: object) -> bool:
    """Whether a typed text is what the cell displays: `#N/A (Did not find …)` displays `#N/A`."""
    if typed == shown:
        return True
    return typed.startswith("#") and typed.partition(" (")[0] == shown


def _filled(cells: Column) -> int:
    """How many cells a column has up to the last that is not blank."""
    count = len(cells)
    while count and cells[count - 1] in ("", None):
        count -= 1
    return count
