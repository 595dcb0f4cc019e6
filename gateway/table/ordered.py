"""Sorting of cells: parts of a column index.

Rules: a row position is the index of a row in its column. A long column is sorted in parts, because
one call of Python's sort for the whole column would block the event loop.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, compress, islice, repeat
from operator import itemgetter, ne
from typing import Any, Protocol

from gateway.table.steps import Ready, Work, blocks, shared

SORTED_AT_ONCE = 16_384
"""Maximum number of row positions in one call of Python's sort, which takes about 5 ms."""

SORT_STEPS = 6
"""Steps of work (50 ns each) to sort one row position."""

_MERGE_STEPS = 3
_BISECT_STEPS = 32
_CHARACTERS_OF_WEIGHT = 512
"""Average key length from which the steps of a sort are doubled."""
_FEWEST_AT_ONCE = 64
_SAMPLES_OF_RUN = 16

_FEW = 8
"""Up to 1/8 of all row positions are collected in a set, more with a flag for each row."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Row positions in ascending order of a key. Positions with equal keys form a group.

    Groups are numbered from 0. The positions of a group are in sheet order.
    """

    places: Sequence[int]
    starts: Sequence[int]
    """Index in `places` at which each group begins, then the end of the last group.

    If each group has one position, this is a range.
    """
    size: int
    """Number of cells of the column, which is one past the highest position."""

    @cached_property
    def groups(self) -> int:
        return len(self.starts) - 1

    @shared
    def descending(self) -> Work[Sequence[int]]:
        """Positions in descending order of the key. Equal keys stay in sheet order."""
        yield 1
        if isinstance(self.places, range):
            return self.places[::-1]
        backwards = array("I", self.places)
        backwards.reverse()
        if self.groups < len(self.places):
            yield from _reverse_groups(backwards, self.starts)
        return backwards

    ready_descending = Ready(descending)

    @shared
    def ranks(self) -> Work[Sequence[int]]:
        """Group number of each position, or the number of groups for a position without a group.

        The number of the header's position has no meaning.
        """
        yield 1
        if isinstance(self.places, range) and self.groups == len(self.places):
            first = self.places.start
            return range(-first, self.size - first)
        ranks = array("I", [self.groups]) * self.size
        numbers = iter(_group_numbers(self.starts))
        for block in blocks(0, len(self.places)):
            yield len(block)
            for place, number in zip(
                self.places[block.start : block.stop], islice(numbers, len(block)), strict=True
            ):
                ranks[place] = number
        return ranks


@dataclass(frozen=True, eq=False)
class Run:
    """Distinct keys in ascending order, and the positions that have each key."""

    keys: Sequence[Any]
    ranked: Ranked
    """Positions by group. Group number n has the key `keys[n]`."""


class KeysByPlace(Protocol):
    def __getitem__(self, place: int, /) -> Any: ...


def make_run(places: Sequence[int], keys: KeysByPlace, size: int, length: int = 0) -> Work[Run]:
    """Sort ascending row positions by key, and group equal keys. All keys must be comparable.

    `size` is the number of cells of the column. `length` is the average number of characters of a
    key, or 0 for numbers.
    """
    ordered = yield from sorted_places(places, keys, length)
    starts, distinct = array("I"), list[Any]()
    before: Any = object()
    for block in blocks(0, len(ordered)):
        yield 2 * len(block)
        values = picked(keys, ordered[block.start : block.stop])
        differs = [*map(ne, values, chain([before], values))]
        before = values[-1]
        starts.extend(compress(block, differs))
        distinct += compress(values, differs)
    starts.append(len(ordered))
    is_distinct = len(distinct) == len(ordered)
    ranked = Ranked(ordered, range(len(ordered) + 1) if is_distinct else starts, size)
    return Run(tuple(distinct), ranked)


def picked(keys: KeysByPlace, places: Sequence[int]) -> Sequence[Any]:
    """Returns the keys of some row positions."""
    if len(places) < 2:
        return [keys[place] for place in places]
    found: Sequence[Any] = itemgetter(*places)(keys)
    return found


def sorted_places(places: Sequence[int], keys: KeysByPlace, length: int = 0) -> Work["array[int]"]:
    """Sort row positions by key. Positions with equal keys stay in their order.

    `length` is the average number of characters of a key, or 0 for numbers. The function sorts
    short pieces, then merges all pieces, one range of keys at a time. The result is an array,
    because freeing a long list would block the event loop.
    """
    runs: list[array[int]] = []
    weight = 1 + length // _CHARACTERS_OF_WEIGHT
    at_once = max(SORTED_AT_ONCE // weight, _FEWEST_AT_ONCE)
    for start in range(0, len(places), at_once):
        piece = places[start : start + at_once]
        yield len(piece) * SORT_STEPS * weight
        runs.append(array("I", _sorted(piece, keys)))
    if len(runs) < 2:
        return runs[0] if runs else array("I")
    at = [0] * len(runs)
    merged, key = array("I"), keys.__getitem__
    for pivot in _pivots(runs, keys, at_once):
        below = [
            bisect_left(run, pivot, lo=start, key=key) for run, start in zip(runs, at, strict=True)
        ]
        merged.extend((yield from _merged(runs, at, below, keys, weight)))
        at = [
            bisect_right(run, pivot, lo=start, key=key)
            for run, start in zip(runs, below, strict=True)
        ]
        for run, start, end in zip(runs, below, at, strict=True):
            merged += run[start:end]  # all equal: already in order
    merged.extend((yield from _merged(runs, at, [len(run) for run in runs], keys, weight)))
    return merged


def unique(found: Sequence[Sequence[int]], size: int) -> Work[Sequence[int]]:
    """Returns the distinct row positions of several sequences. All positions are below `size`.

    Only a long result is sorted.
    """
    total = sum(map(len, found))
    if total <= size // _FEW:
        yield 2 * total
        return list(set(chain.from_iterable(found)))
    is_member = bytearray(size)
    for places in found:
        for block in blocks(0, len(places)):
            yield len(block)
            for place in places[block.start : block.stop]:
                is_member[place] = 1
    members = array("I")
    for block in blocks(0, size):
        yield len(block)
        members.extend(compress(block, is_member[block.start : block.stop]))
    return members


def ascending(places: Sequence[int], size: int) -> Work[Sequence[int]]:
    """Sort distinct row positions, which are below `size`, in worksheet order."""
    if len(places) > min(size // _FEW, SORTED_AT_ONCE):
        return (yield from unique([places], size))
    yield len(places) * SORT_STEPS
    return sorted(places)


def _group_numbers(starts: Sequence[int]) -> Iterable[int]:
    if isinstance(starts, range):
        return range(len(starts) - 1)
    sizes = map(int.__sub__, islice(starts, 1, None), starts)
    return chain.from_iterable(map(repeat, range(len(starts) - 1), sizes))


def _sorted(places: Sequence[int], keys: KeysByPlace) -> list[int]:
    return sorted(places, key=partial(next, iter(picked(keys, places))))


def _pivots(runs: Sequence[Sequence[int]], keys: KeysByPlace, at_once: int) -> list[Any]:
    """Choose distinct keys, ascending, that divide the sorted pieces into ranges to merge."""
    step = max(1, at_once // _SAMPLES_OF_RUN)
    samples = sorted(key for run in runs for key in picked(keys, run[step // 2 :: step]))
    chosen = samples[_SAMPLES_OF_RUN // 2 :: _SAMPLES_OF_RUN]
    return [each for at, each in enumerate(chosen) if at == 0 or chosen[at - 1] != each]


def _merged(
    runs: Sequence[Sequence[int]],
    starts: Sequence[int],
    ends: Sequence[int],
    keys: KeysByPlace,
    weight: int,
) -> Work[list[int]]:
    merged: list[int] = []
    for run, start, end in zip(runs, starts, ends, strict=True):
        merged += run[start:end]
    yield (len(merged) * _MERGE_STEPS + len(runs) * _BISECT_STEPS) * weight
    return _sorted(merged, keys)


def _reverse_groups(backwards: "array[int]", starts: Sequence[int]) -> Work[None]:
    length = len(backwards)
    for block in blocks(0, len(starts) - 1):
        yield 4 * len(block)
        for group in block:
            if starts[group + 1] - starts[group] > 1:
                low, high = length - starts[group + 1], length - starts[group]
                backwards[low:high] = backwards[low:high][::-1]
