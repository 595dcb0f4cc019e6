"""Exports: all rows of a query, of one snapshot, encoded block by block.

Rules
- An export keeps its table, which is immutable, to its end: later reads and writes do not change
  it. Its blocks are not cached.
- Blocks are counted work. All exports share one lane, so that together they delay other work by one
  slice.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.table.formulas import has_sign, is_formula
from gateway.table.steps import BLOCK, CHARACTERS, Unbuilt, Work
from gateway.table.table import Table, column_at
from gateway.table.typed import typed_cells
from gateway.worksheets.answers import Freshness, TypedColumns
from gateway.worksheets.scheduler import Scheduler

Cells = Mapping[int, Sequence[Any]]
"""The cells of some rows by column."""

LANE: Final = "exports"
"""Lane of the scheduler; no key has this id."""

_FIRST_ROWS = 16
_MOST_CELLS = 8_192
_BLOCK_BYTES = 49_152
"""Maximum size of a block, which takes about a slice; a single row may exceed it."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """The matching rows of a query, and their selected columns."""

    table: Table
    rows: Sequence[int]
    total: int
    """Number of all matching rows, without `skip` and `limit`."""
    has_next: bool
    selected: Mapping[int, str]
    is_typed: bool
    freshness: Freshness
    scheduler: Scheduler

    async def blocks(
        self, encode: Callable[["Export", Sequence[int], Cells], Work[bytes]]
    ) -> AsyncGenerator[tuple[int, bytes]]:
        """Yield blocks: their number of rows, and their bytes."""
        typed = self._made_columns()
        most = max(1, _MOST_CELLS // max(1, len(self.selected)))
        at, count = 0, min(_FIRST_ROWS, most)
        while at < len(self.rows):
            work = self._block(self.rows[at : at + count], typed, encode)
            made, body = await self.scheduler.build(work, LANE)
            yield made, body
            at += made
            count = min(max(1, made * _BLOCK_BYTES // max(1, len(body))), most, 4 * made)

    def _made_columns(self) -> TypedColumns | None:
        """The typed values of all columns, if typed answers have already made them."""
        try:
            return self.table.typed_columns(self.selected) if self.is_typed else None
        except Unbuilt as unbuilt:
            unbuilt.work.close()
            return None

    def _block(
        self,
        rows: Sequence[int],
        typed: TypedColumns | None,
        encode: Callable[["Export", Sequence[int], Cells], Work[bytes]],
    ) -> Work[tuple[int, bytes]]:
        """Encode the first rows that fit into a block."""
        texts: Cells = {}
        while True:
            yield 2 * len(rows) * (1 + len(self.selected))
            pick = self.table.picker(rows)
            texts = {
                column: pick(column_at(self.table.displayed, column)) for column in self.selected
            }
            characters = sum(sum(map(len, filter(None, cells))) for cells in texts.values())
            if characters <= CHARACTERS or len(rows) == 1:
                break
            rows = rows[: max(1, len(rows) * CHARACTERS // (2 * characters))]
        cells = texts
        if typed is not None:
            cells = {column: pick(typed[column]) for column in self.selected}
        elif self.is_typed:
            cells = {}
            for column, shown in texts.items():
                values = pick(column_at(self.table.typed or (), column))
                cells[column] = yield from typed_cells(shown, values)
        return len(rows), (yield from encode(self, rows, cells))

    def may_hold_formulas(self) -> Work[bool]:
        """True if the display of a cell would be a formula in CSV."""
        for at in range(0, len(self.rows), BLOCK):
            rows = self.rows[at : at + BLOCK]
            yield len(rows)
            pick = self.table.picker(rows)
            for column in self.selected:
                yield 2 * len(rows)
                cells: Sequence[Any] = pick(column_at(self.table.displayed, column))
                texts = [*filter(None, cells)]
                if has_sign(texts) and any(map(is_formula, texts)):
                    return True
        return False
