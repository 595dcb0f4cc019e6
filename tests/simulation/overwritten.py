"""Conditional updates that wait for quota, and a person who edits the same rows meanwhile.

Usage: python -m tests.simulation.overwritten --seconds 60 [--planted]

Rules
- An update with If-Match compares a tag with a look at the row, and then writes. What a person does
  between that look and the write cannot be noticed; but the look is one round trip before it,
  however long the write waited for its quota.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from tests.simulation.command import exit_status, parsed
from tests.simulation.people import RETYPING
from tests.simulation.report import Problem, Report
from tests.simulation.stage import NO_LIMIT
from tests.simulation.verbs.campaign import TAG_READ, Verbs, run
from tests.simulation.verbs.defects import Defect, waiting_after_looks
from tests.simulation.verbs.operations import Mixture

CLIENTS, ROWS = 24, 48
"""Of two updates of a row, the second one waits for another group of writes."""
SLACK_SECONDS = 0.75
"""A busy machine adds so much at most to the round trip between a look and its write."""
EXPECTED = (
    "update: done, 200",
    "update: applied, 409",
    "update: not_applied, 412",
    f"{TAG_READ}404",
)
"""409: a person edited the row within the round trip; the update was applied.
404: some clients read the row below the last one."""


@dataclass(frozen=True, kw_only=True)
class Overwriting:
    """Duration and Google's latency; `is_planted`: writes wait for quota after their read."""

    seconds: float = 60.0
    latency_ms: int = 100
    writes_per_minute: int = 20
    edit_pause_seconds: float = 0.2
    """Between two edits, on average."""
    seed: int = 1
    is_planted: bool = False

    @property
    def verbs(self) -> Verbs:
        return Verbs(
            seconds=self.seconds,
            worksheets=1,
            more_rows=ROWS,
            clients=CLIENTS,
            mixture=Mixture.of(updates=1.0, conditional=1.0, keyed=0.0),
            habits=RETYPING,
            visit_seconds=self.edit_pause_seconds,
            rest_seconds=60 / self.writes_per_minute,
            writes_per_minute=NO_LIMIT if self.is_planted else self.writes_per_minute,
            latency_ms=self.latency_ms,
            look_seconds=self.latency_ms / 1000 + SLACK_SECONDS,
            rows_ttl_seconds=0.0,
            read_share=0.0,
            fault_share=0.0,
            kill_seconds=0.0,
            latest_ms=0,
            seed=self.seed,
        )


def run_overwriting(folder: Path, campaign: Overwriting, defect: Defect | None = None) -> Report:
    """Updates and edits for the whole time, in an empty folder, then what came of it."""
    if defect is None:
        planted = waiting_after_looks(campaign.writes_per_minute)
        defect = planted if campaign.is_planted else Defect()
    report = run(folder, campaign.verbs, defect)
    refused = [
        Problem(kind="answer", detail=f"{times} times {name}")
        for name, times in report.outcomes.items()
        if not name.startswith(EXPECTED)
    ]
    return replace(report, problems=[*report.problems, *refused])


def main() -> int:
    """Print the report; 1 if an edit was overwritten."""
    campaign = parsed(Overwriting())
    return exit_status(lambda folder: run_overwriting(folder, campaign))


if __name__ == "__main__":
    sys.exit(main())
