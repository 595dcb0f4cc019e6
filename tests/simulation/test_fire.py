"""Creates and updates under faults and kills lose, double or misplace no acknowledged row.

The long run is `python -m tests.simulation.fire --fires 10`.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.simulation.faults import (
    BATCH,
    BATCH_FAULTS,
    FENCE,
    FEWEST_BETWEEN,
    READS,
    Weather,
    plan,
)
from tests.simulation.fire import Fire
from tests.simulation.repeats import run_with
from tests.simulation.report import Report
from tests.simulation.verbs.campaign import run
from tests.simulation.verbs.defects import Defect

WEATHER = Weather(share=0.1, latest_ms=2000, slowest_ms=600, timeout_ms=4000)
SHORT = Fire(creates=120, worksheets=4, clients=3, waves=2, longest_pause=1.0, end_seconds=120.0)


def test_a_plan_has_every_kind_of_fault_about_equally_often() -> None:
    """A plan has the requested share of faults, all kinds, and successful reads between faults."""
    chance = random.Random(1)  # noqa: S311 - no secret
    faults = plan(chance, WEATHER, batches=5000, reads=5000)
    batches = [fault for fault in faults if fault["call"] == BATCH]
    shapes = Counter(frozenset(fault) - {"skip", "call"} for fault in batches)
    reads = [fault["skip"] for fault in faults if fault["call"] == READS[0]]

    assert 0.08 < len(batches) / 5000 < 0.12
    assert min(shapes.values()) > len(batches) / len(BATCH_FAULTS) / 2
    assert all(fault["match"] == FENCE for fault in batches)
    assert all("drop" in fault or fault["status"] >= 502 for fault in faults if "late_ms" in fault)
    assert min(after - before for before, after in pairwise(reads)) > FEWEST_BETWEEN


def burn(campaign: Fire) -> Callable[[int, Path], Report]:
    """Return a function that runs the campaign with a seed in a folder."""
    defect = None if campaign.kill_seconds else Defect()  # a gateway in this process starts sooner
    return lambda seed, folder: run(folder, replace(campaign, seed=seed).verbs, defect)


BUSY = replace(SHORT, kill_seconds=0.0, faults=0.03, latest_ms=2000)


@pytest.mark.parametrize(
    ("campaign", "figures"),
    [
        pytest.param(
            replace(BUSY, creates=80, swaps_tabs=True), ("tabs renamed",), id="tabs that swap names"
        ),
        pytest.param(
            replace(BUSY, slowest_look_ms=3000, look_share=0.15, trip_share=0.2, full_seconds=2.0),
            ("edits by people", "metadata filled"),
            id="slow looks, people who sort on the way, and metadata that is full",
        ),
    ],
)
def test_creates_with_more_disturbances(
    tmp_path: Path, campaign: Fire, figures: tuple[str, ...]
) -> None:
    """Answers are true with renamed tabs, slow reads, sorting people and full metadata."""
    report = run_with(burn(campaign), tmp_path, *figures)

    assert report.problems == [], str(report)


def test_creates_with_faults_and_kills(tmp_path: Path) -> None:
    """Answers are true with every fault, kill -9 every few seconds and people's edits."""
    campaign = replace(
        SHORT, creates=200, worksheets=8, faults=0.1, latest_ms=4500, visit_seconds=0.3
    )
    report = run_with(
        burn(campaign),
        tmp_path,
        "kills",
        "with a lost answer",
        "replays",
        "edits by people",
        "rows removed by people",
        "updates",
    )

    assert report.problems == [], str(report)
