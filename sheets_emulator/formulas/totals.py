"""Cached SUM and CONCATENATE over ranges. Each cell is read about once.

Rules:
- Ranges are processed in blocks of rows. The cache has the values of each block, and the result
  after each block. So many sums over the same range, over growing ranges (running totals) or over
  ranges with the same end cost little more than one sum.
- Generators yield the cells whose formulas are not computed yet.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sheets_emulator.formulas.fold import Fold, Part, Total
from sheets_emulator.formulas.result import CellError, Evaluated
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.cell import Cell, CellValue, Content
from sheets_emulator.grid.sheet import Sheet

ROWS_OF_STRETCH = 256


class Place(NamedTuple):
    """A cell of a workbook. Row and column count from 0."""

    sheet_id: int
    row: int
    column: int


class Stretch(NamedTuple):
    """The values of a block of rows, and the first number format in the block."""

    parts: list[Part]
    pattern: str | None


class Progress(NamedTuple):
    """The intermediate result of a fold (SUM or CONCATENATE) up to a row.

    `row` is excluded. `pattern` is the first number format, or None.
    """

    row: int
    total: Part
    pattern: str | None = None


@dataclass(kw_only=True, slots=True)
class Checkpoints:
    """Intermediate results of a fold over ranges with the same start, in row order."""

    rows: list[int] = field(default_factory=list)
    kept: list[Progress] = field(default_factory=list)

    def before(self, row: int) -> Progress | None:
        """Return the last result that ends at or before the row, or None."""
        index = bisect_right(self.rows, row)
        return self.kept[index - 1] if index else None

    def keep(self, progress: Progress) -> None:
        index = bisect_right(self.rows, progress.row)
        if not index or self.rows[index - 1] != progress.row:
            self.rows.insert(index, progress.row)
            self.kept.insert(index, progress)


Held = tuple[CellValue | CellError, str | None]  # value and number format of a cell
Waiting = Callable[[Place, Content], Generator[Place, None, Evaluated]]


class Totals:
    """Cache of folds (SUM or CONCATENATE) over ranges, for one version of a workbook.

    `held` computes the value of a cell from its place and content.
    """

    def __init__(self, held: Waiting) -> None:
        self._held = held
        self._checkpoints: dict[tuple[str, int, int, int, int], Checkpoints] = defaultdict(
            Checkpoints
        )
        self._stretches: dict[tuple[str, int, Box], Stretch] = {}

    def through(
        self, fold: Fold, sheet: Sheet, box: Box
    ) -> Generator[Place, None, tuple[Total, str | None]]:
        """Return the result and number format of a fold over a box (rectangle of cells)."""
        kept = self._checkpoints[fold.name, sheet.sheet_id, box.top, box.left, box.right]
        bottom = max(box.top, min(box.bottom, len(sheet.rows)))
        progress = kept.before(bottom) or Progress(box.top, fold.start)
        while progress.row < bottom:
            row, total, pattern = progress
            part = replace(box, top=row, bottom=_end_of_stretch(row, bottom))
            stretch = yield from self._stretch(fold, sheet, part)
            joined = stretch if isinstance(stretch, CellError) else fold.join(total, stretch.parts)
            if isinstance(stretch, CellError) or isinstance(joined, CellError):
                return joined, None
            progress = Progress(part.bottom, joined, pattern or stretch.pattern)
            kept.keep(progress)
        return progress.total, progress.pattern

    def _stretch(
        self, fold: Fold, sheet: Sheet, box: Box
    ) -> Generator[Place, None, Stretch | CellError]:
        """Return the values of a block, or its first error. Complete blocks are cached."""
        key = (fold.name, sheet.sheet_id, box)
        known = self._stretches.get(key)
        if known is not None:
            return known
        held = yield from self._held_in(sheet, box)
        stretch = _stretch_of(fold, held)
        if box.height == ROWS_OF_STRETCH and not isinstance(stretch, CellError):
            self._stretches[key] = stretch
        return stretch

    def _held_in(self, sheet: Sheet, box: Box) -> Generator[Place, None, list[Held]]:
        """Return the non-blank values in a box with their number formats, up to the first error."""
        held: list[Held] = []
        for row in range(box.top, box.bottom):
            for column, content in enumerate(sheet.rows[row][box.left : box.right], start=box.left):
                if isinstance(content, Cell):
                    place = Place(sheet.sheet_id, row, column)
                    evaluated = yield from self._held(place, content)
                    held.append((evaluated.value, evaluated.pattern))
                    if isinstance(evaluated.value, CellError):
                        return held
                elif content is not None:
                    held.append((content, None))
        return held


def _end_of_stretch(row: int, bottom: int) -> int:
    """Return the end (excluded) of the block that contains a row, but at most `bottom`."""
    return min(bottom, (row // ROWS_OF_STRETCH + 1) * ROWS_OF_STRETCH)


def _stretch_of(fold: Fold, held: Iterable[Held]) -> Stretch | CellError:
    parts: list[Part] = []
    first_pattern = None
    for value, pattern in held:
        if isinstance(value, CellError):
            return value
        part = fold.part(value, pattern)
        if part is not None:
            parts.append(part)
            first_pattern = first_pattern or pattern
    return Stretch(parts, first_pattern)
