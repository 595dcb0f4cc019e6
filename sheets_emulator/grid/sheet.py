"""A worksheet: a grid of cells with a size, and marks such as merges and named ranges.

Rules:
- Rows and columns count from 0. Boxes (rectangles of cells) passed to this module are within the
  grid.
- Rows are tuples up to the last used cell or longer. A write replaces a row's tuple, so that copies
  of a worksheet share unchanged rows.
- Limits of the workbook and error texts are elsewhere.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.box import Box, sized
from sheets_emulator.grid.cell import (
    Cell,
    Content,
    emptied,
    is_blank,
    rewritten,
    whole,
)
from sheets_emulator.grid.developer_metadata import DeveloperMetadata
from sheets_emulator.grid.marks import Filter, Line, Merge, NamedRange, NativeTable, Protection
from sheets_emulator.grid.merge_index import ENDLESS, MergeIndex
from sheets_emulator.reply import Json

Row = tuple[Content, ...]


@dataclass(kw_only=True)
class Sheet:
    """A worksheet.

    `options` are the members of GridProperties other than sizes. `look` are the members of
    SheetProperties without other effects (`tabColorStyle`, `rightToLeft`). Both contain only set
    members. `has_formulas` is False if no cell can have a formula, and `has_arrays` is False if no
    cell can have an array formula.
    """

    sheet_id: int
    title: str
    row_count: int
    column_count: int
    hidden: bool = False
    options: Json = field(default_factory=dict)
    look: Json = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    has_formulas: bool = False
    has_arrays: bool = False
    protections: list[Protection] = field(default_factory=list)
    names: list[NamedRange] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)  # at most one
    tables: list[NativeTable] = field(default_factory=list)
    metadata: list[DeveloperMetadata] = field(default_factory=list)
    row_lines: dict[int, Line] = field(default_factory=dict)
    column_lines: dict[int, Line] = field(default_factory=dict)
    _blank_rows: list[int] | None = field(default=None, repr=False, compare=False)
    _width: int | None = field(default=None, repr=False, compare=False)
    _margin: int | None = field(default=None, repr=False, compare=False)
    _merge_index: MergeIndex | None = field(default=None, repr=False, compare=False)

    def copy(self) -> "Sheet":
        """Return an independent copy, which shares the immutable rows."""
        return replace(
            self,
            rows=self.rows.copy(),
            protections=self.protections.copy(),
            names=self.names.copy(),
            merges=self.merges.copy(),
            filters=self.filters.copy(),
            tables=self.tables.copy(),
            metadata=self.metadata.copy(),
            row_lines=self.row_lines.copy(),
            column_lines=self.column_lines.copy(),
            _blank_rows=None if self._blank_rows is None else self._blank_rows.copy(),
            _merge_index=None,
        )

    @property
    def cell_count(self) -> int:
        return self.row_count * self.column_count

    @property
    def grid(self) -> Box:
        return sized(top=0, left=0, height=self.row_count, width=self.column_count)

    @property
    def width(self) -> int:
        """Number of columns up to the last stored column."""
        if self._width is None:
            self._width = max(map(len, self.rows), default=0)
        return self._width

    @property
    def margin(self) -> int:
        """Number of blank columns at the left."""
        if self._margin is None:
            margin = ENDLESS
            for row in self.rows:
                if not margin:
                    break
                margin = _first_used(row[:margin], margin)
            self._margin = margin
        return self._margin

    @property
    def blank_rows(self) -> Sequence[int]:
        """Indexes of the blank rows among the stored rows, in order."""
        if self._blank_rows is None:
            self._blank_rows = [
                index
                for index, row in enumerate(self.rows)
                if not row or (type(row[0]) is not str and all(map(is_blank, row)))
            ]
        return self._blank_rows

    def lines(self, *, is_rows: bool) -> dict[int, Line]:
        """Return the rows or columns with non-default properties, by index."""
        return self.row_lines if is_rows else self.column_lines

    def holds(self, span: Span) -> bool:
        """True if a range starts inside the grid."""
        return span.top < self.row_count and span.left < self.column_count

    def clamped(self, span: Span) -> Box:
        """Return the cells of a range within the grid. Open ends become the end of the grid."""
        bottom = self.row_count if span.bottom is None else span.bottom
        right = self.column_count if span.right is None else span.right
        return Box(
            top=span.top,
            left=span.left,
            bottom=min(bottom, self.row_count),
            right=min(right, self.column_count),
        )

    def content(self, row: int, column: int) -> Content:
        """Return the stored content of a cell, or None if nothing is stored."""
        if 0 <= row < len(self.rows) and 0 <= column < len(self.rows[row]):
            return self.rows[row][column]
        return None

    def cell(self, row: int, column: int) -> Cell:
        """Return a cell. The cell is blank if nothing is stored."""
        return whole(self.content(row, column))

    def read(self, box: Box) -> list[Row]:
        """Return the contents of a box by row, without trailing cells that were never written."""
        if box.left == 0 and box.right >= self.width:
            return self.rows[box.top : box.bottom]
        return [row[box.left : box.right] for row in self.rows[box.top : box.bottom]]

    def padded(self, row: int, width: int) -> list[Content]:
        """Return the contents of a row as a list of at least `width` items."""
        kept = self.rows[row] if row < len(self.rows) else ()
        return [*kept, *[None] * (width - len(kept))]

    def write(self, row: int, left: int, cells: Sequence[Cell | None]) -> None:
        """Enter cells into a row from column `left`. None leaves a cell unchanged.

        Formats and notes stay.
        """
        contents = self.padded(row, left + len(cells))
        for column, cell in enumerate(cells, start=left):
            if cell is not None:
                contents[column] = rewritten(contents[column], cell)
        self.note_formulas(cells)
        self.replace_row(row, contents)

    def note_formulas(self, contents: Sequence[Content]) -> None:
        """Set `has_formulas` and `has_arrays` if the written contents have formulas."""
        for content in contents:
            if isinstance(content, Cell) and content.formula is not None:
                self.has_formulas = True
                self.has_arrays |= content.is_array

    def clear(self, box: Box) -> None:
        """Clear the values of a box. Formats and notes stay."""
        for index in range(box.top, min(box.bottom, len(self.rows))):
            row = self.rows[index]
            if any(content is not None for content in row[box.left : box.right]):
                inner = map(emptied, row[box.left : box.right])
                self.replace_row(index, [*row[: box.left], *inner, *row[box.right :]])

    def replace_row(self, index: int, contents: Sequence[Content]) -> None:
        """Store a row. Missing rows before `index` are added as blank."""
        known = self._blank_rows
        if known is not None:
            known.extend(range(len(self.rows), index))
            _note(known, index, is_among=all(map(is_blank, contents)))
        self.rows.extend([()] * (index + 1 - len(self.rows)))
        self.rows[index] = tuple(contents)
        self._width = max(self.width, len(contents))
        if self._margin:
            self._margin = _first_used(contents[: self._margin], self._margin)

    def replace_rows(self, rows: list[Row]) -> None:
        self.rows = rows
        self._blank_rows = self._width = self._margin = None

    def grow(self, *, row_count: int, column_count: int) -> None:
        self.row_count = max(self.row_count, row_count)
        self.column_count = max(self.column_count, column_count)

    def is_used(self, box: Box) -> bool:
        """True if a box has a cell that is not blank. The box can extend past the grid."""
        left = max(box.left, self.margin)
        if box.right <= left or left >= self.width:
            return False
        rows = self.rows[max(box.top, 0) : max(box.bottom, 0)]
        return any(not is_blank(content) for row in rows for content in row[left : box.right])

    def merges_in(self, box: Box) -> list[Box]:
        return self._indexed().overlapping(box)

    def remove_merges(self, boxes: Sequence[Box]) -> None:
        """Remove merges that `merges_in` returned."""
        if boxes:
            self._merge_index = self._indexed().without(boxes)
            self.merges = self._merge_index.merges

    def last_used(self, box: Box) -> tuple[int, int] | None:
        """Return row and column of the last non-blank cell in the last row with data, or None."""
        for row in range(min(box.bottom, len(self.rows)) - 1, box.top - 1, -1):
            contents = self.rows[row]
            for column in range(min(box.right, len(contents)) - 1, box.left - 1, -1):
                if not is_blank(contents[column]):
                    return row, column
        return None

    def data_end(self, box: Box) -> int:
        """Return the index after the last row with data in a box, or `box.top` without data.

        An unticked checkbox is data (reported by users). A formula that displays nothing is data,
        too (assumed).
        """
        for row in range(min(box.bottom, len(self.rows)) - 1, box.top - 1, -1):
            if not all(map(is_blank, self.rows[row][box.left : box.right])):
                return row + 1
        return box.top

    def _indexed(self) -> MergeIndex:
        if self._merge_index is None or self._merge_index.merges is not self.merges:
            self._merge_index = MergeIndex(merges=self.merges)
        return self._merge_index


def full_row(sheet: Sheet, row: int, box: Box) -> list[Cell]:
    """Return the cells of a row in the columns of a box."""
    return [sheet.cell(row, column) for column in range(box.left, box.right)]


def _first_used(contents: Sequence[Content], otherwise: int) -> int:
    """Return the index of the first non-blank content, or `otherwise` if all are blank."""
    if contents.count(None) == len(contents):  # common case: nothing is stored
        return otherwise
    used = (index for index, each in enumerate(contents) if not is_blank(each))
    return next(used, otherwise)


def _note(indexes: list[int], index: int, *, is_among: bool) -> None:
    """Add an index to a sorted list, or remove it if `is_among` is False."""
    at = bisect_left(indexes, index)
    was_among = at < len(indexes) and indexes[at] == index
    if is_among and not was_among:
        insort(indexes, index)
    if was_among and not is_among:
        del indexes[at]
