"""Repeat a short campaign until the events that it tests have happened."""

from collections.abc import Callable
from pathlib import Path

from tests.simulation.report import Report

MOST_RUNS = 4


def run_until_met(
    run: Callable[[int, Path], Report], is_met: Callable[[Report], bool], folder: Path
) -> Report:
    """Run a campaign until a report has problems or `is_met`, at most four times.

    `run` gets a seed and an empty folder. On a busy machine a short campaign can end before the
    edits or faults that it tests happen, and then proves nothing.
    """
    for seed in range(1, MOST_RUNS):
        report = run(seed, _made(folder / str(seed)))
        if report.problems or is_met(report):
            return report
    return run(MOST_RUNS, _made(folder / str(MOST_RUNS)))


def run_with(run: Callable[[int, Path], Report], folder: Path, *figures: str) -> Report:
    """Run a campaign until its report has problems, or counts each of `figures` at least once."""

    def happened(report: Report) -> bool:
        return min(report.figures[name] for name in figures) > 0

    report = run_until_met(run, happened, folder)
    assert report.problems or happened(report), str(report)
    return report


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
