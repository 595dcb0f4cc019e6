"""Conditional updates that wait for quota, while a person edits the same rows.

Usage: python -m tests.simulation.overwritten --seconds 60 [--planted]

Rules
- An update with If-Match reads the row, compares the ETag, and then writes. The gateway cannot
  notice an edit between that read and the write. But the read comes one round trip before the
  write, however long the write waited for quota.
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
"""Number of clients and of rows. The gateway writes two updates of one row in separate batches."""
SLACK_SECONDS = 0.75
"""Additional time that a busy machine might need between the read and the write."""
EXPECTED = (
    "update: done, 200",
    "update: applied, 409",
    "update: not_applied, 412",
    f"{TAG_READ}404",
)
"""Results that every run must have.

409: a person edited the row between read and write, and the update was applied.
404: a client read the row below the last one.
"""


@dataclass(frozen=True, kw_only=True)
class Overwriting:
    """Duration and Google's latency; with `is_planted` writes wait for quota after their read."""

    seconds: float = 60.0
    latency_ms: int = 100
    writes_per_minute: int = 20
    edit_pause_seconds: float = 0.2
    """Average pause between two edits."""
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
    """Run updates and edits for the whole time, in an empty folder, and return the report."""
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
    """Print the report. Returns 1 if an edit was overwritten."""
    campaign = parsed(Overwriting())
    return exit_status(lambda folder: run_overwriting(folder, campaign))


if __name__ == "__main__":
    sys.exit(main())
