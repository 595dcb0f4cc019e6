"""Everything that clients of a fleet were told, held against what took effect at Google.

Rules
- Pure: evidence goes in, problems come out. Writes and their answers are judged as those of one
  gateway; what reads show too late is `history`'s.
- No answer is a 500. None is `unknown` if nothing failed and nothing was disturbed for long, but
  for a request whose twin is still being carried out.
- With both engines down, processes that answered requests before answer reads.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulation.asking import IN_PROGRESS
from tests.simulation.fleet.history import Acknowledged, Place, Shown, Version, problems_of_reads
from tests.simulation.report import Problem
from tests.simulation.verbs.answers import problems_of_answers
from tests.simulation.verbs.entries import Entry
from tests.simulation.verbs.history import Course
from tests.simulation.verbs.written import commits_of, problems_of_writes

CREATE, UPDATE = "create", "update"
"""Idempotency-Keys are such a word and the number of a row or of an update."""
KILL, SUSPENSION, OUTAGE = "kill", "suspension", "both engines down"
READS = ("row", "page", "search")
QUIET_SECONDS = 10.0
PAUSE_SECONDS = 60.0
"""So long a gateway may rest after a 429 of Google."""
"""Nothing was disturbed for so long before a request that may not be answered `unknown`."""
INTERNAL_ERROR = 500
_GOOD = (200, 201)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One request and its answer: status 0 if the connection broke before."""

    kind: str
    process: int
    asked_at: float
    answered_at: float = 0.0
    status: int = 0
    key: str = ""
    code: int = 0
    outcome: str = ""
    text: str = ""
    """The beginning of an answer that is none of a kind that clients expect."""

    def __str__(self) -> str:
        where = f"{self.kind} at process {self.process}"
        seconds = self.answered_at - self.asked_at
        return f"{where} after {seconds:.1f} s: {self.status} {self.text}"


@dataclass(kw_only=True)
class Log:
    """All that clients were told."""

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
    """A disturbance that lasted from one moment to another, of one process or of all."""

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
    """What is known of a campaign; `peaks` are calls in a minute by account and sort."""

    log: Log
    courses: Mapping[str, Course]
    """What became of each worksheet at Google."""
    spans: Sequence[Span] = ()
    saw_failure: Callable[[float, float], bool] = _saw_none
    """Whether Google failed between two moments."""
    peaks: Mapping[str, int] = field(default_factory=dict)
    per_minute: int = 60

    def is_quiet(self, since: float, until: float) -> bool:
        """Whether nothing went wrong from long before a moment until another."""
        early = since - QUIET_SECONDS
        is_disturbed = any(span.overlaps(early, until) for span in self.spans)
        return not is_disturbed and not self.saw_failure(early, until)


def judge(evidence: Evidence) -> list[Problem]:
    """All that is wrong."""
    log, courses = evidence.log, evidence.courses
    commits = commits_of(log.entries, courses)
    return [
        *problems_of_writes(log.entries, commits),
        *problems_of_answers(log.entries, courses, commits, evidence.saw_failure),
        *problems_of_reads(log.writes, log.reads, versions_of(courses)),
        *_answers(evidence),
        *_refused_reads(evidence),
        *_quota(evidence),
    ]


def versions_of(courses: Mapping[str, Course]) -> Mapping[Place, Sequence[Version]]:
    """The notes that the gateways gave each row."""
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
    """Reads refused for want of both engines, by processes that answered others before."""
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
    """A failure of Google since then is a reason to refuse a read."""
    return read.asked_at - (PAUSE_SECONDS if "quota" in read.text else 0.0)


def _has_served(evidence: Evidence, process: int, before: float, until: float) -> bool:
    """Whether a process answered before a moment, and nothing befell it from then on."""
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
