"""The verdict on a campaign: all that is wrong, and how much was judged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.simulation.report import Problem
from tests.simulation.verbs.answers import (
    NUMBER_UNKNOWN,
    RENAMED,
    ROWS_MOVED,
    SawFailure,
    problems_of_answers,
)
from tests.simulation.verbs.clients import texts_of
from tests.simulation.verbs.entries import Entry, ListRead
from tests.simulation.verbs.history import LOOK_SECONDS, Course, candidates
from tests.simulation.verbs.moved import silent_removals
from tests.simulation.verbs.operations import ARCHIVE, KEY, KEYS
from tests.simulation.verbs.reads import judge_reads
from tests.simulation.verbs.removals import Explanation, explain
from tests.simulation.verbs.written import Commit, Commits, commits_of, problems_of_writes


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`exact_batches` were judged on a single state."""

    problems: Sequence[Problem]
    batches: int
    exact_batches: int
    judged_lists: int
    commits: Sequence[tuple[Entry, Commit]]


def judge(
    entries: Sequence[Entry],
    reads: Sequence[ListRead],
    last_reads: Sequence[ListRead],
    courses: Mapping[str, Course],
    *,
    saw_failure: SawFailure,
    kept_seconds: float,
) -> Verdict:
    """Hold what clients were told against what took effect.

    `last_reads` are made after everything, past all caches. `kept_seconds`: how long the gateway
    keeps rows.
    """
    commits = commits_of(entries, courses)
    explanations = {tab: _explained(course, entries, courses) for tab, course in courses.items()}
    judged = judge_reads(
        reads,
        courses,
        {tab: [*commits.acknowledged(tab), *explanations[tab].acknowledged()] for tab in courses},
        kept_seconds=kept_seconds,
    )
    batches = [(course, batch) for course in courses.values() for batch in course.batches]
    return Verdict(
        problems=[
            *problems_of_writes(entries, commits),
            *(each for one in explanations.values() for each in one.problems()),
            *problems_of_answers(entries, courses, commits, saw_failure),
            *silent_removals(entries, courses),
            *judged.problems,
            *_unexplained(entries, commits, saw_failure),
            *_at_the_end(last_reads, courses),
        ],
        batches=len(batches),
        exact_batches=sum(len(course.looks(batch)) == 1 for course, batch in batches),
        judged_lists=judged.count,
        commits=[(entry, commit) for entry in entries for commit in commits.of(entry)],
    )


def _explained(
    course: Course, entries: Sequence[Entry], courses: Mapping[str, Course]
) -> Explanation:
    """The removals of a tab, by the deletes of all that may have been for it."""
    own: list[Entry] = []
    doubtful: set[int] = set()
    for entry in entries:
        tabs = candidates(courses, entry.worksheet, entry.asked_at - LOOK_SECONDS, entry.ends_at)
        if course in tabs:
            own.append(entry)
            if len(tabs) > 1:
                doubtful.add(entry.operation.number)
    return explain(course, own, frozenset(doubtful))


def _unexplained(
    entries: Sequence[Entry], commits: Commits, saw_failure: SawFailure
) -> Iterator[Problem]:
    """Answers that do not know, though Google answered, and the client was not cut off."""
    for entry in entries:
        code = entry.answer.code
        is_told = code == ROWS_MOVED or RENAMED in entry.answer.message
        is_told |= code == NUMBER_UNKNOWN and any(
            commit.batch.is_outside for commit in commits.of(entry)
        )
        is_doubtful = entry.outcome in ("unknown", "applied") and not entry.is_cut
        if is_doubtful and not is_told and not saw_failure(entry.asked_at, entry.answered_at):
            yield Problem(kind="unexplained", detail=f"{entry}: {entry.answer.message}")


def _at_the_end(reads: Sequence[ListRead], courses: Mapping[str, Course]) -> Iterator[Problem]:
    """Worksheets that are not served as they are; keys of upserts that several rows have."""
    by_title = {read.worksheet: read for read in reads}
    for course in courses.values():
        title, last = course.titles[-1][1], course.versions[-1]
        read = by_title.get(title)
        shown = {each["rowIndex"]: texts_of(each) for each in read.records} if read else None
        if title != ARCHIVE and shown != last.records():
            yield Problem(
                kind="end", detail=f"{title} is {last.records()}, but was read as {shown}"
            )
        for number in range(KEYS):
            rows = last.with_key(f"{KEY}:{number}")
            if len(rows) > 1:
                yield Problem(kind="duplicate key", detail=f"{title} has {KEY}:{number} in {rows}")
