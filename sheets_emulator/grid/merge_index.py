"""Index of a worksheet's merges by row.

Rules:
- Merges can only be appended to the list; otherwise the index becomes invalid.
- Merges are searched by their first rows; a very high merge makes the search slower.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from sheets_emulator.grid.box import Box
from sheets_emulator.grid.marks import Merge

ENDLESS = 2**31  # past the last row and column of every grid


@dataclass(kw_only=True)
class MergeIndex:
    """Index of a list of merges; appended merges are indexed at the next search."""

    merges: list[Merge]
    _tops: list[int] = field(default_factory=list)
    _boxes: list[Box] = field(default_factory=list)  # by top row
    _tallest: int = 0

    def overlapping(self, box: Box) -> list[Box]:
        """The merges that overlap a box, from top to bottom."""
        for merge in self.merges[len(self._boxes) :]:
            self._add(merge)
        first = bisect_right(self._tops, box.top - self._tallest)
        end = bisect_left(self._tops, box.bottom, lo=first)
        return [each for each in self._boxes[first:end] if each.overlaps(box)]

    def without(self, boxes: Iterable[Box]) -> "MergeIndex":
        """The index after removing these merges from the list."""
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
