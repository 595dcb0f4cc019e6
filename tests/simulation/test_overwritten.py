"""`If-Match` prevents overwriting an edit, however long writes wait for quota.

The long run is `python -m tests.simulation.overwritten --seconds 60`.
"""

from pathlib import Path

from tests.simulation.overwritten import Overwriting, run_overwriting
from tests.simulation.repeats import run_until_met
from tests.simulation.report import Report
from tests.simulation.verbs.defects import failing_reads


def waited(report: Report) -> bool:
    """True if conditions matched and failed, and a write waited for more than a second."""
    figures = report.figures
    return (
        min(figures["conditions that held"], figures["conditions that did not hold"]) > 0
        and figures["milliseconds from a request to its write, at most"] > 1000
    )


def test_no_edit_before_the_read_is_overwritten(tmp_path: Path) -> None:
    """While writes wait for quota, each outdated ETag gets 412."""
    report = run_until_met(
        lambda seed, folder: run_overwriting(folder, Overwriting(seconds=6.0, seed=seed)),
        waited,
        tmp_path,
    )

    assert report.problems == [], str(report)
    assert waited(report), str(report)


def test_a_wait_between_read_and_write_is_found(tmp_path: Path) -> None:
    """Planted bug: if writes wait for quota after their read, overwritten edits are reported."""
    report = run_overwriting(tmp_path, Overwriting(seconds=8.0, is_planted=True))

    assert "another record" in report.kinds, str(report)


def test_failing_reads_of_tags_are_found(tmp_path: Path) -> None:
    """If reads of ETags fail, no update is sent, and the report has a problem."""
    report = run_overwriting(tmp_path, Overwriting(seconds=3.0), failing_reads())

    assert report.kinds == {"answer"}, str(report)
    assert report.figures["reads for a tag that failed"] > 0, str(report)
    assert report.figures["updates"] == 0, str(report)
