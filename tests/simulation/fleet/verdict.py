"""Check all answers to clients of a fleet against the effects at Google.

Rules
- Pure: the check takes evidence and returns problems. Writes and their answers are checked as for
  one gateway.
- No answer has status 500. No outcome is `unknown` if nothing failed and nothing was disturbed for
  a long time, except for a request whose repetition is still running.
- While both PostgreSQL and Redis are down, processes that have answered requests answer reads.
- One client owns a row and changes it with one write at a time. No row moves or disappears. So a
  row number identifies a record, whose versions have one order: the order of effects at Google.
- Invariant I4: a read that began after a write was acknowledged shows that write or a newer one. A
  read whose answer says `detail=alone` can show anything, and so can any read after a write whose
  answer said so.
- Monotonic reads: a later read of a client is not older than an earlier one. Exceptions: either
  answer, or the write that was shown, says `detail=alone`; or the later read is marked as stale.
- A shown value has taken effect at Google before the answer.
- At the end the emulator has the rows of the last recorded versions.
"""

import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulation.asking import IN_PROGRESS
from tests.simulation.report import Problem
from tests.simulation.verbs.answers import problems_of_answers
from tests.simulation.verbs.entries import Entry
from tests.simulation.verbs.history import Course
from tests.simulation.verbs.written import commits_of, problems_of_writes
from tests.simulation.witness import texts_of

Place = tuple[str, int]
"""A worksheet title and a row number."""
ABSENT = None
"""Recorded in place of a note if the row does not exist."""
NEVER_THERE = -1
"""Index of the version before a row's first one."""


@dataclass(frozen=True, kw_only=True)
class Version:
    """The note of a row from one time on."""

    at: float
    note: str


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """A write of a row's note whose answer said success."""

    place: Place
    note: str
    answered_at: float
    process: int = 0
    is_alone: bool = False


@dataclass(frozen=True, kw_only=True)
class Shown:
    """An answer to a read; `notes` are the notes of all rows in it, or ABSENT."""

    client: int
    process: int
    kind: str
    worksheet: str
    asked_at: float
    answered_at: float
    notes: Mapping[int, str | None] = field(default_factory=dict)
    is_alone: bool = False
    is_stale: bool = False

    def __str__(self) -> str:
        marks = [
            name for name, holds in (("stale", self.is_stale), ("alone", self.is_alone)) if holds
        ]
        return f"{' '.join((*marks, self.kind))} of client {self.client} at process {self.process}"


def problems_of_reads(
    writes: Sequence[Acknowledged],
    reads: Sequence[Shown],
    versions: Mapping[Place, Sequence[Version]],
) -> list[Problem]:
    """Return reads that are too old, or show a value that never existed.

    The reads of a client are in order.
    """
    rows = {place: _Row.of(found) for place, found in versions.items()}
    for write in writes:
        rows.setdefault(write.place, _Row()).acknowledge(write)
    for row in rows.values():
        row.settle()
    return [*_stale(reads, rows), *_going_back(reads, rows)]


@dataclass(kw_only=True)
class _Row:
    """The versions of a row, and the oldest version that reads can show after given times."""

    versions: Sequence[Version] = ()
    index: Mapping[str | None, int] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    """Indexes of versions whose writes said `detail=alone`."""
    acknowledged: list[tuple[float, int]] = field(default_factory=list)
    moments: Sequence[float] = ()
    floors: Sequence[int] = ()

    @classmethod
    def of(cls, versions: Sequence[Version]) -> "_Row":
        ordered = sorted(versions, key=lambda each: each.at)
        index: dict[str | None, int] = {ABSENT: NEVER_THERE}
        for number, version in enumerate(ordered):
            index.setdefault(version.note, number)
        return cls(versions=ordered, index=index)

    def acknowledge(self, write: Acknowledged) -> None:
        number = self.index.get(write.note)
        if number is None:
            return  # a lost write, which the check of writes finds
        if write.is_alone:
            self.alone.add(number)
        else:
            self.acknowledged.append((write.answered_at, number))

    def settle(self) -> None:
        """Sort the acknowledged versions by time."""
        self.acknowledged.sort()
        highest, floors = NEVER_THERE, []
        for _, number in self.acknowledged:
            highest = max(highest, number)
            floors.append(highest)
        self.moments, self.floors = [at for at, _ in self.acknowledged], floors

    def floor_at(self, moment: float) -> int:
        """Return the index of the newest version that was acknowledged before a time."""
        count = bisect_left(self.moments, moment)
        return self.floors[count - 1] if count else NEVER_THERE

    def acknowledged_at(self, number: int) -> float:
        return min((at for at, each in self.acknowledged if each >= number), default=math.nan)


def _stale(reads: Sequence[Shown], rows: Mapping[Place, _Row]) -> Iterator[Problem]:
    """Yield reads that are older than an acknowledged write, or show an unknown value."""
    nothing = _Row.of(())
    for read in reads:
        for number, note in read.notes.items():
            row = rows.get((read.worksheet, number), nothing)
            at = row.index.get(note)
            what = f"{read}: {read.worksheet} row {number} is {note!r}"
            if at is None or (at != NEVER_THERE and row.versions[at].at > read.answered_at):
                yield Problem(kind="never was", detail=f"{what}, as it never was by then")
                continue
            floor = row.floor_at(read.asked_at)
            if at < floor and not read.is_alone:
                late = read.asked_at - row.acknowledged_at(floor)
                newer = f"{row.versions[floor].note!r} was acknowledged {late:.2f} s before"
                yield Problem(kind="stale read", detail=f"{what}, {newer}")


def _going_back(reads: Sequence[Shown], rows: Mapping[Place, _Row]) -> Iterator[Problem]:
    """Yield reads that are older than an earlier read of the same client."""
    highest: dict[int, dict[Place, tuple[int, Shown]]] = defaultdict(dict)
    for read in reads:
        shown = highest[read.client]
        for number, note in read.notes.items():
            place = (read.worksheet, number)
            row = rows.get(place)
            at = None if row is None else row.index.get(note)
            if row is None or at is None:
                continue
            before, earlier = shown.get(place, (NEVER_THERE, read))
            if at < before and not read.is_alone and not read.is_stale:
                seconds = read.asked_at - earlier.answered_at
                detail = f"{read}: {place} is {note!r} {seconds:.2f} s after {earlier}"
                detail += f" showed {row.versions[before].note!r}"
                yield Problem(kind="went back", detail=detail)
            if at > before and not read.is_alone and at not in row.alone:
                shown[place] = (at, read)


CREATE, UPDATE = "create", "update"
"""An Idempotency-Key is one of these words and the number of a row or of an update."""
KILL, SUSPENSION, OUTAGE = "kill", "suspension", "both engines down"
READS = ("row", "page", "search")
QUIET_SECONDS = 10.0
"""Time without disturbances after which an outcome must not be `unknown`."""
PAUSE_SECONDS = 60.0
"""Longest time for which a gateway pauses after Google's status 429."""
INTERNAL_ERROR = 500
_GOOD = (200, 201)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One request and its answer; the status is 0 if the connection broke first."""

    kind: str
    process: int
    asked_at: float
    answered_at: float = 0.0
    status: int = 0
    key: str = ""
    code: int = 0
    outcome: str = ""
    text: str = ""
    """Start of the body of an unexpected answer."""

    def __str__(self) -> str:
        where = f"{self.kind} at process {self.process}"
        seconds = self.answered_at - self.asked_at
        return f"{where} after {seconds:.1f} s: {self.status} {self.text}"


@dataclass(kw_only=True)
class Log:
    """All answers that the clients received."""

    entries: list[Entry] = field(default_factory=list)
    writes: list[Acknowledged] = field(default_factory=list)
    reads: list[Shown] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    replays: int = 0

    @property
    def creates(self) -> int:
        return sum(each.operation.kind == "create" for each in self.entries)


@dataclass(frozen=True, kw_only=True)
class Span:
    """A disturbance of one process or of all, from one time to another."""

    kind: str
    since: float
    until: float
    process: int | None = None

    def overlaps(self, since: float, until: float) -> bool:
        return self.since <= until and self.until >= since


def _saw_none(_since: float, _until: float) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The records of a campaign; `peaks` are calls per minute by account and kind."""

    log: Log
    courses: Mapping[str, Course]
    """What happened to each worksheet at Google, by title."""
    spans: Sequence[Span] = ()
    saw_failure: Callable[[float, float], bool] = _saw_none
    """Returns True if Google failed between two times."""
    peaks: Mapping[str, int] = field(default_factory=dict)
    per_minute: int = 60
    last_texts: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    """All cells of the worksheets in the emulator at the end, by title."""

    def is_quiet(self, since: float, until: float) -> bool:
        """True if nothing failed between these times, and for a long time before."""
        early = since - QUIET_SECONDS
        is_disturbed = any(span.overlaps(early, until) for span in self.spans)
        return not is_disturbed and not self.saw_failure(early, until)


def judge(evidence: Evidence) -> list[Problem]:
    """Return all problems of a campaign."""
    log, courses = evidence.log, evidence.courses
    commits = commits_of(log.entries, courses)
    return [
        *problems_of_writes(log.entries, commits),
        *problems_of_answers(log.entries, courses, commits, evidence.saw_failure),
        *problems_of_reads(log.writes, log.reads, versions_of(courses)),
        *_answers(evidence),
        *_refused_reads(evidence),
        *_quota(evidence),
        *_at_the_end(evidence),
    ]


def versions_of(courses: Mapping[str, Course]) -> Mapping[Place, Sequence[Version]]:
    """Return the notes that the gateways wrote into each row."""
    found: dict[Place, list[Version]] = defaultdict(list)
    for title, course in courses.items():
        for batch in course.batches:
            for effect in batch.effects:
                version = Version(at=batch.at, note=effect.now.get("note", ""))
                found[title, effect.row].append(version)
    return found


def _answers(evidence: Evidence) -> Iterator[Problem]:
    for each in evidence.log.attempts:
        if each.status == INTERNAL_ERROR:
            yield Problem(kind="answer 500", detail=str(each))
        elif (
            each.outcome == "unknown"
            and each.code != IN_PROGRESS
            and evidence.is_quiet(each.asked_at, each.answered_at)
        ):
            yield Problem(kind="unknown", detail=str(each))


def _refused_reads(evidence: Evidence) -> Iterator[Problem]:
    """Yield reads that failed because both PostgreSQL and Redis were down.

    Only processes that had answered requests before are checked.
    """
    outages = [span for span in evidence.spans if span.kind == OUTAGE]
    for each in evidence.log.attempts:
        outage = next((it for it in outages if it.since <= each.asked_at <= it.until), None)
        if (
            outage is not None
            and each.kind in READS
            and each.status > INTERNAL_ERROR
            and not evidence.saw_failure(_excused_from(each), each.answered_at)
            and _has_served(evidence, each.process, outage.since, each.answered_at)
        ):
            yield Problem(kind="refused read", detail=str(each))


def _excused_from(read: Attempt) -> float:
    """Return the time from which a failure of Google explains a failed read."""
    return read.asked_at - (PAUSE_SECONDS if "quota" in read.text else 0.0)


def _has_served(evidence: Evidence, process: int, before: float, until: float) -> bool:
    """True if a process answered before a time and was not disturbed from then on."""
    answered_at = [
        each.answered_at
        for each in evidence.log.attempts
        if each.process == process and each.status in _GOOD and each.answered_at < before
    ]
    return bool(answered_at) and not any(
        span.process == process and span.overlaps(answered_at[-1], until) for span in evidence.spans
    )


def _quota(evidence: Evidence) -> Iterator[Problem]:
    for name, peak in evidence.peaks.items():
        if peak > evidence.per_minute:
            detail = f"{name}: {peak} calls in 60 s, at most {evidence.per_minute}"
            yield Problem(kind="quota", detail=detail)


def _at_the_end(evidence: Evidence) -> Iterator[Problem]:
    for title, course in evidence.courses.items():
        noted = _filled(texts_of(course.versions[-1].sheet))
        found = _filled(evidence.last_texts.get(title, ()))
        if found != noted:
            detail = f"the emulator has other rows of {title} than noted: {found}, not {noted}"
            yield Problem(kind="witness", detail=detail)


def _filled(rows: Sequence[Sequence[str]]) -> Mapping[tuple[int, int], str]:
    """Return the cells that are not blank, by row and column from 1 on."""
    return {
        (row, column): text
        for row, cells in enumerate(rows, start=1)
        for column, text in enumerate(cells, start=1)
        if text
    }


TOLD = ("lost", "doubled", "misplaced", "false outcome", "taken", "overwritten")
MOST_TOLD = 5
_WRITE = re.compile(r"(create|update) (\d+) ")

Event = tuple[float, str]
"""A time and a description."""


def chronicles(problems: Sequence[Problem], evidence: Evidence) -> Iterator[str]:
    """Yield event logs of the first writes in the problems, in seconds after the first request."""
    told: set[str] = set()
    for problem in problems:
        found = _WRITE.match(problem.detail) if problem.kind in TOLD else None
        if found is None or len(told) == MOST_TOLD:
            continue
        key = f"{found[1]}-{found[2]}"
        if key not in told:
            told.add(key)
            yield f"{key}, {problem.kind}:"
            yield from _chronicle(key, int(found[2]), evidence)


def _chronicle(key: str, number: int, evidence: Evidence) -> Iterator[str]:
    attempts = [each for each in evidence.log.attempts if each.key == key]
    if not attempts:
        return
    events: list[Event] = []
    for attempt in attempts:
        events.append((attempt.asked_at, f"{attempt.kind} sent to process {attempt.process}"))
        events.append((attempt.answered_at, f"{attempt}"))
    events += [
        (commit.batch.at, f"made in {commit.course.tab} rows {commit.rows}")
        for commit in commits_of(evidence.log.entries, evidence.courses).by_number.get(number, ())
    ]
    began, ended = min(at for at, _ in events), max(at for at, _ in events)
    for span in evidence.spans:
        if span.overlaps(began, ended):
            is_one = span.kind in (KILL, SUSPENSION)
            what = f"{span.kind} of process {span.process}" if is_one else span.kind
            events += [(span.since, f"{what} begins"), (span.until, f"{what} is over")]
    for at, what in sorted(events):
        yield f"  {at - began:8.2f} {what}"
