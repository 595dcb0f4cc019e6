"""Check operations that write cells against the batches that contain their marks.

Rules
- Every row that a batch changed belongs to an operation, which changed these cells and no other;
  every new row is below all others. All that an operation wrote is in one batch.
- The intended rows follow from a version that the batch can be planned on. If that version is old,
  the rows were the same within the maximum age of a read (look).
- The batch is in a tab that had the title of its worksheet: at the commit if Google's answer
  arrived, because that answer shows the title.
- Google's answer shows the rows, too: if the write met another record than the condition meant, the
  client gets an error.
- In a row with a formula a blank cell proves nothing, because it can belong to the formula.
- No late copy of an update overwrites an acknowledged update that was sent after its answer.
- Only the total number of rows with a shared mark is checked.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulation.people import CORRECTED
from tests.simulation.report import Problem
from tests.simulation.verbs.entries import Entry
from tests.simulation.verbs.history import (
    LOOK_SECONDS,
    Batch,
    Course,
    Effect,
    Version,
    is_alike,
)
from tests.simulation.verbs.operations import KEY, Texts

KNOWN_SECONDS = 12.0
"""Seconds for which a create can use the title that a tab had when its header was read."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """What a batch wrote for one entry, by the index of the row in the request body."""

    entry: Entry
    course: Course
    batch: Batch
    effects: Mapping[int, Sequence[Effect]]

    @property
    def rows(self) -> Sequence[int]:
        return sorted(effect.row for each in self.effects.values() for effect in each)

    @property
    def is_direct(self) -> bool:
        """True if the client's answer comes from Google's answer to the batch."""
        is_lost = self.batch.is_lost or self.batch.is_outside
        return not self.entry.answer.is_replayed and not is_lost

    @property
    def is_in_its_tab(self) -> bool:
        """True if the tab had the worksheet's title when the gateway last read it."""
        batch, title = self.batch, self.entry.worksheet
        is_sure = self.entry.outcome == "done" and self.is_direct
        age_seconds = KNOWN_SECONDS if self.entry.operation.kind == "create" else LOOK_SECONDS
        since = batch.at if is_sure else batch.sent_at - age_seconds
        return self.course.had(title, since, batch.at)


@dataclass(frozen=True, kw_only=True)
class Commits:
    """All commits by operation number, and the problems of writes without an operation."""

    by_number: Mapping[int, Sequence[Commit]]
    problems: Sequence[Problem]
    shared: Mapping[int, int] = field(default_factory=dict)
    """Number of rows written for each shared mark."""

    def of(self, entry: Entry) -> Sequence[Commit]:
        return self.by_number.get(entry.operation.number, ())

    def acknowledged(self, tab: str) -> Iterator[tuple[float, int]]:
        """Yield the time of each acknowledged write to a tab, and the version after it."""
        for each in self.by_number.values():
            for commit in each:
                if commit.course.tab == tab and commit.entry.outcome == "done":
                    yield commit.entry.answered_at, commit.batch.index


def commits_of(entries: Sequence[Entry], courses: Mapping[str, Course]) -> Commits:
    """Assign the effects of batches to operations."""
    owners = {number: each for each in entries for number in each.operation.numbers}
    shared: dict[int | None, Texts] = {
        each.operation.shared: each.operation.bodies[0]
        for each in entries
        if each.operation.shared is not None
    }
    counts = Counter[int]()
    found: dict[int, list[Commit]] = defaultdict(list)
    problems = []
    for tab, course in courses.items():
        for batch in course.batches:
            if batch.complaint:
                problems.append(Problem(kind="overwritten", detail=f"{tab}: {batch.complaint}"))
            mine: dict[int, dict[int, list[Effect]]] = defaultdict(lambda: defaultdict(list))
            for effect in batch.effects:
                if effect.number in shared:
                    counts[effect.number or 0] += 1
                    if not effect.is_below or effect.now != shared[effect.number]:
                        detail = f"{tab} row {effect.row} {effect.was} became {effect.now}"
                        problems.append(Problem(kind="misplaced", detail=detail))
                    continue
                entry = owners.get(effect.number or 0)
                if entry is None:
                    detail = f"{tab} row {effect.row} became {effect.now}, which nobody sent"
                    problems.append(Problem(kind="overwritten", detail=detail))
                    continue
                operation = entry.operation
                place = (effect.number or 0) - operation.number
                mine[operation.number][place].append(effect)
            for number, effects in mine.items():
                commit = Commit(entry=owners[number], course=course, batch=batch, effects=effects)
                found[number].append(commit)
    return Commits(by_number=found, problems=problems, shared=counts)


def problems_of_writes(entries: Sequence[Entry], commits: Commits) -> Iterator[Problem]:
    """Yield wrong effects of all operations that write cells."""
    yield from commits.problems
    yield from _shared_rows(entries, commits)
    yield from _overtaken(entries, commits)
    for entry in entries:
        if entry.operation.shared is not None:
            continue
        made = commits.of(entry)
        yield from _miscounted(entry, made)
        for commit in made:
            if entry.was_applied and commit.batch.at > entry.answered_at:
                yield Problem(kind="taken", detail=f"{entry} was told before it took effect")
            for kind, detail in _wrong(commit):
                yield Problem(kind=kind, detail=f"{entry}: {detail}")


def _shared_rows(entries: Sequence[Entry], commits: Commits) -> Iterator[Problem]:
    """Yield shared rows that are too many or too few for the answers."""
    told: dict[int, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        if entry.operation.shared is not None:
            told[entry.operation.shared][entry.outcome] += 1
    for number, outcomes in told.items():
        made = commits.shared.get(number, 0)
        fewest = outcomes["done"] + outcomes["applied"]
        detail = f"{number} was created {made} times; answers: {dict(outcomes)}"
        if made < fewest:
            yield Problem(kind="lost", detail=detail)
        if made > fewest + outcomes["unknown"]:
            yield Problem(kind="doubled", detail=detail)


def _overtaken(entries: Sequence[Entry], commits: Commits) -> Iterator[Problem]:
    """Yield updates whose late copy overwrote an acknowledged update sent after their answer."""
    acknowledged: dict[tuple[str, int], list[Entry]] = defaultdict(list)
    updates = [each for each in entries if each.operation.kind in ("update", "update rows")]
    for entry in updates:
        for commit in commits.of(entry) if entry.was_applied else ():
            for row in commit.rows:
                acknowledged[commit.course.tab, row].append(entry)
    for entry in updates:
        for commit in commits.of(entry):
            for row in commit.rows:
                for other in acknowledged[commit.course.tab, row]:
                    is_after = entry.answered_at < other.asked_at
                    if is_after and other.answered_at < commit.batch.at:
                        detail = f"{entry} was made at {commit.batch.at:.3f}, after {other}"
                        yield Problem(kind="overwritten", detail=detail)


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
    """True if the answer fits an operation that had nothing to write."""
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
    if not commit.is_in_its_tab:
        yield "other tab", f"it was made in {commit.course.tab}, {commit.course.titles}"
    for place, effects in commit.effects.items():
        for effect in effects:
            body = operation.bodies[place]
            if _is_new(commit, place, effect):
                if effect.now != body:
                    yield "misplaced", f"{body} was created as {effect.now}"
            elif (operation.kind == "create" and effect.was) or not any(
                _is_written(effect, body, look) for look in looks
            ):
                yield "overwritten", f"{effect.was} became {effect.now}"
    yield from _MISPLACED[operation.kind](commit, looks)
    if operation.kind == "upsert":
        yield from _double_keys(commit)
    if commit.entry.outcome == "done" and commit.is_direct:
        yield from _silent(commit)


def _silent(commit: Commit) -> Iterator[tuple[str, str]]:
    """Yield rows of a conditional write that met another record without an error."""
    operation = commit.entry.operation
    for place, effects in commit.effects.items():
        body = operation.bodies[place]
        for effect in effects:
            if not _is_new(commit, place, effect) and not _is_meant(commit, body, effect):
                condition = operation.filter or operation.named or body
                yield "silent", f"{condition} was meant, {effect.was} became {effect.now}"


def _is_new(commit: Commit, place: int, effect: Effect) -> bool:
    """True if a row was added.

    An upsert can also have found its row, which people removed meanwhile.
    """
    operation, answer = commit.entry.operation, commit.entry.answer
    if not effect.is_below or operation.kind not in ("create", "upsert"):
        return False
    if operation.kind == "create":
        return True
    if answer.outcome == "done":
        return bool(answer.results[place]["created"])
    key = operation.bodies[place][KEY]
    looks = commit.course.looks(commit.batch)
    return not any(effect.row in look.with_key(key) for look in looks)


def _is_meant(commit: Commit, body: Texts, effect: Effect) -> bool:
    """True if the cells that were not written are those of a record that was meant."""
    operation = commit.entry.operation
    if operation.tag is not None:
        tagged = commit.course.tagged(operation)
        beside = [_beside(each, body) for each in tagged]
        met = _beside(effect.was, body)
        is_same = any(identity_of(each) == identity_of(effect.was) for each in tagged)
        is_hidden = commit.course.has_formulas and any(
            met.items() <= each.items() for each in beside
        )
        return is_same or met in beside or not tagged or is_hidden
    if operation.filter is not None:
        where = operation.filter
        return where.field in body or where.matches(effect.row, as_first_typed(effect.was))
    return operation.kind != "upsert" or as_first_typed(effect.was).get(KEY) == body[KEY]


def _beside(texts: Texts, body: Texts) -> Texts:
    return {name: text for name, text in texts.items() if name not in body}


def identity_of(texts: Texts) -> tuple[str, str]:
    """Return the fields that identify a record after changes of its other fields."""
    first = as_first_typed(texts)
    return first.get("id", ""), first.get(KEY, "")


def as_first_typed(texts: Texts) -> Texts:
    """Return a row without the words that people added to its cells."""
    return {name: text.removesuffix(CORRECTED) for name, text in texts.items()}


def _is_written(effect: Effect, body: Texts, look: Version) -> bool:
    """True if exactly the cells of a body were written; unchanged cells are optional."""
    seen = look.row(effect.row)
    return all(
        effect.now.get(name) == body.get(name, effect.was.get(name))
        or (
            effect.now.get(name) == effect.was.get(name)
            and (seen.get(name) == body.get(name) or name == KEY)
        )
        for name in effect.now.keys() | effect.was.keys() | body.keys()
    )


def _created(commit: Commit, looks: Sequence[Version]) -> Iterator[tuple[str, str]]:
    """Yield created rows that are not adjacent, or not below all others of sheet or table."""
    before, after = commit.course.before(commit.batch), commit.course.after(commit.batch)
    last_row = before.end
    rows = [effect.row for place in sorted(commit.effects) for effect in commit.effects[place]]
    if rows != [*range(rows[0], rows[0] + len(commit.entry.operation.bodies))]:
        yield "torn", f"rows {rows}"
    batch, answer = commit.batch, commit.entry.answer
    if batch.is_misplaced:
        is_meant = any(look.last_row == batch.inserted.start - 1 for look in looks)
        is_hidden = commit.is_direct and batch.shows_it and answer.outcome == "done"
        if not is_meant or is_hidden:
            ends = [look.last_row for look in looks]
            yield "misplaced", f"inserted in rows {rows}, the last one was {last_row} of {ends}"
    elif min(rows) <= last_row:
        yield "misplaced", f"created in rows {rows}, the last one was {last_row}"
    if after.body and not {*rows} <= {*after.body}:
        yield "misplaced", f"created in rows {rows}, the table has the rows {after.body}"


def _updated(commit: Commit, looks: Sequence[Version]) -> Iterator[tuple[str, str]]:
    """Yield updated rows with another number, or another record than the ETag demands."""
    operation = commit.entry.operation
    rows = {place: [effect.row for effect in each] for place, each in commit.effects.items()}
    if rows != {place: [row] for place, row in enumerate(operation.rows)}:
        yield "misplaced", f"it was made in rows {rows}"
    tagged = commit.course.tagged(operation)
    is_named = any(look.row(operation.rows[0]) in tagged for look in looks)
    if operation.named is not None and not is_named:
        seen = [look.row(operation.rows[0]) for look in looks]
        yield "another record", f"its tag was that of {operation.named}, the row was {seen}"


def _updated_where(commit: Commit, looks: Sequence[Version]) -> Iterator[tuple[str, str]]:
    """Yield updates of other rows than those that matched."""
    operation = commit.entry.operation
    assert operation.filter is not None
    first_looks = commit.course.first_looks(commit.batch)
    meant = [
        look.matching(operation.filter)
        for look in first_looks
        if is_alike(look, looks, commit.rows)
    ]
    if commit.rows not in meant:
        yield "other rows", f"rows {commit.rows} were changed, {meant} matched"
    if operation.most_rows is not None and len(commit.rows) > operation.most_rows:
        yield "other rows", f"{len(commit.rows)} rows were changed"


def _upserted(commit: Commit, looks: Sequence[Version]) -> Iterator[tuple[str, str]]:
    """Yield new rows that are not below all others, and wrong changes of existing rows."""
    old = [
        each
        for each in commit.course.first_looks(commit.batch)
        if each not in looks and is_alike(each, looks, commit.rows)
    ]
    wrong = [[*_upserted_on(commit, look)] for look in [*looks, *old]]
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
