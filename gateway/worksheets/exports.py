"""Exports: all rows that match a query, from one snapshot, encoded in blocks.

Rules
- An export uses one immutable table until its end, so later reads and writes do not change the
  exported rows. Blocks are not cached.
- The scheduler makes blocks in short slices (`gateway.table.steps`). All exports share one of its
  queues, so together they delay other work by one slice only.
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
"""Cells of some rows, by column number (from 0)."""

LANE: Final = "exports"
"""Name of the scheduler's queue for all exports. No API key has this ID."""

_FIRST_ROWS = 16
_MOST_CELLS = 8_192
_BLOCK_BYTES = 49_152
"""Intended bytes of an encoded block. Making such a block takes about one time slice."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """Rows that match a query, and the selected columns by number with their field names."""

    table: Table
    rows: Sequence[int]
    total: int
    """Number of all matching rows, ignoring `skip` and `limit`."""
    has_next: bool
    selected: Mapping[int, str]
    is_typed: bool
    freshness: Freshness
    scheduler: Scheduler

    async def blocks(
        self, encode: Callable[["Export", Sequence[int], Cells], Work[bytes]]
    ) -> AsyncGenerator[tuple[int, bytes]]:
        """Yield for each block the number of its rows and its encoded bytes.

        `encode` turns some rows and their cells into bytes.
        """
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
        """Return cached typed columns by column number, or None if typed columns are not cached.

        Returns None for an export of displayed texts, too.
        """
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
        """Encode as many of the rows as fit into a block. Returns their number and the bytes."""
        while True:
            yield 2 * len(rows) * (1 + len(self.selected))
            pick = self.table.picker(rows)
            texts: Cells = {
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
        """True if a spreadsheet program would read any displayed text in the CSV as a formula."""
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
