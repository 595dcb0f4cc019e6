"""Two gateways and a script on one worksheet overwrite, move or confuse no row.

The long run is `python -m tests.simulation.shared_sheet --operations 20000`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.repeats import run_with
from tests.simulation.report import Report
from tests.simulation.shared_sheet import GATEWAYS, Sharing
from tests.simulation.verbs.campaign import run
from tests.simulation.verbs.defects import Defect, guessing_numbers, ignoring_tags, overwriting

SHORT = Sharing(operations=100, latest_ms=2000, script_pause_seconds=0.05)
QUICK = replace(SHORT, operations=60, fault_share=0.0, latest_ms=0)


def share(campaign: Sharing) -> Callable[[int, Path], Report]:
    return lambda seed, folder: run(folder, replace(campaign, seed=seed).verbs, Defect())


def test_two_gateways_and_a_script(tmp_path: Path) -> None:
    """With every fault, two gateways lose no row and obey all conditions."""
    report = run_with(
        share(replace(SHORT, operations=160)),
        tmp_path,
        "with a lost answer",
        "conditions that held",
        "conditions that did not hold",
        "rows moved by people",
    )

    assert report.problems == [], str(report)
    assert report.figures["gateways that wrote"] == GATEWAYS, str(report)
    assert report.figures["rows moved by people"] > 100, str(report)


def test_two_gateways_with_more_disturbances(tmp_path: Path) -> None:
    """With slow reads and full metadata, two gateways lose no row or answer 4095."""
    campaign = replace(
        SHORT,
        operations=120,
        fault_share=0.03,
        slowest_look_ms=3000,
        look_share=0.1,
        trip_share=0.2,
        full_seconds=2.0,
    )
    report = run_with(share(campaign), tmp_path, "metadata filled")

    assert report.problems == [], str(report)


@pytest.mark.parametrize(
    ("defect", "kinds"),
    [
        pytest.param(overwriting, {"overwritten", "misplaced"}, id="overwriting"),
        pytest.param(guessing_numbers, {"answer"}, id="guessing row numbers"),
        pytest.param(ignoring_tags, {"another record"}, id="ignoring tags"),
    ],
)
def test_planted_bugs_are_found(
    tmp_path: Path, defect: Callable[[], Defect], kinds: set[str]
) -> None:
    """Each planted bug of a gateway is reported with its kinds of problems."""
    report = run(tmp_path, QUICK.verbs, defect())

    assert report.kinds >= kinds, str(report)
