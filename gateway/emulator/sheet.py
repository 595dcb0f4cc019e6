"""One worksheet: a grid of cells with a size, and what is protected in it.

Rules
- Rows and columns are zero-based; a Box given to this file lies inside the grid.
- Cells are immutable; rows are ragged lists that end where the last used cell is or later.
- Limits of the workbook and texts of errors are not known here.
"""

from dataclasses import dataclass, field, replace

from gateway.emulator.a1 import Span
from gateway.emulator.box import Box, sized
from gateway.emulator.cell import BLANK, Cell, rewritten

Row = list[Cell]


@dataclass(frozen=True, kw_only=True)
class Protection:
    """A protected part of a worksheet."""

    protection_id: int
    span: Span
    warning_only: bool = False
    description: str | None = None
    editors: tuple[str, ...] = ()

    def allows(self, account: str) -> bool:
        """May the account write here? An account of "" is the owner, who always may."""
        return not account or self.warning_only or account in self.editors


@dataclass(kw_only=True)
class Sheet:
    """A worksheet; `grid_options` and `hidden` are shown in its properties only when set."""

    sheet_id: int
    title: str
    row_count: int
    column_count: int
    hidden: bool = False
    grid_options: dict[str, int | bool] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    protections: list[Protection] = field(default_factory=list)

    def copy(self) -> "Sheet":
        """An independent copy."""
        return replace(
            self,
            grid_options=dict(self.grid_options),
            rows=[row.copy() for row in self.rows],
            protections=list(self.protections),
        )

    @property
    def cell_count(self) -> int:
        return self.row_count * self.column_count

    @property
    def grid(self) -> Box:
        return sized(top=0, left=0, height=self.row_count, width=self.column_count)

    def holds(self, span: Span) -> bool:
        """Does the span start inside the grid?"""
        return span.top < self.row_count and span.left < self.column_count

    def clamped(self, span: Span) -> Box:
        """The part of a span that lies in the grid."""
        bottom = self.row_count if span.bottom is None else span.bottom
        right = self.column_count if span.right is None else span.right
        return Box(
            top=span.top,
            left=span.left,
            bottom=min(bottom, self.row_count),
            right=min(right, self.column_count),
        )

    def cell(self, row: int, column: int) -> Cell:
        """The cell at a place; blank outside of what is stored."""
        if 0 <= row < len(self.rows) and 0 <= column < len(self.rows[row]):
            return self.rows[row][column]
        return BLANK

    def read(self, box: Box) -> list[Row]:
        """The cells of a box row by row, without what was never written at its ends."""
        return [row[box.left : box.right] for row in self.rows[box.top : box.bottom]]

    def write(self, row: int, column: int, cell: Cell) -> None:
        """Enter a cell over the one that is there, whose format stays."""
        self.place(row, column, rewritten(self.cell(row, column), cell))

    def place(self, row: int, column: int, cell: Cell) -> None:
        """Put a cell, format and all, in the place of the one that is there."""
        while len(self.rows) <= row:
            self.rows.append([])
        stored = self.rows[row]
        stored.extend([BLANK] * (column + 1 - len(stored)))
        stored[column] = cell

    def clear(self, box: Box) -> None:
        """Empty the cells of a box; formats stay."""
        for stored in self.rows[box.top : box.bottom]:
            for column in range(box.left, min(box.right, len(stored))):
                stored[column] = Cell(pattern=stored[column].pattern)

    def grow(self, *, row_count: int, column_count: int) -> None:
        """Make the grid at least this large."""
        self.row_count = max(self.row_count, row_count)
        self.column_count = max(self.column_count, column_count)

    def resize(self, *, row_count: int, column_count: int) -> None:
        """Make the grid this large; what lies outside is lost."""
        self.row_count, self.column_count = row_count, column_count
        del self.rows[row_count:]
        for stored in self.rows:
            del stored[column_count:]

    def is_used(self, box: Box) -> bool:
        """Does a box hold anything? What lies outside the grid holds nothing."""
        left = max(box.left, 0)
        rows = self.rows[max(box.top, 0) : max(box.bottom, 0)]
        return any(not cell.is_blank for row in rows for cell in row[left : box.right])

    def last_used(self, box: Box) -> tuple[int, int] | None:
        """The place of the last non-blank cell of a box, by row and then by column."""
        for row in range(min(box.bottom, len(self.rows)) - 1, box.top - 1, -1):
            cells = self.rows[row]
            for column in range(min(box.right, len(cells)) - 1, box.left - 1, -1):
                if not cells[column].is_blank:
                    return row, column
        return None
