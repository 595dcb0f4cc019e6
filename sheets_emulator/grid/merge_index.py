"""Index of a worksheet's merges by row.

Rules:
- The list of merges can only grow. After another change of the list, the index is invalid.
- The search uses the first rows of merges. A merge with very many rows makes every search slower.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from sheets_emulator.grid.box import Box
from sheets_emulator.grid.marks import Merge

ENDLESS = 2**31  # past the last row and column of every grid


@dataclass(kw_only=True)
class MergeIndex:
    """Index of a list of merges. A search first adds the merges that were appended to the list."""

    merges: list[Merge]
    _tops: list[int] = field(default_factory=list)
    _boxes: list[Box] = field(default_factory=list)  # sorted by top row
    _tallest: int = 0

    def overlapping(self, box: Box) -> list[Box]:
        """Return the merges that overlap a box (rectangle of cells), from top to bottom."""
        for merge in self.merges[len(self._boxes) :]:
            self._add(merge)
        first = bisect_right(self._tops, box.top - self._tallest)
        end = bisect_left(self._tops, box.bottom, lo=first)
        return [each for each in self._boxes[first:end] if each.overlaps(box)]

    def without(self, boxes: Iterable[Box]) -> "MergeIndex":
        """Return an index without these merges, and with a new list of merges."""
        gone = {(each.top, each.left) for each in boxes}
        kept = [each for each in self._boxes if (each.top, each.left) not in gone]
        return MergeIndex(
            merges=[each for each in self.merges if (each.span.top, each.span.left) not in gone],
            _tops=[each.top for each in kept],
            _boxes=kept,
            _tallest=self._tallest,
        )

    def _add(self, merge: Merge) -> None:
        span = merge.span
        bottom = ENDLESS if span.bottom is None else span.bottom
        right = ENDLESS if span.right is None else span.right
        at = bisect_left(self._tops, span.top)
        self._tops.insert(at, span.top)
        self._boxes.insert(at, Box(top=span.top, left=span.left, bottom=bottom, right=right))
        self._tallest = max(self._tallest, bottom - span.top)
