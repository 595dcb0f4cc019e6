"""Sets of rows that match a condition: groups of an index, scans, complement, intersection, union.

Rules
- A row position is a row number minus the row number of the header.
- A set is created without a loop over the column. It knows a lower and an upper bound of its size.
- A set can list all its row positions (`places`), or find which of some given row positions it has
  (`sift`). Both are work with counted steps (`gateway.table.steps`). The number of steps depends on
  the number of rows and conditions, not on the number of operands.
"""

from array import array
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, Protocol

import msgspec

from gateway.table.index import FoldedTexts
from gateway.table.ordered import Ranked, unique
from gateway.table.steps import BLOCK, Work, shared

_COPY_STEPS = 16
"""Number of row positions that are copied in one step of work (50 ns)."""

_FEW = 8
"""A union of up to 1/8 of all rows is collected in a set. A larger union is tested by parts."""

_most = attrgetter("most")


class RowSet(Protocol):
    """Set of at least `least` and at most `most` rows that match a condition.

    `weight` is the maximum number of steps of work to test one row.
    """

    @property
    def weight(self) -> int: ...

    @property
    def least(self) -> int: ...

    @property
    def most(self) -> int: ...

    def places(self) -> Work[Sequence[int]]:
        """Returns all row positions of the set without duplicates, in any order."""

    def sift(self, places: Sequence[int]) -> Work[Sequence[int]]:
        """Returns the row positions of `places` that are in the set, in the order of `places`."""


class Groups(msgspec.Struct, frozen=True):
    """Rows in some groups of equal cells of a sorted column: a range of values, or some values."""

    weight: ClassVar[int] = 1

    ranked: Ranked
    numbers: range | Set[int]
    least: int
    most: int

    def places(self) -> Work[Sequence[int]]:
        starts, places, numbers = self.ranked.starts, self.ranked.places, self.numbers
        yield 1 + self.most // _COPY_STEPS
        if isinstance(numbers, range):
            return places[starts[numbers.start] : starts[numbers.stop]] if numbers else ()
        yield 8 * len(numbers)
        found = array("I")
        for number in sorted(numbers):
            found.extend(places[starts[number] : starts[number + 1]])
        return found

    def sift(self, places: Sequence[int]) -> Work[Sequence[int]]:
        ranks, numbers = (yield from self.ranked.ranks()), self.numbers
        yield len(places)
        if isinstance(numbers, range):
            low, high = numbers.start, numbers.stop
            return [place for place in places if low <= ranks[place] < high]
        return [place for place in places if ranks[place] in numbers]


class OfKind(msgspec.Struct, frozen=True):
    """Rows whose cell has one of `kinds`. `codes` is the kind of each cell of the column."""

    weight: ClassVar[int] = 1

    whole: range
    codes: bytearray
    kinds: Set[int]
    least: int
    most: int

    def places(self) -> Work[Sequence[int]]:
        return (yield from sifted(self.whole, (self,)))

    def sift(self, places: Sequence[int]) -> Work[Sequence[int]]:
        yield len(places)
        codes, kinds = self.codes, self.kinds
        return [place for place in places if codes[place] in kinds]


class Containing(msgspec.Struct, frozen=True):
    """Rows whose cell contains the text `part`, ignoring case. `part` must be case-folded."""

    least: ClassVar[int] = 0

    whole: range
    texts: FoldedTexts
    part: str

    @property
    def weight(self) -> int:
        return self.texts.steps(self.part)

    @property
    def most(self) -> int:
        return len(self.whole)

    def places(self) -> Work[Sequence[int]]:
        return (yield from sifted(self.whole, (self,)))

    def sift(self, places: Sequence[int]) -> Work[Sequence[int]]:
        return (yield from self.texts.containing(self.part, places))


class NumberContaining(msgspec.Struct, frozen=True):
    """Rows whose row number contains the text `part` in its digits."""

    weight: ClassVar[int] = 3
    least: ClassVar[int] = 0

    whole: range
    part: str
    header_row: int

    @property
    def most(self) -> int:
        return len(self.whole)

    def places(self) -> Work[Sequence[int]]:
        return (yield from sifted(self.whole, (self,)))

    def sift(self, places: Sequence[int]) -> Work[Sequence[int]]:
        yield 3 * len(places)
        part, header_row = self.part, self.header_row
        return [place for place in places if part in str(place + header_row)]


class Complement(msgspec.Struct, frozen=True):
    """Rows of `whole` that are not in the set `inside`."""

    whole: range
    inside: RowSet

    @property
    def weight(self) -> int:
        return self.inside.weight + 2

    @property
    def least(self) -> int:
        return max(0, len(self.whole) - self.inside.most)

    @property
    def most(self) -> int:
        return max(0, len(self.whole) - self.inside.least)

    def places(self) -> Work[Sequence[int]]:
        return (yield from sifted(self.whole, (self,)))

    def sift(self, places: Sequence[int]) -> Work[Sequence[int]]:
        inside = yield from self.inside.sift(places)
        if not inside:
            return places
        yield len(places) + len(inside)
        members = frozenset(inside)
        return [place for place in places if place not in members]


class Intersection(msgspec.Struct, frozen=True):
    """Rows that are in all `parts`. The smallest part is first."""

    least: ClassVar[int] = 0

    parts: tuple[RowSet, ...]

    @property
    def weight(self) -> int:
        return sum(part.weight for part in self.parts)

    @property
    def most(self) -> int:
        return self.parts[0].most

    def places(self) -> Work[Sequence[int]]:
        return (yield from sifted((yield from self.parts[0].places()), self.parts[1:]))

    def sift(self, places: Sequence[int]) -> Work[Sequence[int]]:
        for part in self.parts:
            if not places:
                break
            places = yield from part.sift(places)
        return places


@dataclass(frozen=True, eq=False)
class Union:
    """Rows that are in at least one of `parts`."""

    whole: range
    parts: tuple[RowSet, ...]
    total: int
    """Sum of the maximum sizes of all parts."""

    @property
    def weight(self) -> int:
        return 1 + sum(part.weight for part in self.parts)

    @property
    def least(self) -> int:
        return max(part.least for part in self.parts)

    @property
    def most(self) -> int:
        return min(len(self.whole), self.total)

    def places(self) -> Work[Sequence[int]]:
        if self.total > len(self.whole):
            return (yield from sifted(self.whole, (self,)))
        return (yield from self._gathered())

    def sift(self, places: Sequence[int]) -> Work[Sequence[int]]:
        if self.total <= min(len(places) * len(self.parts), len(self.whole) // _FEW):
            members = yield from self._members()
            yield len(places)
            return [place for place in places if place in members]
        return (yield from self._sift_by_parts(places))

    @shared
    def _gathered(self) -> Work[Sequence[int]]:
        found = []
        for part in self.parts:
            found.append((yield from part.places()))
        return (yield from unique(found, self.whole.stop))

    @shared
    def _members(self) -> Work[Set[int]]:
        gathered = yield from self._gathered()
        yield 2 * len(gathered)
        return frozenset(gathered)

    def _sift_by_parts(self, places: Sequence[int]) -> Work[Sequence[int]]:
        taken: set[int] = set()
        rest = places
        for part in self.parts:
            found = yield from part.sift(rest)
            if found:
                yield len(found) + len(rest)
                taken.update(found)
                rest = [place for place in rest if place not in taken]
            if not rest:
                return places
        yield len(places)
        return [place for place in places if place in taken]


def sifted(places: Sequence[int], parts: Sequence[RowSet]) -> Work[Sequence[int]]:
    """Returns the row positions of `places` that are in all `parts`, in the order of `places`."""
    if not parts:
        return places
    found = array("I")
    for start in range(0, len(places), BLOCK):
        block = places[start : start + BLOCK]
        for part in parts:
            if not block:
                break
            block = yield from part.sift(block)
        found.extend(block)
    return found


def groups_of(ranked: Ranked, numbers: range | Set[int]) -> Groups:
    if len(numbers) == 1 and not isinstance(numbers, range):
        (number,) = numbers
        numbers = range(number, number + 1)
    starts, count = ranked.starts, len(numbers)
    if isinstance(starts, range) or not count:  # one position in each group
        pass
    elif isinstance(numbers, range):
        count = starts[numbers.stop] - starts[numbers.start]
    else:
        count = sum(starts[number + 1] - starts[number] for number in numbers)
    return Groups(ranked, numbers, count, count)


def all_of(sets: Iterable[RowSet], rows: Ranked) -> RowSet:
    """Intersection of sets. Merges ranges of one column, and leaves out sets of all rows.

    `rows` are all data rows.
    """
    groups: dict[Ranked, Groups] = {}
    parts: list[RowSet] = []
    everything: RowSet | None = None
    count = rows.groups
    for each in sets:
        for part in each.parts if type(each) is Intersection else (each,):
            if part.least == count:
                everything = part
            elif type(part) is Groups:
                same = groups.get(part.ranked)
                groups[part.ranked] = part if same is None else _narrowed(same, part)
            else:
                parts.append(part)
    parts += groups.values()
    if len(parts) == 1:
        return parts[0]
    if not parts:  # `{}` matches every row
        return everything or groups_of(rows, range(count))
    parts.sort(key=_most)
    parts[1:] = sorted(parts[1:], key=_expected)
    return Intersection(tuple(parts)) if parts[0].most else parts[0]


def any_of(sets: Iterable[RowSet], rows: Ranked) -> RowSet:
    """Union of sets. Merges single values of one column. `rows` are all data rows."""
    values: dict[Ranked, set[int]] = {}
    parts: list[RowSet] = []
    for part in sets:
        if isinstance(part, Groups) and (part.most == 0 or _has_few(part.numbers)):
            values.setdefault(part.ranked, set()).update(part.numbers)
        elif part.most:
            parts.append(part)
    parts += (groups_of(ranked, numbers) for ranked, numbers in values.items() if numbers)
    if len(parts) < 2:
        return parts[0] if parts else groups_of(rows, frozenset())
    return Union(range(1, rows.size), tuple(parts), sum(map(_most, parts)))


def _has_few(numbers: range | Set[int]) -> bool:
    return len(numbers) == 1 or not isinstance(numbers, range)


def _narrowed(one: Groups, other: Groups) -> Groups:
    numbers, others = one.numbers, other.numbers
    if isinstance(numbers, range) and isinstance(others, range):
        # `max` and `min` take longer.
        first = numbers.start if numbers.start > others.start else others.start
        stop = numbers.stop if numbers.stop < others.stop else others.stop
        return groups_of(one.ranked, range(first, stop))
    few, many = sorted((numbers, others), key=lambda it: isinstance(it, range))
    return groups_of(one.ranked, {number for number in few if number in many})


def _expected(row_set: RowSet) -> float:
    return (row_set.least + row_set.most) / 2
