"""Google is not available for a while, in several ways, while clients read known worksheets.

Rules
- Other clients ask for fresh data (`no-cache`) and for a worksheet that was never read. The gateway
  cannot answer these requests, and must return an error at once.
- No client writes, because a write makes the gateway check its outcome at Google even in an outage.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from tests.simulation.reads.stage import Question, Reply, Scenery, Stage, Visitor, set_up
from tests.simulation.reads.verdicts import (
    BREAKER,
    PROBE_SECONDS,
    PROBED_SECONDS,
    RETURN_SECONDS,
    Opening,
    crowded,
    described,
    mismarked,
    noticed,
    recovery_seconds,
    reported,
    unrecovered,
    unrefused,
    unserved,
)
from tests.simulation.report import Report
from tests.simulation.stage import stop_after

FAULTS: Mapping[str, Mapping[str, object]] = {
    "503": {"status": 503},
    "drop": {"drop": True},
    "hole": {"delay_ms": 60_000},
    "429": {"status": 429},
}
"""Faults by name. `hole`: Google accepts requests and does not answer."""
ALWAYS = 1_000_000_000
REFRESH: Mapping[str, str] = {"Cache-Control": "no-cache"}
CLIENTS = 10
WARM_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Outage:
    """Kinds of failures, duration of the outage, and requests to the gateway meanwhile."""

    seconds: float = 600.0
    phases: Sequence[str] = ("503", "hole")
    worksheets: int = 3
    per_second: float = 100.0
    rows_ttl_seconds: float = 5.0
    opening: Opening = BREAKER
    within_seconds: float = RETURN_SECONDS
    asides_every_seconds: float = 1.0
    reads_per_minute: int = 54
    """The gateway's quota of reads."""


@dataclass(kw_only=True)
class Course:
    """Course of an outage: Google fails from time `gone` until time `back`."""

    gone: float = 0.0
    back: float = 0.0
    known: list[Reply] = field(default_factory=list)
    refreshed: list[Reply] = field(default_factory=list)
    unknown: list[Reply] = field(default_factory=list)
    calls: Sequence[float] = ()
    later_calls: Sequence[float] = ()
    """Times of calls to Google after `back`."""

    def during(self, replies: Sequence[Reply]) -> list[Reply]:
        """Return the replies to requests between `gone` and `back`."""
        return [each for each in replies if self.gone <= each.began < self.back]


async def run(folder: Path, outage: Outage) -> Report:
    """Run the whole course, and return the report."""
    scenery = Scenery(
        worksheets=outage.worksheets + 1,
        latency_ms=50,
        reads_per_minute=0,
        settings={
            "cache": {"rows_ttl_seconds": outage.rows_ttl_seconds},
            "google": {"reads_per_minute": outage.reads_per_minute},
        },
    )
    async with set_up(folder, scenery) as stage:
        course = await _course(stage, outage)
    paths = stage.titles[:-1]
    recovered = recovery_seconds(course.known, paths, back=course.back)
    lines = [
        described("known", course.during(course.known)),
        described("no-cache", course.during(course.refreshed)),
        described("unknown", course.during(course.unknown)),
        f"{len(course.calls)} calls in {course.back - course.gone:.0f} s: "
        f"{[round(at - course.gone, 1) for at in course.calls[:40]]}",
        f"then {[round(at - course.back, 1) for at in course.later_calls[:20]]} s after its return",
        f"fresh again after {[round(each, 1) for each in recovered.values()]} s",
    ]
    return reported(lines, list(_problems(course, outage, paths)))


def _problems(course: Course, outage: Outage, paths: Sequence[str]) -> Iterator[str]:
    probes = 1 + int((course.back - course.gone) / PROBE_SECONDS)
    during, seconds = course.during(course.known), outage.opening.refusal_seconds
    yield from unserved(course.known, share=1.0)
    yield from mismarked(during, gone=course.gone, ttl_seconds=outage.rows_ttl_seconds)
    yield from crowded(course.calls, outage.opening)
    yield from unrefused(
        _noticed(course, outage, course.refreshed), probes=0, seconds=PROBED_SECONDS
    )
    yield from unrefused(_noticed(course, outage, course.unknown), probes=probes, seconds=seconds)
    yield from unrecovered(
        course.known, paths, back=course.back, within_seconds=outage.within_seconds
    )


def _noticed(course: Course, outage: Outage, replies: Sequence[Reply]) -> list[Reply]:
    """Return the replies after the gateway noticed the outage and before `back`."""
    since = noticed(course.calls, outage.opening)
    return [each for each in course.during(replies) if each.began > since]


async def _course(stage: Stage, outage: Outage) -> Course:
    course = Course()
    *titles, unknown = stage.titles
    async with AsyncExitStack() as stack:
        visitors = [await stack.enter_async_context(stage.visitor()) for _ in range(CLIENTS + 2)]
        *known, refreshing, asking = visitors
        for question in _known(titles):
            await known[0].ask(question)
        tasks = _polling(known, _known(titles), CLIENTS / outage.per_second)
        await asyncio.sleep(WARM_SECONDS)
        for phase in outage.phases:
            await stage.google.answer_with({"call": "*", "times": ALWAYS, **FAULTS[phase]})
            if not course.gone:
                course.gone = time.monotonic()
                fresh = Question(path=titles[0], headers=REFRESH)
                tasks += _polling([refreshing], [fresh], outage.asides_every_seconds)
                strange = Question(path=unknown)
                tasks += _polling([asking], [strange], outage.asides_every_seconds)
            await asyncio.sleep(outage.seconds / len(outage.phases))
        course.back = time.monotonic()
        await stage.google.answer_with()
        await stop_after(outage.within_seconds + 1.0, tasks)
    course.known = [reply for each in known for reply in each.replies]
    course.refreshed, course.unknown = refreshing.replies, asking.replies
    watch, end = stage.google.watch, time.monotonic()
    course.calls = [call.at for call in watch.between(course.gone, course.back)]
    course.later_calls = [call.at for call in watch.between(course.back, end)]
    return course


def _polling(
    visitors: Sequence[Visitor], questions: Sequence[Question], every_seconds: float
) -> list[asyncio.Task[None]]:
    """Start one task per visitor, which asks all questions in turn; the starts are spread."""
    return [
        asyncio.create_task(
            each.poll(
                cycle(questions),
                every_seconds=every_seconds,
                wait_seconds=every_seconds * index / len(visitors),
            )
        )
        for index, each in enumerate(visitors)
    ]


def _known(titles: Sequence[str]) -> list[Question]:
    return [
        Question(path=title, parameters=parameters)
        for parameters in ({}, {"order": "-amount"}, {"where": '{"group":"group 3"}'})
        for title in titles
    ]
