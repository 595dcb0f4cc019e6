"""Check deletes against the rows that the gateway's batches removed.

Rules
- A delete leaves no mark. A delete by number explains a removed row with its number, if a batch
  removed the row within its time, and the row has its ETag. A delete by filter explains the rows of
  a batch that matched; several filters of one batch share its rows, and no row matches two of them.
- Every acknowledged delete has its own removal, and every removal has a delete. A delete with
  unknown outcome can have one. Both conditions hold if each can hold alone (Mendelsohn and
  Dulmage).
- The deletes of a batch are all by number or all by filter. If both are possible, the explanation
  that explains more counts.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations, product
from typing import TypeVar

from tests.simulation.report import Problem
from tests.simulation.verbs.entries import Entry
from tests.simulation.verbs.history import LOOK_SECONDS, Batch, Course, Version, is_alike

MOST_FILTERS = 4
"""Maximum number of deletes by filter in one batch."""

Removal = tuple[int, int]
"""Index of a batch, and the number of a row before it."""

Left = TypeVar("Left")
Right = TypeVar("Right")


@dataclass(frozen=True, kw_only=True)
class Cover:
    """Deletes by filter that together removed the rows of a batch."""

    rows: Mapping[int, Sequence[int]]
    """The rows of each delete, by the number of its operation."""


@dataclass(kw_only=True)
class Explanation:
    """A choice of the deletes that explain each batch's removals."""

    course: Course
    deletes: Sequence[Entry]
    by_filter: Mapping[int, Entry]
    """Deletes by filter, by the number of the operation."""
    covers: Mapping[int, Sequence[Cover]]
    """Possible covers of each batch, by the index of the batch."""
    options: Mapping[int, Sequence[Removal]]
    """The rows that each delete by number can have removed, by the number of the operation."""
    doubtful: frozenset[int] = frozenset()
    """Numbers of acknowledged deletes that might have removed rows of another tab."""
    chosen: dict[int, Cover] = field(default_factory=dict)

    def problems(self) -> list[Problem]:
        """Return everything that the choice does not explain."""
        return [*self._by_filter(), *self._by_number()]

    def choose(self) -> None:
        """Choose a cover for each batch, so that few problems remain.

        First as many batches as possible get their own delete. Then the other covers of each batch,
        and of each two batches, are tried while that reduces the problems.
        """
        alone = {
            index: {min(each.rows): each for each in covers if len(each.rows) == 1}
            for index, covers in self.covers.items()
        }
        matched = _matching({index: [*covers] for index, covers in alone.items()})
        self.chosen = {
            index: alone[index][matched[index]] if index in matched else covers[0]
            for index, covers in self.covers.items()
            if covers
        }
        count = len(self.problems())
        unsure = [index for index, covers in self.covers.items() if covers]
        for indices in [*combinations(unsure, 1), *combinations(unsure, 2)]:
            for covers in product(*([None, *self.covers[index]] for index in indices)):
                if not count:
                    return
                before = dict(self.chosen)
                for index, cover in zip(indices, covers, strict=True):
                    self.chosen.pop(index, None)
                    if cover is not None:
                        self.chosen[index] = cover
                found = len(self.problems())
                if found < count:
                    count = found
                else:
                    self.chosen = before

    def acknowledged(self) -> Iterator[tuple[float, int]]:
        """Yield the time of each acknowledged delete, and the first version that can follow it."""
        for entry in self.deletes:
            rows = self.options[entry.operation.number]
            if entry.outcome == "done" and rows:
                yield entry.answered_at, min(index for index, _ in rows)
        for number, entry in self.by_filter.items():
            batches = [
                index
                for index, covers in self.covers.items()
                if any(number in cover.rows for cover in covers)
            ]
            if entry.outcome == "done" and batches:
                yield entry.answered_at, min(batches)

    def _by_filter(self) -> Iterator[Problem]:
        batches: dict[int, list[int]] = {number: [] for number in self.by_filter}
        for index, cover in self.chosen.items():
            for number in cover.rows:
                batches[number].append(index)
        for number, entry in self.by_filter.items():
            first, *others = [
                f"{self.course.by_index[index].removed} (it or any of "
                f"{[[*cover.rows] for cover in self.covers[index]]})"
                for index in batches[number]
            ] or [""]
            for other in others:
                yield Problem(kind="doubled", detail=f"{entry} removed {first} and {other}")
            is_certain = entry.was_applied and number not in self.doubtful
            if is_certain and entry.answer.results and not batches[number]:
                detail = f"{entry} told {entry.answer.rows}, but no such rows went"
                yield Problem(kind="lost", detail=detail)

    def _by_number(self) -> Iterator[Problem]:
        removals = [
            (batch.index, row)
            for batch in self.course.batches
            if batch.index not in self.chosen
            for row in batch.removed
        ]
        options = {
            number: [each for each in rows if each[0] not in self.chosen]
            for number, rows in self.options.items()
        }
        certain = {
            each.operation.number: each
            for each in self.deletes
            if each.was_applied and each.operation.number not in self.doubtful
        }
        matched = _matching({number: options[number] for number in certain})
        for number in certain.keys() - matched.keys():
            yield Problem(kind="lost", detail=f"{certain[number]}: no such row went for it alone")
        takers: dict[Removal, list[int]] = {removal: [] for removal in removals}
        for number, each in options.items():
            for removal in each:
                takers[removal].append(number)
        explained = _matching(takers)
        for index, row in sorted(takers.keys() - explained.keys()):
            batch = self.course.by_index[index]
            detail = (
                f"row {row} of {batch.removed}, {self.course.before(batch).row(row)}, went at "
                f"{batch.at:.3f}, and no delete was for it"
            )
            yield Problem(kind="removed", detail=detail)


def explain(
    course: Course, entries: Sequence[Entry], doubtful: frozenset[int] = frozenset()
) -> Explanation:
    """Explain the removals in a worksheet by the deletes in its entries.

    `doubtful` are the operation numbers of deletes that might belong to another tab.
    """
    possible = [each for each in entries if each.outcome != "not_applied"]
    blank = {each.operation.number for each in possible if _may_have_been_blank(course, each)}
    by_filter = {
        each.operation.number: each for each in possible if each.operation.kind == "delete where"
    }
    deletes = [each for each in possible if each.operation.kind == "delete"]
    removals = [(batch.index, row) for batch in course.batches for row in batch.removed]
    explanation = Explanation(
        course=course,
        deletes=deletes,
        options={
            each.operation.number: [
                removal for removal in removals if _may_be(course, each, removal)
            ]
            for each in deletes
        },
        by_filter=by_filter,
        doubtful=doubtful | blank,
        covers={
            batch.index: [*_covers(course, batch, by_filter)]
            for batch in course.batches
            if batch.removed
        },
    )
    explanation.choose()
    return explanation


def _may_be(course: Course, entry: Entry, removal: Removal) -> bool:
    """True if a delete by number can have removed this row."""
    batch = course.by_index[removal[0]]
    operation = entry.operation
    if removal[1] not in operation.rows or not _is_around(course, entry, batch):
        return False
    tagged = course.tagged(operation)
    return operation.named is None or any(
        look.row(removal[1]) in tagged for look in course.looks(batch)
    )


def _is_around(course: Course, entry: Entry, batch: Batch) -> bool:
    """True if a batch came during a delete, in a tab with the title of the delete."""
    return entry.asked_at <= batch.at <= entry.ends_at and course.had(
        entry.worksheet, batch.sent_at - LOOK_SECONDS, batch.at
    )


def _may_have_been_blank(course: Course, entry: Entry) -> bool:
    """True if deletes only clear rows, and the rows of this delete were blank already."""
    rows = entry.operation.rows or entry.answer.rows
    return any(batch.emptied for batch in course.batches) and any(
        not any(version.row(row) for row in rows)
        for version in course.between(entry.asked_at, entry.answered_at)
    )


def _covers(course: Course, batch: Batch, entries: Mapping[int, Entry]) -> Iterator[Cover]:
    """Yield the sets of deletes by filter that match a batch's rows and have true answers."""
    around = {number: each for number, each in entries.items() if _is_around(course, each, batch)}
    looks, before = course.looks(batch), course.before(batch)
    for look in course.first_looks(batch):
        if not is_alike(look, looks, batch.removed):
            continue
        meant = {}
        for number, each in around.items():
            operation = each.operation
            assert operation.filter is not None
            rows = look.matching(operation.filter)
            is_small = operation.most_rows is None or len(rows) <= operation.most_rows
            if (
                is_small
                and (gone := _gone(batch, look, before, rows))
                and set(gone) <= set(batch.removed)
            ):
                meant[number] = rows
        for size in range(1, min(len(meant), MOST_FILTERS) + 1):
            for chosen in combinations(meant, size):
                rows = sorted(
                    row for number in chosen for row in _gone(batch, look, before, meant[number])
                )
                if rows == [*batch.removed] and _is_true(batch, chosen, meant, around):
                    yield Cover(rows={number: meant[number] for number in chosen})


def _gone(batch: Batch, look: Version, before: Version, rows: Sequence[int]) -> Sequence[int]:
    """Return the rows that the batch removes; if rows are only cleared, without blank rows.

    People can have cleared rows between the read and the batch.
    """
    return rows if batch.moves_rows else [row for row in rows if look.row(row) and before.row(row)]


def _is_true(
    batch: Batch,
    chosen: Sequence[int],
    meant: Mapping[int, Sequence[int]],
    entries: Mapping[int, Entry],
) -> bool:
    """True if the row numbers in the answers are right in some order of the deletes."""
    for order in permutations(chosen):
        before: list[int] = []
        for number in order:
            entry = entries[number]
            moves = before if batch.moves_rows else []
            told = [row - bisect_left(moves, row) for row in meant[number]]
            if entry.outcome == "done" and told != [*entry.answer.rows]:
                break
            before = sorted([*before, *meant[number]])
        else:
            return True
    return False


def _matching(options: Mapping[Left, Sequence[Right]]) -> dict[Left, Right]:
    """Return a maximum matching (augmenting paths); earlier entries have priority."""
    taken: dict[Right, Left] = {}

    def place(one: Left, seen: set[Right]) -> bool:
        for other in options[one]:
            if other in seen:
                continue
            seen.add(other)
            if other not in taken or place(taken[other], seen):
                taken[other] = one
                return True
        return False

    for one in sorted(options, key=lambda each: len(options[each])):
        place(one, set())
    return {one: other for other, one in taken.items()}
