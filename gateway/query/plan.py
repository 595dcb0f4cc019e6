"""Query plan: cut the page from an index, walk rows in order, or gather and sort them.

Rules: walking and gathering find the same rows; bounds of sizes choose between them. The page is
cut out of the index if there is no condition, or only a range of the column that orders.
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


class PageRequest(msgspec.Struct, frozen=True):
    """A page: the places from `skip` up to `end`, and perhaps the number of all of them."""

    skip: int
    end: int
    wants_total: bool = False


class PagePlaces(msgspec.Struct, frozen=True):
    """The places of a page, whether more follow, and the number of all places if requested."""

    places: Sequence[int]
    has_next: bool
    total: int | None = None


def find_page(row_set: RowSet | None, ordering: Ordering, request: PageRequest) -> Work[PagePlaces]:
    parts = () if row_set is None else parts_of(row_set)
    source, rest = yield from ordering.source(parts)
    if not rest and not ordering.has_ties:
        return _cut(source, request)
    walk_steps = _walk_steps(source, rest, parts, ordering, request)
    found = None
    if walk_steps:
        found = yield from _walk(source, rest, ordering, request, walk_steps)
    if found is None:
        found = yield from _gather(parts, ordering, request)
    return found


def _cut(source: Source, request: PageRequest) -> PagePlaces:
    length = source.length
    total = length if request.wants_total else None
    return PagePlaces(source.cut(request.skip, request.end), request.end < length, total)


def _walk_steps(
    source: Source,
    rest: Sequence[RowSet],
    parts: Sequence[RowSet],
    ordering: Ordering,
    request: PageRequest,
) -> float:
    """Maximum steps of a walk before the plan falls back to gathering; 0 means no walk."""
    if not rest:
        return inf
    weight = 1 + sum(part.weight for part in rest)
    most = parts[0].most
    sifting = 1 + sum(part.weight for part in parts[1:])
    gathering = most * (sifting + SORT_STEPS * len(ordering.terms))
    if request.wants_total:
        return inf if source.length * weight <= gathering else 0
    if not most:
        return 0
    fewest = (request.end + 1) * source.length * weight / most  # if the matches are spread evenly
    return min(max(_PATIENCE * fewest, BLOCK), gathering) if fewest <= gathering else 0


def _walk(
    source: Source,
    parts: Sequence[RowSet],
    ordering: Ordering,
    request: PageRequest,
    most_steps: float,
) -> Work[PagePlaces | None]:
    """Filter the source until the page is full; None if that takes too many steps."""
    must_end = request.wants_total and parts
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
        if len(found) <= request.end or must_end:
            continue
        if position is None or not request.end:
            break
        if position(found[-1]) != position(found[request.end - 1]):
            break  # the last group is complete
    total = (len(found) if parts else source.length) if request.wants_total else None
    page = yield from ordering.sort_ties(found, request.skip, request.end)
    return PagePlaces(page, request.end < len(found), total)


def _gather(parts: Sequence[RowSet], ordering: Ordering, request: PageRequest) -> Work[PagePlaces]:
    places = yield from sifted((yield from parts[0].places()), parts[1:])
    total = len(places) if request.wants_total else None
    page = (yield from ordering.sort(places))[request.skip : request.end]
    return PagePlaces(page, request.end < len(places), total)
