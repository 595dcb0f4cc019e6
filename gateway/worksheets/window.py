"""Window: the few rows of a large worksheet that a page or a row needs."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gateway.table.header import Header
from gateway.table.record import text_at
from gateway.table.table import Table
from gateway.worksheets.snapshot import Effect, Part, RowSpan, is_same, texts_of

CELL_BYTES = 65
"""Approximate memory of a cell besides its characters."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Window:
    """The displayed rows of a span, without blank ones at the worksheet's end."""

    span: RowSpan
    header: Header
    rows: Sequence[Sequence[str]]
    has_next: bool
    read_seconds: float
    """Start of its read."""
    is_expired: bool = False

    @cached_property
    def byte_count(self) -> int:
        return CELL_BYTES + sum(CELL_BYTES * len(row) + sum(map(len, row)) for row in self.rows)

    @property
    def last_row(self) -> int:
        """The last row that is not blank, within the window."""
        return self._end - 1 if self.has_next else self.span.first_row + len(self.rows) - 1

    def began_seconds(self, _: Part) -> float:
        return self.read_seconds

    def contains(self, span: RowSpan) -> bool:
        """True if it has all rows of a span; below a window that ends the worksheet are none."""
        is_above_end = span.first_row + span.row_count <= self._end
        return span.first_row >= self.span.first_row and (is_above_end or not self.has_next)

    def cut(self, span: RowSpan) -> "Window":
        """The window of a span that it contains."""
        first = span.first_row - self.span.first_row
        end = first + span.row_count
        has_next = self.has_next or end < len(self.rows)
        return replace(self, span=span, rows=self.rows[first:end], has_next=has_next)

    def agrees(self, other: "Window | Table") -> bool:
        """True if common rows, headers and ends are equal.

        A window past the grid has no header.
        """
        own, others = self.header.cells, other.header.cells
        if own and others and own != others:
            return False
        if isinstance(other, Table):
            return self.has_next == (other.last_row >= self._end) and all(
                is_same(self._row(row), texts)
                for row, texts in zip(self._numbers, other.texts(self._numbers), strict=True)
            )
        if self.is_ended_before(other) or other.is_ended_before(self):
            return False
        common = range(max(self.span.first_row, other.span.first_row), min(self._end, other._end))
        return all(is_same(self._row(row), other._row(row)) for row in common)

    def is_ended_before(self, other: "Window") -> bool:
        """True if the worksheet ends in this window, and the other has rows below it."""
        if self.has_next:
            return False
        last = other._end if other.has_next else other.span.first_row + len(other.rows) - 1
        return last >= self._end

    def shows(self, header: Header, texts: Mapping[int, Mapping[int, str]]) -> bool:
        """True if rows in the window display these texts, by row and column."""
        if self.header.cells and self.header.cells != header.cells:
            return False
        if not self.has_next and any(
            row >= self._end and any(cells.values()) for row, cells in texts.items()
        ):
            return False
        return all(
            text_at(self._row(row), column) == text
            for row, cells in texts.items()
            if row in self._numbers
            for column, text in cells.items()
        )

    def has_rows(self, header: Header, rows: Mapping[int, Sequence[str]]) -> bool:
        """True if whole rows in the window display these texts, from column A."""
        if self.header.cells and self.header.cells != header.cells:
            return False
        if not self.has_next and any(
            row >= self._end and any(texts) for row, texts in rows.items()
        ):
            return False
        return all(is_same(self._row(row), rows[row]) for row in self._numbers if row in rows)

    def after(self, effects: Sequence[Effect]) -> "Window | None":
        """The window after consecutive writes; None if it contradicts them.

        The read behind it may have seen the first ones already.
        """
        for count in range(len(effects) + 1):
            if count == 0 or self.shows(effects[0].header, texts_of(effects[:count])):
                found: Window | None = self
                for effect in effects[count:]:
                    found = found and found.changed(effect)
                if found is not None:
                    return found
        return None

    def changed(self, effect: Effect) -> "Window | None":
        """The window after a write; None if its rows are then unknown."""
        if self.header.cells != effect.header.cells:
            return None
        if effect.removed:
            return self._continued(effect) if self.has_next else self._ended(effect)
        if effect.empties_cells:
            return None  # the worksheet may end elsewhere now
        first_row, rows, patches = self.span.first_row, [*self.rows], effect.patches
        last_row, new_rows = first_row + len(rows) - 1, effect.new_rows
        if new_rows and new_rows[0] < first_row:
            return None  # new rows are below all others
        if not self.has_next and (
            (new_rows and new_rows[-1] > last_row) or any(row >= self._end for row in patches)
        ):
            return None  # the worksheet ends elsewhere now
        for at in range(len(rows)):
            patch = patches.get(first_row + at)
            if patch is None:
                continue
            before = effect.before.get(patch.row)
            texts = range(max([len(rows[at]), *(column + 1 for column in patch.texts)]))
            shown = [text_at(rows[at], column) for column in texts]
            after = [patch.texts.get(column, text) for column, text in enumerate(shown)]
            if before is None and shown != after:
                return None
            if before is not None:
                seen = [text_at(before, column) for column in texts]
                written = [patch.texts.get(column, text) for column, text in enumerate(seen)]
                if shown not in (seen, written) or any(before[len(texts) :]):
                    return None
            rows[at] = after
        return replace(self, rows=rows)

    def _continued(self, effect: Effect) -> "Window | None":
        """The window after rows were removed, if they are below it and another one is left there.

        If they are not, rows move into it that it does not know.
        """
        is_above = self._end <= effect.removed[0] and self._end <= effect.last_row
        return self if is_above else None

    def _ended(self, effect: Effect) -> "Window | None":
        """The window after rows were removed, if the worksheet ended in it: no others move in."""
        first_row, removed = self.span.first_row, effect.removed
        inside = removed[bisect_left(removed, first_row) :]
        if inside and inside[-1] > self.last_row:
            return None
        if any(not is_same(self._row(row), effect.before[row]) for row in inside):
            return None
        gone = frozenset(inside)
        kept = [texts for row, texts in enumerate(self.rows, first_row) if row not in gone]
        rows = kept[len(removed) - len(inside) :]  # others moved up and out
        while rows and not any(rows[-1]):
            rows.pop()
        return replace(self, rows=rows)

    @property
    def _end(self) -> int:
        """The first row below the span."""
        return self.span.first_row + self.span.row_count

    @property
    def _numbers(self) -> range:
        """The row numbers of the span."""
        return range(self.span.first_row, self._end)

    def _row(self, row: int) -> Sequence[str]:
        at = row - self.span.first_row
        return self.rows[at] if at < len(self.rows) else ()
