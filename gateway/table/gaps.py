"""Gaps: numbers left out of a sequence, such as the places of removed rows.

To copy the cells of a large worksheet without some rows takes longer than the event loop may be
held, and all its indexes would have to be made again. So columns and indexes keep removed rows, and
what walks them leaves these out.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise
from types import NoneType
from typing import Any, TypeVar, overload
from weakref import WeakKeyDictionary

from gateway.table.steps import BLOCK, Work, blocks

T = TypeVar("T")

_FEW = 16
"""A search for fewer gaps than one in so many items bisects for each of them."""

_BLANK_TYPES = frozenset({str, NoneType})


class Gaps:
    """Ascending numbers that are left out of 0, 1, 2 …"""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self.numbers = array("I", numbers)
        self.positions: WeakKeyDictionary[Any, Gaps] = WeakKeyDictionary()
        """The positions of the gaps in some sequences, cached for the holders of these."""

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def members(self) -> frozenset[int]:
        return frozenset(self.numbers)

    def before(self, number: int) -> int:
        """The count of gaps below a number."""
        return bisect_left(self.numbers, number)

    def nth(self, index: int) -> int:
        """The number at an index, from 0, among those that are left."""
        return index + bisect_right(self._lefts_before, index)

    def joined(self, numbers: Iterable[int]) -> "Gaps":
        """These gaps and others."""
        return Gaps(sorted({*self.numbers, *numbers}))

    def extended(self, start: int, stop: int) -> "Gaps":
        """These gaps, with all numbers from `start` to `stop`, which is behind the last gap."""
        kept = self.before(start)
        if len(self) - kept == stop - start:
            return self
        return Gaps(chain(self.numbers[:kept], range(start, stop)))

    def cut(self, items: Sequence[T], start: int, stop: int) -> Sequence[T]:
        """A slice of a sequence without the items at the gaps."""
        inside = self.numbers[self.before(start) : self.before(stop)]
        if not inside:
            return items[start:stop]
        edges = pairwise((start - 1, *inside, stop))
        return [*chain.from_iterable(items[low + 1 : high] for low, high in edges)]

    def found_in(self, ascending: Sequence[int], start: int, stop: int) -> Work[Sequence[int]]:
        """The positions of the gaps in a slice of an ascending sequence."""
        if start == stop:
            return ()
        inside = self.numbers[self.before(ascending[start]) : self.before(ascending[stop - 1] + 1)]
        if len(inside) * _FEW > stop - start:
            return (yield from self.scanned(ascending, start, stop))
        yield _FEW * len(inside)
        found = [bisect_left(ascending, number, start, stop) for number in inside]
        return [at for at, number in zip(found, inside, strict=True) if ascending[at] == number]

    def scanned(self, items: Sequence[int], start: int, stop: int) -> Work[Sequence[int]]:
        """The positions of the gaps in a slice of any sequence."""
        found, members = array("I"), self.members
        for block in blocks(start, stop):
            yield len(block)
            piece = items[block.start : block.stop]
            found.extend([at for at, number in zip(block, piece, strict=True) if number in members])
        return found

    def left_of(self, items: Sequence[int]) -> Work[Sequence[int]]:
        """The items of any sequence that are no gaps."""
        found, members = array("I"), self.members
        for block in blocks(0, len(items)):
            yield len(block)
            piece = items[block.start : block.stop]
            found.extend([number for number in piece if number not in members])
        return found

    @cached_property
    def _lefts_before(self) -> "array[int]":
        """For each gap the count of numbers below it that are left."""
        return array("I", [number - at for at, number in enumerate(self.numbers)])


NO_GAPS = Gaps()


class GappedColumn(Sequence[object]):
    """The cells of a column without those at gaps; blank cells at its end are left out."""

    def __init__(self, cells: Sequence[object], gaps: Gaps) -> None:
        self.cells = cells
        """All cells, including those at gaps."""
        self._gaps = gaps
        self._stop = _filled_end(cells, gaps)
        self._length = self._stop - gaps.before(self._stop)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> object: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[object]: ...

    def __getitem__(self, index: int | slice) -> object:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step != 1:
                return tuple(self)[index]
            if start >= stop:
                return ()
            return tuple(
                self._gaps.cut(self.cells, self._gaps.nth(start), self._gaps.nth(stop - 1) + 1)
            )
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(index)
        return self.cells[self._gaps.nth(at)]

    def __iter__(self) -> Iterator[object]:
        return chain.from_iterable(
            self[block.start : block.stop] for block in blocks(0, self._length)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        # Block by block: copies of its cells stay in the cache of the processor.
        return self._length == len(other) and all(
            self[block.start : block.stop] == tuple(other[block.start : block.stop])
            for block in blocks(0, self._length)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"GappedColumn({tuple(self)!r})"


def with_gaps(columns: Iterable[Sequence[object]], gaps: Gaps) -> tuple[Sequence[object], ...]:
    """Columns, as all their cells, without the cells at gaps; those that end above are shared."""
    first = gaps.numbers[0] if gaps else None
    return tuple(
        GappedColumn(cells, gaps) if first is not None and first < len(cells) else cells
        for cells in columns
    )


def all_cells(column: Sequence[object]) -> Sequence[object]:
    """The cells of a column, including those at gaps."""
    return column.cells if isinstance(column, GappedColumn) else column


def without_gaps(columns: Sequence[Sequence[object]]) -> Work[Sequence[Sequence[object]]]:
    """Columns whose cells are copied if they have gaps."""
    if not any(isinstance(column, GappedColumn) for column in columns):
        return columns
    copied: list[Sequence[object]] = []
    for column in columns:
        if not isinstance(column, GappedColumn):
            copied.append(column)
            continue
        cells: list[object] = []
        for block in blocks(0, len(column)):
            yield len(block)
            cells += column[block.start : block.stop]
        copied.append(tuple(cells))
    return tuple(copied)


def _filled_end(cells: Sequence[object], gaps: Gaps) -> int:
    """One past the last filled cell that is not at a gap; 0 if there is none."""
    stop = len(cells)
    while left := stop - gaps.before(stop):
        stop = gaps.nth(left - 1) + 1
        if cells[stop - 1] not in ("", None):
            return stop
        start = max(0, stop - BLOCK)
        piece = cells[start:stop]
        if any(piece) or not _BLANK_TYPES.issuperset(map(type, piece)):
            members = gaps.members
            for place in range(stop - 1, start - 1, -1):
                if cells[place] not in ("", None) and place not in members:
                    return place + 1
        stop = start
    return 0
