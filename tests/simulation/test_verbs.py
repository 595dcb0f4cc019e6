"""Writes of all kinds under faults, kills and edits by people get true answers.

The long run is `python -m tests.simulation.verbs --operations 100000`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.repeats import run_with
from tests.simulation.report import Report
from tests.simulation.verbs.campaign import Verbs, run
from tests.simulation.verbs.defects import (
    Defect,
    copying_constants,
    counting_age_from_answers,
    deleting_again,
    deleting_top_down,
    deleting_young_fences,
    ignoring_tables,
    keeping_numbers_of_records,
    keeping_numbers_of_rows,
    matching_old_rows,
    overlooking_moves,
    reading_by_title,
    tagging_visible_cells,
    taking_edits_for_moves,
    trusting_the_look,
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


def perform(campaign: Verbs) -> Callable[[int, Path], Report]:
    defect = None if campaign.kill_seconds else Defect()  # a gateway in this process starts sooner
    return lambda seed, folder: run(folder, replace(campaign, seed=seed), defect)


def test_all_verbs_with_faults_and_kills(tmp_path: Path) -> None:
    """Answers are true with every fault, kill -9 every few seconds and people's edits."""
    campaign = Verbs(operations=240, kill_seconds=4.0, latest_ms=2000)
    report = run_with(
        perform(campaign),
        tmp_path,
        "with a lost answer",
        "rows removed",
        "edits by people",
        "kills",
        "replays",
    )

    assert report.problems == [], str(report)
    assert report.figures["judged on one state"] > report.figures["batches"] / 2, str(report)
    assert report.figures["lists judged"] > 0, str(report)


BUSY = Verbs(operations=200, worksheets=3, kill_seconds=0.0, latest_ms=2000, fault_share=0.02)
SEEING_SOME = "conditions of the key that sees some columns"


@pytest.mark.parametrize(
    ("campaign", "figures"),
    [
        pytest.param(
            replace(BUSY, swaps_tabs=True, header_ttl_seconds=5.0),
            ("tabs renamed", "in another tab than before"),
            id="tabs that swap names",
        ),
        pytest.param(
            replace(
                BUSY,
                slowest_look_ms=3000,
                look_share=0.15,
                trip_share=0.3,
                rows_ttl_seconds=5.0,
                read_share=1.0,
            ),
            ("edits by people", "lists"),
            id="slow looks and people who sort on the way",
        ),
        pytest.param(
            replace(
                BUSY,
                partial_keys=0.5,
                visit_seconds=0.2,
                mixture=Mixture(updates=40, conditional=0.8),
            ),
            (SEEING_SOME, "rows removed"),
            id="a key that sees some columns",
        ),
        pytest.param(
            replace(BUSY, clears=True, partial_keys=0.5, full_seconds=2.0, visit_seconds=0.2),
            ("rows emptied", SEEING_SOME, "metadata filled"),
            id="rows that are emptied, a key that sees some columns, and metadata that is full",
        ),
        pytest.param(
            replace(BUSY, native_table=True, fault_share=0.05, trip_share=0.1),
            ("with a lost answer", "edits by people", "replays"),
            id="native tables, below which people append rows",
        ),
    ],
)
def test_all_verbs_with_more_disturbances(
    tmp_path: Path, campaign: Verbs, figures: tuple[str, ...]
) -> None:
    """Answers are true with renamed tabs, slow reads, cleared rows and restricted keys."""
    report = run_with(perform(campaign), tmp_path, *figures)

    assert report.problems == [], str(report)


def test_all_verbs_above_filled_down_rows(tmp_path: Path) -> None:
    """New rows are inserted below the last record with all filled-down cells."""
    campaign = replace(BUSY, filled_down=True, visit_seconds=0.2, trip_share=0.1)
    report = run_with(perform(campaign), tmp_path, "edits by people", "with a lost answer")

    assert report.problems == [], str(report)


@pytest.mark.parametrize("native_table", [False, True], ids=["plain", "native table"])
def test_all_verbs_without_disturbances(tmp_path: Path, native_table: bool) -> None:
    """Without a planted bug and without disturbances the campaign has no problems."""
    report = run(tmp_path, replace(CALM, native_table=native_table), Defect())

    assert report.problems == [], str(report)
    assert report.figures["lists judged"] == report.figures["lists"], str(report)


def is_found(
    folder: Path, defect: Callable[[], Defect], kinds: set[str], campaign: Verbs, *, runs: int
) -> bool:
    """True if one of these runs reports a problem of these kinds."""
    for seed in range(1, runs + 1):
        own = folder / str(seed)
        own.mkdir()
        if run(own, replace(campaign, seed=seed), defect()).kinds & kinds:
            return True
    return False


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
    """Planted bug: one of three runs reports the problem.

    Requests of 8 clients overlap by chance, so a single run can miss the bug.
    """
    campaign = replace(CALM, mixture=mixture)

    assert is_found(tmp_path, defect, kinds, campaign, runs=3)


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
                slowest_look_ms=3000,
                look_share=0.3,
                visit_seconds=0.08,
                mixture=BY_FILTER,
            ),
            id="age from the answer",
        ),
        pytest.param(
            deleting_young_fences,
            {"doubled", "false outcome", "overwritten"},
            replace(LOOKING, operations=120, fault_share=0.3, latest_ms=1500, visit_seconds=0.0),
            id="young fences deleted",
        ),
        pytest.param(
            tagging_visible_cells,
            {"another record", "lost", "removed"},
            replace(LOOKING, partial_keys=1.0, mixture=CONDITIONAL),
            id="tag over visible cells",
        ),
        pytest.param(
            taking_edits_for_moves,
            {"false alarm"},
            replace(CLEARING, trip_share=0.0, habits={"correct": 1}),
            id="edits taken for moves",
        ),
        pytest.param(
            ignoring_tables,
            {"misplaced"},
            replace(CALM, native_table=True),
            id="tables ignored",
        ),
        pytest.param(overlooking_moves, {"silent"}, CLEARING, id="moves overlooked"),
        pytest.param(
            copying_constants,
            {"lost", "overwritten", "misplaced"},
            replace(CALM, operations=40, filled_down=True),
            id="constants copied with formulas",
        ),
        pytest.param(
            trusting_the_look,
            {"misplaced"},
            replace(LOOKING, filled_down=True, trip_share=0.5, mixture=Mixture.of(creates=1)),
            id="created rows not looked at",
        ),
    ],
)
def test_planted_bugs_of_reads_and_fences_are_found(
    tmp_path: Path, defect: Callable[[], Defect], kinds: set[str], campaign: Verbs
) -> None:
    """Planted bug: one of six runs reports the problem."""
    assert is_found(tmp_path, defect, kinds, campaign, runs=6)
