"""Window: the few rows of a large worksheet that a page or a row needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gateway.table.header import Header
from gateway.table.record import text_at
from gateway.table.table import Table
from gateway.worksheets.snapshot import Effect, Part, RowSpan, texts_of

CELL_BYTES = 65
"""About what a cell takes beside its characters."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Window:
    """The rows of a span as displayed; blank ones at the worksheet's end left out."""

    span: RowSpan
    header: Header
    rows: Sequence[Sequence[str]]
    has_next: bool
    read_seconds: float
    """When its read began."""
    is_expired: bool = False

    @cached_property
    def byte_count(self) -> int:
        return CELL_BYTES + sum(CELL_BYTES * len(row) + sum(map(len, row)) for row in self.rows)

    def began_seconds(self, _: Part) -> float:
        return self.read_seconds

    def agrees(self, other: "Window | Table") -> bool:
        """Whether the rows that are in both, and the headers, display the same."""
        if self.header.cells != other.header.cells:
            return False
        if isinstance(other, Table):
            width = len(other.displayed)
            return all(
                _trimmed(self._row(row)) == _trimmed([other.text(row, at) for at in range(width)])
                for row in self._numbers()
            )
        return all(
            _trimmed(self._row(row)) == _trimmed(other._row(row))
            for row in self._numbers()
            if row in other._numbers()
        )

    def shows(self, header: Header, texts: Mapping[int, Mapping[int, str]]) -> bool:
        """Whether rows in the window display these texts, by row and column."""
        return self.header.cells == header.cells and all(
            text_at(self._row(row), column) == text
            for row, cells in texts.items()
            if row in self._numbers()
            for column, text in cells.items()
        )

    def after(self, effects: Sequence[Effect]) -> "Window | None":
        """The window; None if it does not show these writes."""
        is_after = not effects or self.shows(effects[-1].header, texts_of(effects))
        return self if is_after else None

    def changed(self, effect: Effect) -> "Window | None":
        """The window after a write; None if its rows are then unknown."""
        if self.header.cells != effect.header.cells:
            return None
        first_row, rows = self.span.first_row, [*self.rows]
        for patch in effect.rows:
            at, before = patch.row - first_row, effect.before.get(patch.row)
            if before is None:  # a new row, below all others
                if at < 0 or (at >= len(rows) and not self.has_next):
                    return None
            elif "" in patch.texts.values():  # the worksheet may end above it now
                return None
            if at not in range(len(rows)):
                continue
            texts = range(max([len(rows[at]), *(column + 1 for column in patch.texts)]))
            shown = [text_at(rows[at], column) for column in texts]
            after = [patch.texts.get(column, text) for column, text in enumerate(shown)]
            if before is None and shown != after:
                return None
            if before is not None:
                seen = [text_at(before, column) for column in texts]
                written = [patch.texts.get(column, text) for column, text in enumerate(seen)]
                if shown not in (seen, written) or len(_trimmed(before)) > len(texts):
                    return None
            rows[at] = after
        return replace(self, rows=rows)

    def _numbers(self) -> range:
        """The row numbers of the span."""
        return range(self.span.first_row, self.span.first_row + self.span.row_count)

    def _row(self, row: int) -> Sequence[str]:
        at = row - self.span.first_row
        return self.rows[at] if at < len(self.rows) else ()


def _trimmed(texts: Sequence[str]) -> Sequence[str]:
    """Texts without blank ones at the end."""
    end = len(texts)
    while end and not texts[end - 1]:
        end -= 1
    return texts[:end]
