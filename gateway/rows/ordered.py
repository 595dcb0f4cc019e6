"""Places put in order, in pieces: the building blocks of what a column keeps for queries.

Rules: a place is where a cell stands in its column, from 0: its row less 1. No call of C that
works on a whole long column at once: it would hold up the event loop from a worker thread, for
only between steps of Python do threads take turns.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice, repeat
from operator import ne
from typing import Any

from gateway.rows.kept import Kept

PIECE = 16_384
"""Cells that one call of C copies at most, but for copies of pointers."""

LONGEST_SORT = 131_072
"""Places that are sorted in one go: up to 20 ms for numbers, 35 for texts."""

_SAMPLES_OF_RUN = 16


@dataclass(frozen=True, eq=False)
class Ranked:
    """Places in ascending order of some key; those of equal keys form a group, the upper first."""

    places: Sequence[int]
    starts: Sequence[int]
    """Where in `places` each group starts, and the end of the last."""
    size: int
    """One past the highest place of the column."""

    @property
    def groups(self) -> int:
        return len(self.starts) - 1

    @Kept
    def descending(self) -> Sequence[int]:
        """The groups in reverse, each as it is: the upper place still first."""
        backwards = array("I", self.places)
        backwards.reverse()
        if self.groups < len(self.places):
            _reverse_groups(backwards, self.starts)
        return backwards

    @Kept
    def ranks(self) -> Sequence[int]:
        """The group of each place; `groups` for a place that is in none."""
        if self.groups == len(self.places):
            numbers: Iterator[int] = iter(range(self.groups))
        else:
            sizes = map(int.__sub__, islice(self.starts, 1, None), self.starts)
            numbers = chain.from_iterable(map(repeat, range(self.groups), sizes))
        ranks = array("I", [self.groups]) * self.size
        for place, number in zip(self.places, numbers, strict=True):
            ranks[place] = number
        return ranks


@dataclass(frozen=True, eq=False)
class Run:
    """Distinct keys in ascending order, and the group of places that each has."""

    keys: Sequence[Any]
    ranked: Ranked


def make_run(places: Sequence[int], keys: Sequence[Any], size: int) -> Run:
    """The places (ascending) by the keys that stand there; the keys compare with each other."""
    ordered = sorted_places(places, keys)
    key_of_each = picked(keys, ordered)
    starts, distinct = _groups(key_of_each)
    is_distinct = len(distinct) == len(ordered)
    ranked = Ranked(
        array("I", ordered), range(len(ordered) + 1) if is_distinct else array("I", starts), size
    )
    return Run(tuple(distinct), ranked)


def sorted_places(places: Sequence[int], keys: Sequence[Any]) -> list[int]:
    """A stable sort of places by the keys that stand there, in steps that let others run.

    Runs are sorted one by one; then what lies between two pivots is taken from each run and
    merged, which Python's sort does in one pass.
    """
    key = keys.__getitem__
    if len(places) <= LONGEST_SORT:
        return sorted(places, key=key)
    runs = [
        sorted(places[start : start + PIECE], key=key) for start in range(0, len(places), PIECE)
    ]
    at = [0] * len(runs)
    merged: list[int] = []
    for pivot in _pivots(runs, keys):
        below = [
            bisect_left(run, pivot, lo=start, key=key) for run, start in zip(runs, at, strict=True)
        ]
        merged += _merged(runs, at, below, keys)
        at = [
            bisect_right(run, pivot, lo=start, key=key)
            for run, start in zip(runs, below, strict=True)
        ]
        merged += _between(runs, below, at)  # all alike: already in order
    merged += _merged(runs, at, [len(run) for run in runs], keys)
    return merged


def picked(values: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """The values at the places."""
    found: list[Any] = []
    for start in range(0, len(places), PIECE):
        found += map(values.__getitem__, places[start : start + PIECE])
    return found


def _pivots(runs: Sequence[Sequence[int]], keys: Sequence[Any]) -> list[Any]:
    """Distinct keys, ascending, about as many as there are runs."""
    step = max(1, PIECE // _SAMPLES_OF_RUN)
    samples = sorted(keys[place] for run in runs for place in run[step // 2 :: step])
    chosen = samples[_SAMPLES_OF_RUN // 2 :: _SAMPLES_OF_RUN]
    return [key for at, key in enumerate(chosen) if at == 0 or chosen[at - 1] != key]


def _merged(
    runs: Sequence[list[int]], starts: Sequence[int], ends: Sequence[int], keys: Sequence[Any]
) -> list[int]:
    merged = _between(runs, starts, ends)
    merged.sort(key=keys.__getitem__)
    return merged


def _between(runs: Sequence[list[int]], starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    taken: list[int] = []
    for run, start, end in zip(runs, starts, ends, strict=True):
        taken += run[start:end]
    return taken


def _groups(keys: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """Where a key differs from the one before, and the end; and the keys that stand there."""
    starts, distinct = ([0], [keys[0]]) if keys else ([], [])
    for start in range(1, len(keys), PIECE):
        piece = keys[start : start + PIECE]
        differs = [*map(ne, piece, keys[start - 1 : start - 1 + len(piece)])]
        starts += compress(range(start, start + len(piece)), differs)
        distinct += compress(piece, differs)
    return [*starts, len(keys)], distinct


def _reverse_groups(backwards: "array[int]", starts: Sequence[int]) -> None:
    """Turn each group of a reversed array the right way round again."""
    length = len(backwards)
    before = 0
    for start in islice(starts, 1, None):
        if start - before > 1:
            low, high = length - start, length - before
            backwards[low:high] = backwards[low:high][::-1]
        before = start
