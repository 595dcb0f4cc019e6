"""What happened to one write, in order: requests, answers, effects, and disturbances meanwhile."""

import re
from collections.abc import Iterator, Sequence

from tests.simulation.fleet.verdict import KILL, SUSPENSION, Evidence
from tests.simulation.report import Problem
from tests.simulation.verbs.written import commits_of

TOLD = ("lost", "doubled", "misplaced", "false outcome", "taken", "overwritten")
MOST_TOLD = 5
_WRITE = re.compile(r"(create|update) (\d+) ")

Event = tuple[float, str]
"""A moment and what happened."""


def chronicles(problems: Sequence[Problem], evidence: Evidence) -> Iterator[str]:
    """Lines about the first writes that problems name; times count from the first request."""
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
