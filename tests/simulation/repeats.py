"""A short campaign, run again if nothing of what it is about happened in it."""

from collections.abc import Callable
from pathlib import Path

from tests.simulation.report import Report

MOST_RUNS = 4


def run_until_met(
    run: Callable[[int, Path], Report], is_met: Callable[[Report], bool], folder: Path
) -> Report:
    """The report of the last run: the first that had problems or met its occasion, at most four.

    `run` gets a seed and an empty folder. On a busy machine a short campaign may end before people
    or faults did what it is about; a run without them proves nothing.
    """
    for seed in range(1, MOST_RUNS):
        report = run(seed, _made(folder / str(seed)))
        if report.problems or is_met(report):
            return report
    return run(MOST_RUNS, _made(folder / str(MOST_RUNS)))


def run_with(run: Callable[[int, Path], Report], folder: Path, *figures: str) -> Report:
    """The report of a run in which all of this happened, or which had problems."""

    def happened(report: Report) -> bool:
        return min(report.figures[name] for name in figures) > 0

    report = run_until_met(run, happened, folder)
    assert report.problems or happened(report), str(report)
    return report


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
