"""No client gets an older value than it got before.

The long run is `python -m tests.simulation.monotonic --seconds 60`, or with `--windows`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.monotonic import Answer, Monotonic, Span, overlapping, regressions, run
from tests.simulation.repeats import run_until_met
from tests.simulation.report import Report

FEWEST_READS = 100


def answer(
    counter: int | None = None,
    *,
    row: int = 2,
    client: int = 1,
    name: str = "a",
    last_row: int | None = None,
    is_stale: bool = False,
) -> Answer:
    """Return an answer that shows one counter, or no counter."""
    cells = {} if counter is None else {(row, name): counter}
    return Answer(client=client, kind="list", cells=cells, last_row=last_row, is_stale=is_stale)


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([], id="nothing"),
        pytest.param([answer(1), answer(1), answer(3)], id="rising"),
        pytest.param([answer(2), answer(1, client=2)], id="another client"),
        pytest.param([answer(2), answer(1, row=3)], id="another row"),
        pytest.param([answer(2), answer(1, name="b")], id="another field"),
        pytest.param([answer(2), answer(1, is_stale=True)], id="marked stale"),
        pytest.param([answer(2), answer(last_row=2)], id="the last row"),
        pytest.param([answer(2, row=9), answer(last_row=4, is_stale=True)], id="stale and short"),
    ],
)
def test_allowed_answers(answers: Sequence[Answer]) -> None:
    """Rising counters, other cells and clients, and answers marked as stale are not reported."""
    assert list(regressions(answers)) == []


@pytest.mark.parametrize(
    ("answers", "wrong"),
    [
        pytest.param([answer(2), answer(1)], [1], id="falling"),
        pytest.param([answer(2), answer(1, client=2), answer(1)], [2], id="beside another client"),
        pytest.param([answer(2), answer(1), answer(1), answer(2)], [1, 2], id="each such answer"),
        pytest.param([answer(2, is_stale=True), answer(1)], [1], id="after a stale one"),
        pytest.param([answer(2), answer(1, is_stale=True), answer(1)], [2], id="not marked again"),
        pytest.param([answer(0, row=9), answer(last_row=8)], [1], id="a row gone"),
    ],
)
def test_every_regression_is_found(answers: Sequence[Answer], wrong: Sequence[int]) -> None:
    """An answer with a lower counter, or without a row that its client saw, is reported."""
    found = list(regressions(answers))

    assert [each.answer for each in found] == [answers[index] for index in wrong]


def test_overlaps_are_counted() -> None:
    """A read that overlaps several writes counts once."""
    reads: Sequence[Span] = [(0.0, 1.0), (2.5, 2.6), (3.5, 9.0), (4.5, 4.6)]

    assert overlapping(reads, [(2.0, 3.0), (2.4, 3.1), (4.0, 4.1)]) == 2
    assert overlapping(reads, []) == 0


@pytest.mark.parametrize("has_windows", [False, True], ids=["whole", "windows"])
def test_no_read_goes_back_in_time(tmp_path: Path, has_windows: bool) -> None:
    """While clients and a person write, each client sees only rising counters."""
    campaign = Monotonic(seconds=5.0, has_windows=has_windows)

    def overlapped(report: Report) -> bool:
        return report.figures["overlapping reads"] > FEWEST_READS

    report = run_until_met(
        lambda seed, folder: asyncio.run(run(folder, replace(campaign, seed=seed))),
        overlapped,
        tmp_path,
    )

    assert overlapped(report), str(report)
    assert report.problems == [], str(report)
