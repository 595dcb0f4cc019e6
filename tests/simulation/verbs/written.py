"""Operations that write cells, held against the batches that have their marks.

Rules
- Every changed row of a batch is one that an operation was to change, as a whole and in no other
  cell; every new row is below all others. All that an operation wrote is in one batch.
- Which rows were meant is judged by a state that the batch may have been planned on.
- An operation without a key that a killed gateway left may land late, on rows that have moved: then
  nobody could know of it. What it wrote and how often is judged all the same.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.simulation.fire.ledger import Problem
from tests.simulation.verbs.entries import Entry
from tests.simulation.verbs.history import Batch, Course, Effect, Version
from tests.simulation.verbs.operations import KEY, Texts


@dataclass(frozen=True, kw_only=True)
class Commit:
    """What a batch wrote for one entry, by the places of the rows in its body."""

    entry: Entry
    course: Course
    batch: Batch
    effects: Mapping[int, Sequence[Effect]]

    @property
    def rows(self) -> Sequence[int]:
        return sorted(effect.row for each in self.effects.values() for effect in each)

    @property
    def is_forgotten(self) -> bool:
        """True if nobody could know of it any more: its gateway had been killed, and no store has
        it.
        """
        operation = self.entry.operation
        adds_by_key = operation.kind == "upsert" and any(
            effect.is_below for each in self.effects.values() for effect in each
        )
        return self.batch.is_late and operation.key is None and not adds_by_key


@dataclass(frozen=True, kw_only=True)
class Commits:
    """All commits by the numbers of their operations, and what is wrong with those of nobody."""

    by_number: Mapping[int, Sequence[Commit]]
    problems: Sequence[Problem]

    def of(self, entry: Entry) -> Sequence[Commit]:
        return self.by_number.get(entry.operation.number, ())

    def acknowledged(self, title: str) -> Iterator[tuple[float, int]]:
        """When writes to a worksheet were acknowledged, and the versions after them."""
        for each in self.by_number.values():
            for commit in each:
                if commit.entry.worksheet == title and commit.entry.outcome == "done":
                    yield commit.entry.answered_at, commit.batch.index


def commits_of(entries: Sequence[Entry], courses: Mapping[str, Course]) -> Commits:
    """Find out which batch wrote what for whom."""
    owners = {number: each for each in entries for number in each.operation.numbers}
    found: dict[int, list[Commit]] = defaultdict(list)
    problems = []
    for title, course in courses.items():
        for batch in course.batches:
            if batch.complaint:
                problems.append(Problem(kind="overwritten", detail=f"{title}: {batch.complaint}"))
            mine: dict[int, dict[int, list[Effect]]] = defaultdict(lambda: defaultdict(list))
            for effect in batch.effects:
                entry = owners.get(effect.number or 0)
                if entry is None or entry.worksheet != title:
                    detail = f"{title} row {effect.row} became {effect.now}, which nobody sent"
                    problems.append(Problem(kind="overwritten", detail=detail))
                    continue
                operation = entry.operation
                place = (effect.number or 0) - operation.number
                mine[operation.number][place].append(effect)
            for number, effects in mine.items():
                commit = Commit(entry=owners[number], course=course, batch=batch, effects=effects)
                found[number].append(commit)
    return Commits(by_number=found, problems=problems)


def problems_of_writes(entries: Sequence[Entry], commits: Commits) -> Iterator[Problem]:
    """What is wrong with the effects of all operations that write cells."""
    yield from commits.problems
    for entry in entries:
        made = commits.of(entry)
        yield from _miscounted(entry, made)
        for commit in made:
            if entry.was_applied and commit.batch.at > entry.answered_at:
                yield Problem(kind="taken", detail=f"{entry} was told before it took effect")
            for kind, detail in _wrong(commit):
                yield Problem(kind=kind, detail=f"{entry}: {detail}")


def _miscounted(entry: Entry, made: Sequence[Commit]) -> Iterator[Problem]:
    times = len(made)
    detail = f"{entry} was made in {times} batches"
    if times and entry.outcome == "not_applied":
        yield Problem(kind="false outcome", detail=detail)
    elif times > 1:
        yield Problem(kind="doubled", detail=detail)
    elif not times and entry.was_applied and not _may_change_nothing(entry):
        yield Problem(kind="lost", detail=detail)


def _may_change_nothing(entry: Entry) -> bool:
    """True if its answer is one of an operation that had nothing to write, or nothing by marks."""
    operation = entry.operation
    match operation.kind:
        case "delete" | "delete where":
            return True
        case "update where":
            return entry.outcome == "done" and not entry.answer.results
        case "upsert":
            return not operation.merges and not any(
                each["created"] for each in entry.answer.results
            )
        case _:
            return False


def _wrong(commit: Commit) -> Iterator[tuple[str, str]]:
    looks = commit.course.looks(commit.batch)
    operation = commit.entry.operation
    for place, effects in commit.effects.items():
        for effect in effects:
            body = operation.bodies[place]
            if effect.is_below and operation.kind in ("create", "upsert"):
                if effect.now != body:
                    yield "misplaced", f"{body} was created as {effect.now}"
            elif not any(_is_written(effect, body, look) for look in looks):
                yield "overwritten", f"{effect.was} became {effect.now}"
    if commit.is_forgotten:
        return
    yield from _MISPLACED[operation.kind](commit, looks)
    if operation.kind == "upsert":
        yield from _double_keys(commit)


def _is_written(effect: Effect, body: Texts, look: Version) -> bool:
    """True if exactly the cells of a body were written; what the look showed need not be."""
    seen = look.row(effect.row)
    return all(
        effect.now.get(name) == body.get(name, effect.was.get(name))
        or (
            effect.now.get(name) == effect.was.get(name)
            and (seen.get(name) == body.get(name) or name == KEY)
        )
        for name in effect.now.keys() | effect.was.keys() | body.keys()
    )


def _created(commit: Commit, _: Sequence[Version]) -> Iterator[tuple[str, str]]:
    """All rows one below the other, below all others."""
    last_row = commit.course.before(commit.batch).last_row
    rows = [effect.row for place in sorted(commit.effects) for effect in commit.effects[place]]
    if rows != [*range(rows[0], rows[0] + len(commit.entry.operation.bodies))]:
        yield "torn", f"rows {rows}"
    if min(rows) <= last_row:
        yield "misplaced", f"created in rows {rows}, the last one was {last_row}"


def _updated(commit: Commit, looks: Sequence[Version]) -> Iterator[tuple[str, str]]:
    """The rows that were named, as the tag demanded."""
    operation = commit.entry.operation
    rows = {place: [effect.row for effect in each] for place, each in commit.effects.items()}
    if rows != {place: [row] for place, row in enumerate(operation.rows)}:
        yield "misplaced", f"it was made in rows {rows}"
    is_named = any(look.row(operation.rows[0]) == operation.named for look in looks)
    if operation.named is not None and not is_named:
        seen = [look.row(operation.rows[0]) for look in looks]
        yield "another record", f"its tag was that of {operation.named}, the row was {seen}"


def _updated_where(commit: Commit, looks: Sequence[Version]) -> Iterator[tuple[str, str]]:
    """Exactly the rows that matched."""
    operation = commit.entry.operation
    assert operation.filter is not None
    meant = [look.matching(operation.filter) for look in looks]
    if commit.rows not in meant:
        yield "other rows", f"rows {commit.rows} were changed, {meant} matched"
    if operation.most_rows is not None and len(commit.rows) > operation.most_rows:
        yield "other rows", f"{len(commit.rows)} rows were changed"


def _upserted(commit: Commit, looks: Sequence[Version]) -> Iterator[tuple[str, str]]:
    """Rows of a new key are added below all others, rows of a known one changed, if at all."""
    wrong = [[*_upserted_on(commit, look)] for look in looks]
    if all(wrong):
        yield wrong[0][0]


def _upserted_on(commit: Commit, look: Version) -> Iterator[tuple[str, str]]:
    operation, answer = commit.entry.operation, commit.entry.answer
    new: list[int] = []
    for place, body in enumerate(operation.bodies):
        effects = commit.effects.get(place, ())
        rows = look.with_key(body[KEY])
        expected = rows if operation.merges else []
        if len(rows) > 1:
            yield "duplicate key", f"{body[KEY]} was in rows {rows}"
        elif not rows:
            new += [effect.row for effect in effects]
            if len(effects) != 1 or not effects[0].is_below:
                yield "misplaced", f"{body} was new, but made in {effects}"
        elif [effect.row for effect in effects] != expected:
            yield "misplaced", f"{body} was in row {rows}, but made in {effects}"
        if answer.outcome == "done" and answer.results[place]["created"] is not (not rows):
            yield "answer", f"{body} was in rows {rows}, the answer is {answer.results[place]}"
    if new != [*range(new[0], new[0] + len(new))] if new else False:
        yield "torn", f"new rows {new}"


def _double_keys(commit: Commit) -> Iterator[tuple[str, str]]:
    for body in commit.entry.operation.bodies:
        rows = commit.course.after(commit.batch).with_key(body[KEY])
        if len(rows) > 1:
            yield "duplicate key", f"{body[KEY]} is in rows {rows} now"


_MISPLACED = {
    "create": _created,
    "update": _updated,
    "update rows": _updated,
    "update where": _updated_where,
    "upsert": _upserted,
}
