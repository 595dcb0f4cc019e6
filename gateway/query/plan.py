"""Query plan: cut the page from an index, walk rows in order, or gather and sort them.

Rules: bounds of sizes choose between the two ways, which find the same rows. Where the condition
is a range of the column that orders, or there is none, the page is cut out of the index.
"""

from array import array
from collections.abc import Sequence
from math import inf

import msgspec

from gateway.query.ordering import Ordering, Source
from gateway.query.row_sets import RowSet, parts_of, sifted
from gateway.table.ordered import SORT_STEPS
from gateway.table.steps import BLOCK, Work

_PATIENCE = 3
"""A walk may take so many times the steps that it would take were the matches spread evenly."""


class Want(msgspec.Struct, frozen=True):
    """A page: the places from `skip` up to `end`, and perhaps how many there are in all."""

    skip: int
    end: int
    has_total: bool = False


class Found(msgspec.Struct, frozen=True):
    """The places of a page, whether more follow, and how many there are in all, if wanted."""

    places: Sequence[int]
    has_next: bool
    total: int | None = None


def find_page(row_set: RowSet | None, ordering: Ordering, want: Want) -> Work[Found]:
    """The page of the rows of a set, or of all rows."""
    parts = () if row_set is None else parts_of(row_set)
    source, rest = yield from ordering.source(parts)
    if not rest and not ordering.has_ties:
        return _cut(source, want)
    walk_steps = _walk_steps(source, rest, parts, ordering, want)
    found = None
    if walk_steps:
        found = yield from _walk(source, rest, ordering, want, walk_steps)
    if found is None:
        found = yield from _gather(parts, ordering, want)
    return found


def _cut(source: Source, want: Want) -> Found:
    length = source.length
    total = length if want.has_total else None
    return Found(source.cut(want.skip, want.end), want.end < length, total)


def _walk_steps(
    source: Source,
    rest: Sequence[RowSet],
    parts: Sequence[RowSet],
    ordering: Ordering,
    want: Want,
) -> float:
    """How many steps a walk may take before gathering is tried instead; 0 for none."""
    if not rest:
        return inf
    weight = 1 + sum(part.weight for part in rest)
    most = parts[0].most
    sifting = 1 + sum(part.weight for part in parts[1:])
    gathering = most * (sifting + SORT_STEPS * len(ordering.terms))
    if want.has_total:
        return inf if source.length * weight <= gathering else 0
    if not most:
        return 0
    fewest = (want.end + 1) * source.length * weight / most  # were the matches spread evenly
    return min(max(_PATIENCE * fewest, BLOCK), gathering) if fewest <= gathering else 0


def _walk(
    source: Source, parts: Sequence[RowSet], ordering: Ordering, want: Want, most_steps: float
) -> Work[Found | None]:
    """Sift the source until the page is full; None if that takes too many steps."""
    must_end = want.has_total and parts
    weight = 1 + sum(part.weight for part in parts)
    found, steps = array("I"), 0
    position = (yield from ordering.position()) if ordering.has_ties else None
    for block in source.blocks(most_steps / weight / 2 if parts else 0):
        steps += len(block) * weight
        if steps > most_steps:
            return None
        yield 1 + len(block) // 4
        for part in parts:
            if not block:
                break
            block = yield from part.sift(block)
        found.extend(block)
        if len(found) <= want.end or must_end:
            continue
        if position is None or not want.end:
            break
        if position(found[-1]) != position(found[want.end - 1]):
            break  # the last of its groups is complete
    total = (len(found) if parts else source.length) if want.has_total else None
    page = yield from ordering.settle(found, want.skip, want.end)
    return Found(page, want.end < len(found), total)


def _gather(parts: Sequence[RowSet], ordering: Ordering, want: Want) -> Work[Found]:
    places = yield from sifted((yield from parts[0].places()), parts[1:])
    total = len(places) if want.has_total else None
    page = (yield from ordering.sort(places))[want.skip : want.end]
    return Found(page, want.end < len(places), total)
