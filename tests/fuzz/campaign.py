"""Random requests to the whole gateway, with checks of each answer."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from sheets_emulator.faults import Fault
from tests.asgi_client import Request
from tests.fuzz.canaries import found
from tests.fuzz.requests import requests
from tests.fuzz.stage import Stage, Wrap, as_it_is, staged
from tests.fuzz.verdict import problems_of, problems_of_log

PART = 2_000
"""Requests to one gateway. A new gateway follows, because requests enlarge the worksheets."""

FAULTY_SHARE = 10
"""One of this many parts has failures of Google."""

FAULTS = st.one_of(
    st.builds(
        Fault,
        call=st.sampled_from(
            [
                *("*", "spreadsheets.batchUpdate", "spreadsheets.get"),
                *("values.get", "values.batchGetByDataFilter"),
            ]
        ),
        apply=st.booleans(),
        status=st.sampled_from([400, 403, 404, 429, 500, 503]),
        times=st.integers(1, 3),
    ),
    st.builds(Fault, call=st.just("*"), apply=st.booleans(), status=st.none(), drop=st.just(True)),
    st.builds(
        Fault,
        call=st.just("*"),
        status=st.just(200),
        text=st.sampled_from(["", "<html>", "{}", "[" * 1000, '{"range":"?","values":[[{}]]}']),
    ),
    st.builds(Fault, call=st.just("*"), status=st.none(), truncate=st.integers(0, 40)),
)


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """Number of requests and seed. `wrap` adds a planted bug to the application."""

    cases: int
    seed: int = 1
    wrap: Wrap = as_it_is


@dataclass(kw_only=True)
class Report:
    """Counts of answers by status, and problems."""

    answers: Counter[int] = field(default_factory=Counter)
    searched_bytes: int = 0
    canaries: Sequence[str] = ()
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        statuses = ", ".join(f"{status}: {count}" for status, count in sorted(self.answers.items()))
        return "\n".join(
            [
                f"{self.answers.total()} answers ({statuses})",
                f"{len(self.canaries)} canaries ({', '.join(self.canaries)}) searched in "
                f"{self.searched_bytes} bytes of answers, log and metrics",
                *self.problems,
                f"{len(self.problems)} problems",
            ]
        )


def fought(campaign: Campaign) -> Report:
    """Run a campaign, and return the report. A part ends with its first problem."""
    report = Report()
    for number, first in enumerate(range(0, campaign.cases, PART)):
        count = min(PART, campaign.cases - first)
        with tempfile.TemporaryDirectory() as folder:
            _fight(campaign, report, number, count, Path(folder))
    return report


def _fight(campaign: Campaign, report: Report, number: int, count: int, folder: Path) -> None:
    is_faulty = number % FAULTY_SHARE == FAULTY_SHARE - 1
    with staged(folder, wrap=campaign.wrap) as stage:
        report.canaries = [*stage.canaries]

        @seed(campaign.seed * 10_000 + number)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(requests(stage.usual_keys), FAULTS | st.none() if is_faulty else st.none())
        def ask(request: Request, fault: Fault | None) -> None:
            stage.faults(*([fault] if fault else []))
            _ask(stage, request, report, may_fail=is_faulty)

        try:
            ask()
        except Exception as error:  # further parts continue after any error
            notes = " ".join(getattr(error, "__notes__", ()))
            report.problems.append(f"part {number}: {type(error).__name__} {error} {notes}"[:4000])
        _look_back(stage, report)


def _ask(stage: Stage, request: Request, report: Report, *, may_fail: bool) -> None:
    answer = stage.send(request)
    report.answers[answer.status_code] += 1
    report.searched_bytes += len(answer.said)
    problems = [*problems_of(request, answer, stage.canaries, may_fail=may_fail)]
    if problems:
        raise AssertionError(f"{problems} for {request!r}: {answer.content[:500]!r}"[:3000])


def _look_back(stage: Stage, report: Report) -> None:
    log, metrics = stage.log.getvalue(), stage.metrics()
    report.searched_bytes += len(log) + len(metrics)
    report.problems += [*problems_of_log(log, stage.canaries)][:20]
    report.problems += [f"the {name} in the metrics" for name in found(stage.canaries, metrics)]
