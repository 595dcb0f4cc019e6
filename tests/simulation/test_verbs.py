"""Writes of all kinds under faults, kills and edits by people: all that is told is true.

The long form is `python -m tests.simulation.verbs --operations 100000`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.repeats import run_until_met
from tests.simulation.report import Report
from tests.simulation.verbs.campaign import Verbs, run
from tests.simulation.verbs.defects import (
    Defect,
    counting_age_from_answers,
    deleting_again,
    deleting_top_down,
    deleting_young_fences,
    keeping_numbers_of_records,
    keeping_numbers_of_rows,
    matching_old_rows,
    overlooking_moves,
    reading_by_title,
    tagging_visible_cells,
    taking_edits_for_moves,
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


def run_with(folder: Path, campaign: Verbs, figures: Sequence[str]) -> Report:
    """The report of a campaign in which all of this happened."""

    def happened(report: Report) -> bool:
        return min(report.figures[name] for name in figures) > 0

    report = run_until_met(
        lambda seed, own: run(own, replace(campaign, seed=seed)), happened, folder
    )
    assert report.problems or happened(report), str(report)
    return report


def test_all_verbs_under_fire(tmp_path: Path) -> None:
    """With every fault, kill -9 now and then, and people who edit, all answers are true."""
    campaign = Verbs(operations=240, kill_seconds=4.0, latest_ms=2000)
    report = run_with(
        tmp_path,
        campaign,
        ("with a lost answer", "rows removed", "edits by people", "kills", "replays"),
    )

    assert report.problems == [], str(report)
    assert report.figures["judged on one state"] > report.figures["batches"] / 2, str(report)
    assert report.figures["lists judged"] > 0, str(report)


BUSY = Verbs(operations=160, worksheets=3, kill_seconds=0.0, latest_ms=2000, fault_share=0.02)


@pytest.mark.parametrize(
    ("campaign", "figures"),
    [
        pytest.param(
            replace(BUSY, swaps_tabs=True, header_ttl_seconds=5.0),
            ("tabs renamed", "in another tab than before"),
            id="tabs that swap names",
        ),
        pytest.param(
            replace(BUSY, slowest_look_ms=3000, look_share=0.2), ("rows written",), id="slow looks"
        ),
        pytest.param(
            replace(BUSY, trip_share=0.3, rows_ttl_seconds=5.0, read_share=1.0),
            ("edits by people", "lists"),
            id="people who sort on the way",
        ),
        pytest.param(
            replace(BUSY, partial_keys=1.0, visit_seconds=0.2),
            ("conditions of the key that sees some columns",),
            id="a key that sees some columns",
        ),
        pytest.param(replace(BUSY, clears=True), ("rows emptied",), id="rows that are emptied"),
        pytest.param(
            replace(BUSY, full_seconds=2.0), ("metadata filled",), id="metadata that is full"
        ),
    ],
)
def test_all_verbs_where_more_happens(
    tmp_path: Path, campaign: Verbs, figures: tuple[str, ...]
) -> None:
    """All answers are true, whatever people do to tabs, rows and metadata, and whoever asks."""
    report = run_with(tmp_path, campaign, figures)

    assert report.problems == [], str(report)


def test_all_verbs_in_a_calm(tmp_path: Path) -> None:
    """The gateway without a planted bug passes where the bugs are found."""
    report = run(tmp_path, CALM, Defect())

    assert report.problems == [], str(report)
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


LOOKING = replace(CALM, operations=200, visit_seconds=0.15)
BY_FILTER = Mixture(updates_where=60, deletes_where=30, upserts=40)
CONDITIONAL = Mixture(updates=60, deletes=60, conditional=1.0)
CLEARING = replace(
    LOOKING,
    clears=True,
    visit_seconds=0.05,
    trip_share=0.1,
    latency_ms=50,
    mixture=Mixture(creates=60, updates=0, upserts=0, deletes=60, conditional=1.0),
)


@pytest.mark.parametrize(
    ("defect", "kinds", "campaign"),
    [
        pytest.param(
            reading_by_title,
            {"other rows", "misplaced", "removed", "duplicate key"},
            replace(LOOKING, swaps_tabs=True, header_ttl_seconds=10.0, mixture=BY_FILTER),
            id="rows read by title",
        ),
        pytest.param(
            counting_age_from_answers,
            {"other rows", "misplaced", "another record", "removed"},
            replace(
                LOOKING,
                operations=100,
                slowest_look_ms=4000,
                look_share=0.3,
                visit_seconds=0.08,
                mixture=BY_FILTER,
            ),
            id="age from the answer",
        ),
        pytest.param(
            deleting_young_fences,
            {"doubled", "false outcome"},
            replace(LOOKING, operations=120, fault_share=0.25, latest_ms=1500, visit_seconds=0.0),
            id="young fences deleted",
        ),
        pytest.param(
            tagging_visible_cells,
            {"another record", "lost", "removed"},
            replace(LOOKING, partial_keys=1.0, mixture=CONDITIONAL),
            id="tag over visible cells",
        ),
        pytest.param(taking_edits_for_moves, {"false alarm"}, CLEARING, id="edits taken for moves"),
        pytest.param(overlooking_moves, {"silent"}, CLEARING, id="moves overlooked"),
    ],
)
def test_planted_bugs_of_looks_and_fences_are_found(
    tmp_path: Path, defect: Callable[[], Defect], kinds: set[str], campaign: Verbs
) -> None:
    """Planted bug: what a gateway takes for granted shows as a problem, in one of six runs."""
    runs = [tmp_path / str(n) for n in range(6)]
    for each in runs:
        each.mkdir()
    reports = (
        run(each, replace(campaign, seed=number), defect())
        for number, each in enumerate(runs, start=1)
    )

    assert any(report.kinds & kinds for report in reports)
