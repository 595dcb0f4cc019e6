"""Writes of all kinds under faults, kills and edits by people: all that is told is true.

The long form is `python -m tests.simulation.verbs --operations 100000`.
"""

from collections.abc import Callable
from dataclasses import replace
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
from tests.simulation.verbs.operations import USUAL, Mixture

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


FILTERS = Mixture(updates_where=60, upserts=0)
DELETES = Mixture(deletes=60, conditional=0.0, keyed=1.0, repeated=0.6)


@pytest.mark.parametrize(
    ("defect", "kinds", "mixture"),
    [
        (keeping_numbers_of_rows, {"old list"}, USUAL),
        (keeping_numbers_of_records, {"replay"}, USUAL),
        (matching_old_rows, {"misplaced", "duplicate key"}, USUAL),
        (matching_old_rows, {"other rows", "answer"}, FILTERS),
        (deleting_top_down, {"removed"}, USUAL),
        (deleting_again, {"removed"}, DELETES),
    ],
)
def test_planted_bugs_are_found(
    tmp_path: Path, defect: Callable[[], Defect], kinds: set[str], mixture: Mixture
) -> None:
    """Planted bug: what a gateway does wrong shows as a problem, in one of three runs at most.

    Requests of 8 clients overlap as time has it, so a single run may give the bug no occasion.
    """
    runs = [tmp_path / str(n) for n in range(3)]
    for each in runs:
        each.mkdir()
    reports = (run(each, replace(CALM, mixture=mixture), defect()) for each in runs)

    assert any(report.kinds & kinds for report in reports)
