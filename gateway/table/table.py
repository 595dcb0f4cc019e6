"""A worksheet in memory: its header and two renderings, by column.

Rules: text and empty cells are equal in both renderings, except for the explanation of an error. If
another one differs, the sheet changed between the two reads. Equal cells are one object.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from operator import itemgetter
from typing import Any

from gateway.table.gaps import NO_GAPS, Gaps, all_cells, with_gaps, without_gaps
from gateway.table.header import Header, parse_header
from gateway.table.index import ColumnIndex, find_gaps
from gateway.table.ordered import Ranked, rows_ranked
from gateway.table.patch import Column, RowPatch, last_filled, patched_columns
from gateway.table.steps import BLOCK, Work
from gateway.table.view import ROW_INDEX, View

FIRST_DATA_ROW = 2

_PIECE = 16_384
"""Maximum number of cells in one C call of a comparison."""

_COMPARISON_STEPS = 1 / 2
_SHARING_STEPS = 3
"""Steps per cell."""

_NOT_TEXT = frozenset({int, float, bool})

Pick = Callable[[Any], Sequence[object]]
"""Takes some cells out of a column."""


@dataclass(frozen=True)
class Table:
    """An immutable worksheet: its displayed rendering and, after `with_typed`, its typed one.

    The displayed rendering answers rows, plain lists and the last row; the typed rendering
    (numbers, booleans, serial dates) is needed to compare and sort. All queries on a table share
    its column indexes.
    """

    header: Header
    displayed: Sequence[Column]
    last_row: int
    """The last row with a filled cell; 0 for a blank worksheet."""
    typed: Sequence[Column] | None = None
    is_mixed: bool = False
    """True if the renderings were read from different states of the worksheet."""
    indexes: dict[int, ColumnIndex] = field(default_factory=dict, repr=False, compare=False)
    """Column indexes by column, made on first use. They include removed rows."""
    gaps: Gaps = field(default=NO_GAPS, repr=False, compare=False)
    """The places of removed rows: a row's place is its number less 1, and stays when rows go."""

    @property
    def size(self) -> int:
        """One past the highest place."""
        return max(FIRST_DATA_ROW - 1, self.last_row) + len(self.gaps)

    @cached_property
    def rows(self) -> Ranked:
        """All data rows in their order, by their places, and removed ones."""
        return rows_ranked(range(FIRST_DATA_ROW - 1, self.size))

    def rows_at(self, places: Sequence[int]) -> Sequence[int]:
        """The numbers of the rows at these places."""
        if not self.gaps:
            return [place + 1 for place in places]
        return [place + 1 - self.gaps.before(place) for place in places]

    def text(self, row: int, column: int) -> str:
        """The displayed text of a cell; "" for an empty one."""
        cell = cell_at(self.displayed, row, column)
        return cell if isinstance(cell, str) else ""

    def texts(self, rows: Sequence[int]) -> list[Sequence[str]]:
        """The displayed texts of rows, all columns of each, made column by column."""
        if len(rows) < 2 or not self.displayed:
            return [[self.text(row, at) for at in range(len(self.displayed))] for row in rows]
        places = self._places(rows)
        pick, end = itemgetter(*places), max(places) + 1
        columns: list[Sequence[Any]] = [
            pick(cells)
            if len(cells) >= end
            else [cells[place] if place < len(cells) else "" for place in places]
            for cells in map(all_cells, self.displayed)
        ]
        return [*zip(*columns, strict=True)]

    def record(self, row: int, columns: Sequence[tuple[str, int]]) -> dict[str, object]:
        """`rowIndex` and the named columns of a row; an empty cell is None."""
        record: dict[str, object] = {ROW_INDEX: row}
        displayed, width, place = self.displayed, len(self.displayed), row - 1
        for name, column in columns:
            cells = displayed[column] if column < width else ()
            record[name] = (cells[place] or None) if place < len(cells) else None
        return record

    def records(
        self, rows: Sequence[int], columns: Sequence[tuple[str, int]]
    ) -> list[dict[str, object]]:
        """The records of several rows, made column by column."""
        if len(rows) < 2:
            return [self.record(row, columns) for row in rows]
        names = [ROW_INDEX, *(name for name, _ in columns)]
        places = self._places(rows)
        pick, end = itemgetter(*places), max(places) + 1
        cells = [self._picked(column, rows, pick, end) for _, column in columns]
        return [dict(zip(names, values, strict=True)) for values in zip(rows, *cells, strict=True)]

    def tag(self, row: int, view: View) -> str:
        """The entity tag of a row for the holder of a view."""
        place = row - 1
        return view.tag(row, [c[place] if place < len(c) else None for c in self.displayed])

    def index(self, column: int) -> ColumnIndex:
        if self.typed is None:
            raise ValueError("a query is evaluated on typed tables only")
        index = self.indexes.get(column)
        if index is None:
            index = ColumnIndex(
                all_cells(column_at(self.displayed, column)),
                all_cells(column_at(self.typed, column)),
                self.size,
            )
            self.indexes[column] = index
        return index

    @property
    def index_bytes(self) -> int:
        """Approximate memory of the indexes made so far."""
        return sum(index.byte_count for index in self.indexes.values())

    def with_typed(self, typed: Sequence[Column]) -> Work["Table"]:
        """The table with its typed rendering, which shares cells with the displayed one."""
        displayed = yield from without_gaps(self.displayed)
        shared = yield from share_cells(displayed, typed)
        return replace(
            self,
            displayed=displayed,
            typed=shared.columns,
            is_mixed=shared.is_mixed,
            indexes={},
            gaps=NO_GAPS,
        )

    def patched(self, rows: Sequence[RowPatch]) -> Work["Table"]:
        """The table after the gateway's own write to data rows; the header does not change.

        It keeps the indexes of columns that the write did not touch, and none if the number of
        rows changed.
        """
        lines = [self.gaps.nth(row.row - 1) + 1 for row in rows]  # row numbers without gaps
        texts = [(line, row.texts) for line, row in zip(lines, rows, strict=True)]
        values = [(line, row.values) for line, row in zip(lines, rows, strict=True)]
        displayed = yield from patched_columns([*map(all_cells, self.displayed)], texts)
        typed = self.typed
        if typed:
            typed = yield from patched_columns([*map(all_cells, typed)], values)
        after = self._with_cells(displayed, typed, self.gaps)
        touched = set[int]().union(*(cells for _, cells in (*texts, *values)))
        indexes = {
            column: index
            for column, index in self.indexes.items()
            if column not in touched and after.last_row == self.last_row
        }
        return replace(after, indexes=indexes)

    def without_rows(self, rows: Sequence[int]) -> "Table":
        """The table after data rows were removed: those below move up. It keeps all indexes.

        Cells are neither copied nor moved: the places of the rows become gaps.
        """
        places = [self.gaps.nth(row - 1) for row in rows if row <= self.last_row]
        if not places:
            return self
        displayed, typed = map(all_cells, self.displayed), self.typed
        after = self._with_cells(
            tuple(displayed), typed and tuple(map(all_cells, typed)), self.gaps.joined(places)
        )
        find_gaps(self.indexes.values(), after.gaps, before=self.gaps)
        return replace(after, indexes={**self.indexes})

    def _with_cells(
        self, displayed: Sequence[Column], typed: Sequence[Column] | None, gaps: Gaps
    ) -> "Table":
        """The table of other cells, including those at gaps, without indexes.

        Places behind its last row are gaps too, if cells of removed rows may be there.
        """
        seen = with_gaps(displayed, gaps)
        last_row = last_filled(seen)
        if gaps:
            end = gaps.nth(last_row - 1) + 1 if last_row else FIRST_DATA_ROW - 1
            gaps = gaps.extended(end, max(end, self.size, gaps.numbers[-1] + 1))
        return replace(
            self,
            displayed=seen,
            typed=typed and with_gaps(typed, gaps),
            last_row=last_row,
            indexes={},
            gaps=gaps,
        )

    def _places(self, rows: Sequence[int]) -> list[int]:
        """The places of rows in all cells of a column."""
        places = [row - 1 for row in rows]
        return [*map(self.gaps.nth, places)] if self.gaps else places

    def _picked(self, column: int, rows: Sequence[int], pick: Pick, end: int) -> Sequence[object]:
        """The displayed texts of the cells of some rows, None for empty cells.

        `pick` takes them out of all cells, `end` is one past the last place.
        """
        cells = all_cells(column_at(self.displayed, column))
        if len(cells) < end:
            return [self.text(row, column) or None for row in rows]
        picked = pick(cells)
        return [text or None for text in picked] if "" in picked else picked


def make_table(displayed: Sequence[Column]) -> Table:
    """A table of the displayed rendering, as columns from row 1 down."""
    return Table(
        header=parse_header(cell_at(displayed, 1, column) for column in range(len(displayed))),
        displayed=displayed,
        last_row=last_filled(displayed),
    )


def column_at(columns: Sequence[Column], column: int) -> Column:
    """One column of a rendering; an empty one past the last."""
    return columns[column] if column < len(columns) else ()


def cell_at(columns: Sequence[Column], row: int, column: int) -> object:
    """One cell of a rendering, None past the end of its column."""
    cells = columns[column] if column < len(columns) else ()
    return cells[row - 1] if row <= len(cells) else None


@dataclass(frozen=True)
class TypedColumns:
    """The typed columns, which share equal cells with the displayed ones."""

    columns: tuple[Column, ...]
    is_mixed: bool
    """True if the typed rendering was read from another state of the worksheet."""


def share_cells(displayed: Sequence[Column], typed: Sequence[Column]) -> Work[TypedColumns]:
    """Replace typed cells by equal displayed ones."""
    nothing: Column = ()
    columns: list[Column] = []
    is_mixed = False
    for values, texts in zip_longest(typed, displayed, fillvalue=nothing):
        if (yield from _is_equal(values, texts)):
            columns.append(texts)
        elif (yield from _is_without_text(values, texts)):
            columns.append(values)
        else:
            columns.append((yield from _with_shared_texts(values, texts)))
            is_mixed = is_mixed or not (yield from _is_consistent(columns[-1], texts))
    return TypedColumns(tuple(columns[: len(typed)]), is_mixed)


def _is_equal(values: Column, texts: Column) -> Work[bool]:
    if len(values) != len(texts):
        return False
    for start in range(0, len(texts), _PIECE):
        piece = texts[start : start + _PIECE]
        yield int(len(piece) * _COMPARISON_STEPS)
        if values[start : start + _PIECE] != piece:
            return False
    return True


def _is_without_text(values: Column, texts: Column) -> Work[bool]:
    """True if the header is equal and all cells below it are numbers or booleans."""
    if len(values) != len(texts) or values[:1] != texts[:1]:
        return False
    for start in range(1, len(values), _PIECE):
        piece = values[start : start + _PIECE]
        yield int(len(piece) * _COMPARISON_STEPS)
        if not _NOT_TEXT.issuperset(map(type, piece)):
            return False
    return True


def _with_shared_texts(values: Column, texts: Column) -> Work[Column]:
    """The values, each replaced by its displayed text if equal."""
    same: list[object] = []
    for start in range(0, min(len(values), len(texts)), BLOCK):
        yield BLOCK
        pairs = zip(values[start : start + BLOCK], texts[start : start + BLOCK], strict=False)
        same += [text if value == text else value for value, text in pairs]
    return (*same, *values[len(same) :])


def _is_consistent(values: Column, texts: Column) -> Work[bool]:
    for start in range(0, max(len(values), len(texts)), BLOCK):
        yield _SHARING_STEPS * BLOCK
        pairs = zip_longest(values[start : start + BLOCK], texts[start : start + BLOCK])
        if not all(map(_is_consistent_cell, pairs)):
            return False
    return True


def _is_consistent_cell(pair: tuple[object, object]) -> bool:
    value, text = pair
    return (
        value is text
        or not isinstance(value, str | None)
        or _is_displayed_as(value or "", text or "")
    )


def _is_displayed_as(typed: str, shown: object) -> bool:
    """True if a typed text is displayed as `shown`: `#N/A (Did not find …)` as `#N/A`."""
    if typed == shown:
        return True
    return typed.startswith("#") and typed.partition(" (")[0] == shown
