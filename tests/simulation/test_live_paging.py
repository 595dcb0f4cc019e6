"""Walks by cursors through gateways as processes lose no row while a script edits the worksheet.

The long form is `python -m tests.simulation.live_paging --seconds 60 --gateways 2`.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.live_paging import LivePaging, run_live

SHORT = LivePaging(seconds=5.0, most_seconds=0.2, is_ordered=False)


@pytest.mark.parametrize("gateways", [1, 2])
def test_walks_under_edits_lose_no_row(tmp_path: Path, gateways: int) -> None:
    """Few of them end with 410, and with two gateways pages come from both."""
    report = run_live(tmp_path, replace(SHORT, gateways=gateways))
    changes = report.figures["pages of another gateway than the one before"]

    assert report.problems == [], str(report)
    assert report.outcomes["without order: whole"] > 8 * report.outcomes["without order: lost, 410"]
    assert report.figures["rows that stayed"] > 1_000
    assert (changes > 50) is (gateways == 2)


def test_pages_by_number_lose_rows(tmp_path: Path) -> None:
    """The planted bug is found."""
    report = run_live(tmp_path, replace(SHORT, seconds=2.0, is_planted=True))

    assert {"twice", "missing"} <= report.kinds
