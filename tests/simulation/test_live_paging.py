"""Paging by cursor through gateway processes loses no row while a script edits the worksheet.

The long run is `python -m tests.simulation.live_paging --seconds 60 --gateways 2`.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.live_paging import LivePaging, run_live

SHORT = LivePaging(seconds=5.0, most_seconds=0.2)


@pytest.mark.parametrize(
    ("gateways", "skew_ms"), [(1, 0), (1, 60), (2, 0)], ids=["one", "slow reads", "two"]
)
def test_walks_under_edits_lose_no_row(tmp_path: Path, gateways: int, skew_ms: int) -> None:
    """Reads of all pages miss no row, and few end with 410; both gateways return pages."""
    report = run_live(tmp_path, replace(SHORT, gateways=gateways, skew_ms=skew_ms))
    changes = report.figures["pages of another gateway than the one before"]
    lost = sum(times for name, times in report.outcomes.items() if "410" in name)

    assert (report.problems, report.figures["torn pages"]) == ([], 0), str(report)
    assert report.outcomes.total() > 4 * lost, str(report)
    assert report.figures["rows that stayed"] > 1_000
    assert (changes > 50) is (gateways == 2)


def test_pages_by_number_lose_rows(tmp_path: Path) -> None:
    """Planted bug: paging by row number repeats or misses rows."""
    report = run_live(tmp_path, replace(SHORT, seconds=2.0, is_planted=True))

    assert {"twice", "missing"} <= report.kinds
