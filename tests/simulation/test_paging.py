"""Paging by cursor loses no row while people edit.

The long run is `python -m tests.simulation.paging --walks 1000`.
"""

from pathlib import Path

from tests.simulation.paging import Paging, run_paging


def test_walks_under_edits_lose_no_row(tmp_path: Path) -> None:
    """Reads of all pages miss no row while people edit, and few end with 410."""
    report = run_paging(tmp_path, Paging(walks=24))

    whole = sum(times for name, times in report.outcomes.items() if name.endswith("whole"))
    assert report.problems == [], str(report)
    assert whole >= 14, str(report)


def test_pages_by_number_lose_rows(tmp_path: Path) -> None:
    """Planted bug: paging by row number repeats or misses rows."""
    report = run_paging(tmp_path, Paging(walks=8, is_planted=True))

    assert {"twice", "missing"} <= report.kinds
