"""Check a whole campaign, and count how much was checked.

Rules
- While only the gateway writes, and it knows the outcomes, a list shows the worksheet at one time,
  with all writes that were acknowledged before the request.
- Cached rows can lack edits of the last seconds, so such lists are not checked for that.
- Every list shows each record at most once, and each record that existed all the time. That also
  holds for cached rows that people sorted meanwhile. An exception: a removal that met moved rows
  leaves no sign, so a record can be missing for a while.
- A list of a worksheet whose title another tab had within this time gets fewer checks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

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
from tests.simulation.verbs.history import LOOK_SECONDS, Course, candidates, record_numbers
from tests.simulation.verbs.moved import silent_removals
from tests.simulation.verbs.operations import ARCHIVE, KEY, KEYS, Texts
from tests.simulation.verbs.removals import Explanation, explain
from tests.simulation.verbs.written import Commit, Commits, commits_of, problems_of_writes

Acknowledged = Sequence[tuple[float, int]]
"""Times of acknowledged writes, each with the index of a version that contains the write."""


@dataclass(kw_only=True)
class JudgedReads:
    """Number of checked lists, and their problems."""

    count: int = 0
    problems: list[Problem] = field(default_factory=list)


def judge_reads(
    reads: Sequence[ListRead],
    courses: Mapping[str, Course],
    acknowledged: Mapping[str, Acknowledged],
    *,
    kept_seconds: float,
) -> JudgedReads:
    """Check the lists that clients read; a gateway caches rows for `kept_seconds`."""
    judged = JudgedReads()
    for read in reads:
        since = read.asked_at - kept_seconds - _slowest_seconds(courses)
        tabs = candidates(courses, read.worksheet, since - LOOK_SECONDS, read.answered_at)
        judged.problems += _mixed(read, tabs, since)
        if len(tabs) != 1:
            continue
        (course,) = tabs
        if not _is_calm(course, since, read.answered_at):
            continue
        judged.count += 1
        indexes = course.indexes(since, read.answered_at)
        known = [index for at, index in acknowledged[course.tab] if at <= read.asked_at]
        first = max([indexes.start, *known])
        shown = {record["rowIndex"]: texts_of(record) for record in read.records}
        if not any(_shows(course, index, shown) for index in range(first, indexes.stop)):
            detail = f"{read.worksheet} at {read.asked_at:.3f} to {read.answered_at:.3f}: {shown}"
            is_old = any(_shows(course, index, shown) for index in range(first))
            judged.problems.append(Problem(kind="old list" if is_old else "list", detail=detail))
    return judged


def _slowest_seconds(courses: Mapping[str, Course]) -> float:
    return max((each.slowest_look_seconds for each in courses.values()), default=0.0)


def _mixed(read: ListRead, tabs: Sequence[Course], since: float) -> Iterator[Problem]:
    """Yield records that a list shows twice, or lacks although they existed all the time."""
    about = f"{read.worksheet} at {read.asked_at:.3f} to {read.answered_at:.3f}"
    shown = record_numbers(texts_of(each) for each in read.records)
    versions = [each.numbers for tab in tabs for each in tab.between(since, read.answered_at)]
    for record, times in shown.items():
        if times > max([1, *(each[record] for each in versions)]):
            yield Problem(kind="twice", detail=f"{about} shows {record} {times} times")
    if len(tabs) == 1 and not _may_lack(tabs[0], since, read.answered_at):
        always = reduce(and_, versions)
        for record in always - shown:
            yield Problem(kind="missing", detail=f"{about} lacks {record}")


def _may_lack(course: Course, since: float, until: float) -> bool:
    """True if rows were removed during this time, after people moved rows since the read."""
    return any(
        batch.removed and since - LOOK_SECONDS <= batch.at <= until and len(course.looks(batch)) > 1
        for batch in course.batches
    )


def _is_calm(course: Course, since: float, until: float) -> bool:
    """True if all changes in this time are batches with a success answer."""
    for index in course.indexes(since, until)[1:]:
        batch = course.by_index.get(index)
        if batch is None or batch.is_lost:
            return False
    return True


def _shows(course: Course, index: int, shown: Mapping[int, Texts]) -> bool:
    records = course.versions[index].records()
    return {row: _named(texts) for row, texts in records.items()} == shown


def _named(texts: Texts) -> Texts:
    return {name: text for name, text in texts.items() if not name.startswith("column ")}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Result of the check; `exact_batches` were checked against a single version."""

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
    """Check answers against the effects at Google.

    `last_reads` are reads after all operations, without cache. `kept_seconds` is the time for which
    the gateway caches rows.
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
    """Explain the removals in a tab by all deletes that can belong to it."""
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
    """Yield unclear outcomes although Google answered and the connection stayed open."""
    for entry in entries:
        code = entry.answer.code
        is_told = code == ROWS_MOVED or RENAMED in entry.answer.message
        is_told |= code == NUMBER_UNKNOWN and any(
            commit.batch.is_outside or commit.batch.is_misplaced for commit in commits.of(entry)
        )
        is_doubtful = entry.outcome in ("unknown", "applied") and not entry.is_cut
        if is_doubtful and not is_told and not saw_failure(entry.asked_at, entry.answered_at):
            yield Problem(kind="unexplained", detail=f"{entry}: {entry.answer.message}")


def _at_the_end(reads: Sequence[ListRead], courses: Mapping[str, Course]) -> Iterator[Problem]:
    """Yield worksheets that are served wrong, and upsert keys that several rows have."""
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
