"""The verdict on a campaign: all that is wrong, and how much was judged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.simulation.fire.ledger import Problem
from tests.simulation.verbs.answers import SawFailure, problems_of_answers
from tests.simulation.verbs.clients import texts_of
from tests.simulation.verbs.entries import Entry, ListRead
from tests.simulation.verbs.history import Course
from tests.simulation.verbs.operations import KEY, KEYS
from tests.simulation.verbs.reads import judge_reads
from tests.simulation.verbs.removals import explain
from tests.simulation.verbs.written import Commits, commits_of, problems_of_writes


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`exact_batches` were judged on a single state, `forgotten` writes not on their rows."""

    problems: Sequence[Problem]
    batches: int
    exact_batches: int
    judged_lists: int
    forgotten: int


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
    explanations = {
        title: explain(course, [each for each in entries if each.worksheet == title])
        for title, course in courses.items()
    }
    judged = judge_reads(
        reads,
        courses,
        {
            title: [*commits.acknowledged(title), *explanations[title].acknowledged()]
            for title in courses
        },
        kept_seconds=kept_seconds,
    )
    batches = [(course, batch) for course in courses.values() for batch in course.batches]
    return Verdict(
        problems=[
            *problems_of_writes(entries, commits),
            *(each for one in explanations.values() for each in one.problems()),
            *problems_of_answers(entries, courses, commits, saw_failure),
            *judged.problems,
            *_unexplained(entries, saw_failure),
            *_at_the_end(last_reads, courses, commits),
        ],
        batches=len(batches),
        exact_batches=sum(len(course.looks(batch)) == 1 for course, batch in batches),
        judged_lists=judged.count,
        forgotten=sum(
            commit.is_forgotten for made in commits.by_number.values() for commit in made
        ),
    )


def _unexplained(entries: Sequence[Entry], saw_failure: SawFailure) -> Iterator[Problem]:
    """Answers that do not know, though Google answered, and the client was not cut off."""
    for entry in entries:
        is_doubtful = entry.outcome in ("unknown", "applied") and not entry.is_cut
        if is_doubtful and not saw_failure(entry.asked_at, entry.answered_at):
            yield Problem(kind="unexplained", detail=f"{entry}: {entry.answer.message}")


def _at_the_end(
    reads: Sequence[ListRead], courses: Mapping[str, Course], commits: Commits
) -> Iterator[Problem]:
    """Worksheets that are not served as they are; keys of upserts that several rows have."""
    by_title = {read.worksheet: read for read in reads}
    for title, course in courses.items():
        last = course.versions[-1]
        read = by_title.get(title)
        shown = {each["rowIndex"]: texts_of(each) for each in read.records} if read else None
        if shown != last.records():
            yield Problem(
                kind="end", detail=f"{title} is {last.records()}, but was read as {shown}"
            )
        has_forgotten = any(
            commit.is_forgotten and commit.course is course
            for made in commits.by_number.values()
            for commit in made
        )
        for number in range(KEYS):
            rows = last.with_key(f"{KEY}:{number}")
            if len(rows) > 1 and not has_forgotten:
                yield Problem(kind="duplicate key", detail=f"{title} has {KEY}:{number} in {rows}")
