"""Check error 4095 of conditional writes: "the write changed another record than planned".

Rules
- A write met another record if a row that it changed or deleted differs from the read (look) on
  which the write was planned. A deleted row counts as the same record if people added a word.
- An answer cannot show a deleted row. The rows next to it decide: `BESIDE` rows on each side, up to
  a row that the batch also writes. Rows that were blank at the look, cells with formulas, the
  header and the rows above it do not count.
- The error is false for a record that stayed if more than half of the rows next to it stayed, and
  at most one of them did not. Otherwise the answer cannot decide, and the error is right: two
  deleted records below look the same as the deleted row itself and one below.
- A missing error is a fault if no row next to the deleted one stayed, and two or more changed, at
  least one of them above. Otherwise the answer cannot decide: where only rows below moved, people
  can have deleted the next one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.simulation.report import Problem
from tests.simulation.verbs.entries import Entry
from tests.simulation.verbs.history import LOOK_SECONDS, Batch, Course, Version, candidates
from tests.simulation.verbs.operations import FILLED_DOWN, Operation, Texts
from tests.simulation.verbs.written import Commit, as_first_typed

BESIDE = 3


@dataclass(frozen=True, kw_only=True)
class Removal:
    """A batch that can have deleted the rows of a delete, and a read that it can be planned on."""

    batch: Batch
    look: Version
    before: Version
    """The worksheet just before the batch."""
    rows: Sequence[int]

    @property
    def met_others(self) -> Sequence[int]:
        """The rows that held another record when the batch came."""
        return [
            row
            for row in self.rows
            if as_first_typed(self.look.row(row)) != as_first_typed(self.before.row(row))
        ]

    def stayed(self, row: int) -> tuple[Sequence[bool], Sequence[bool]]:
        """Return whether the rows above and below stayed, nearest first, without blank rows."""
        gone, header_row = self.batch.gone, self.look.header_row
        first = last = row
        while first - 1 in gone:
            first -= 1
        while last + 1 in gone:
            last += 1
        return (
            [*self._stayed(range(first - 1, max(header_row, first - 1 - BESIDE), -1))],
            [*self._stayed(range(last + 1, last + 1 + BESIDE))],
        )

    def _stayed(self, rows: range) -> Iterator[bool]:
        for row in rows:
            if row in self.batch.rows or row in self.batch.gone:
                return
            was, now = map(_constants, (self.look.row(row), self.before.row(row)))
            if was:
                yield 2 * len(was.items() & now.items()) > len(was.keys() | now.keys())


def _constants(row: Texts) -> Texts:
    """Return the cells without formulas."""
    return {name: text for name, text in row.items() if name != FILLED_DOWN[-1]}


def is_false_alarm(entry: Entry, courses: Mapping[str, Course], made: Sequence[Commit]) -> bool:
    """True if a write got error 4095 although it clearly met the planned records."""
    if made:
        return not any(
            look.row(effect.row) != effect.was
            for commit in made
            for look in commit.course.looks(commit.batch)
            for effects in commit.effects.values()
            for effect in effects
        )
    removals = [*_removals(entry, courses)]
    return not any(
        each.met_others or not all(map(_shows_the_same, map(each.stayed, each.rows)))
        for each in removals
    )


def silent_removals(entries: Sequence[Entry], courses: Mapping[str, Course]) -> Iterator[Problem]:
    """Yield deletes that clearly removed another record and got a success answer."""
    for entry in entries:
        operation, answer = entry.operation, entry.answer
        if entry.outcome != "done" or answer.is_replayed or not operation.is_conditional:
            continue
        removals = [*_removals(entry, courses)] if operation.method == "DELETE" else []
        if operation.filter is not None:
            removals = [each for each in removals if len(each.rows) == len(answer.results)]
        if removals and all(
            not each.batch.is_lost
            and any(_shows_another(each.stayed(row)) for row in each.met_others)
            for each in removals
        ):
            met = [(row, removals[0].before.row(row)) for row in removals[0].met_others]
            yield Problem(kind="silent", detail=f"{entry} removed {met}")


def _shows_the_same(stayed: tuple[Sequence[bool], Sequence[bool]]) -> bool:
    beside = [*stayed[0], *stayed[1]]
    return beside.count(False) <= 1 and 2 * sum(beside) > len(beside)


def _shows_another(stayed: tuple[Sequence[bool], Sequence[bool]]) -> bool:
    above, below = stayed
    return bool(above) and len(above) + len(below) > 1 and not any([*above, *below])


def _removals(entry: Entry, courses: Mapping[str, Course]) -> Iterator[Removal]:
    """Yield all batches and reads that can have carried out a delete."""
    since, until = entry.asked_at, entry.answered_at
    for course in candidates(courses, entry.worksheet, since - LOOK_SECONDS, until):
        for batch in course.batches:
            if not since <= batch.at <= until or not batch.gone:
                continue
            for look, rows in _planned(entry.operation, course, batch):
                if rows and batch.gone.issuperset(rows):
                    before = course.before(batch)
                    yield Removal(batch=batch, look=look, before=before, rows=rows)


def _planned(
    operation: Operation, course: Course, batch: Batch
) -> Iterator[tuple[Version, Sequence[int]]]:
    """Yield the reads that a batch can be planned on, with the rows that matched then."""
    where = operation.filter
    tagged: Sequence[Texts] = course.tagged(operation)
    for look in course.looks(batch):
        if where is None:
            if operation.tag is None or look.row(operation.rows[0]) in tagged:
                yield look, operation.rows
            continue
        for found in course.first_looks(batch):
            rows = found.matching(where)
            if all(where.matches(row, look.row(row)) for row in rows):
                yield look, rows
