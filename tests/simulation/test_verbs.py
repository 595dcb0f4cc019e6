"""Writes of all kinds under faults, kills and edits by people: all that is told is true.

The long form is `python -m tests.simulation.verbs --operations 100000`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simulation.verbs.campaign import Verbs, run
from tests.simulation.verbs.defects import (
    Defect,
    deleting_again,
    deleting_top_down,
    keeping_numbers_of_records,
    keeping_numbers_of_rows,
    matching_old_rows,
)

CALM = Verbs(
    operations=120,
    worksheets=2,
    fault_share=0.0,
    latest_ms=0,
    kill_seconds=0.0,
    visit_seconds=0.0,
    read_share=0.5,
    latency_ms=5,
)


def test_all_verbs_under_fire(tmp_path: Path) -> None:
    """With every fault, kill -9 now and then, and people who edit, all answers are true."""
    report = run(tmp_path, Verbs(operations=240, kill_seconds=4.0, latest_ms=2000))

    assert report.problems == (), str(report)
    assert report.figures["judged on one state"] > report.figures["batches"] / 2, str(report)
    for name in ("with a lost answer", "rows removed", "edits by people", "kills", "replays"):
        assert report.figures[name] > 0, str(report)
    assert report.figures["lists judged"] > 0, str(report)


def test_all_verbs_in_a_calm(tmp_path: Path) -> None:
    """The gateway without a planted bug passes where the bugs are found."""
    report = run(tmp_path, CALM, Defect())

    assert report.problems == (), str(report)
    assert report.figures["lists judged"] == report.figures["lists"], str(report)


@pytest.mark.parametrize(
    ("defect", "kind"),
    [
        (keeping_numbers_of_rows, "old list"),
        (keeping_numbers_of_records, "replay"),
        (matching_old_rows, "misplaced"),
        (deleting_top_down, "removed"),
        (deleting_again, "removed"),
    ],
)
def test_planted_bugs_are_found(tmp_path: Path, defect: Callable[[], Defect], kind: str) -> None:
    """Planted bug: what a gateway does wrong with rows and their numbers shows as a problem."""
    report = run(tmp_path, CALM, defect())

    assert kind in report.kinds, str(report)
