"""The instructions of a warm request, in ratios to bare Starlette in the same run."""

import os

import pytest

from benchmarks.instructions import TASKS, is_possible, measure

LIMITED = [task for task in TASKS if task.limit is not None]
ROWS, WARM = 2_000, 1_000
"""Few rows, so that the requests before those counted touch each of them."""
ATTEMPTS = 3
"""Whatever the process does beside a request only adds to its count: a percent or two."""


def test_no_request_takes_more_instructions_than_its_limit() -> None:
    """A page, the same page again and a row stay below their limits; a limit is only lowered."""
    if not is_possible():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("valgrind is not installed")

    above = dict.fromkeys(LIMITED, "not measured")
    for _ in range(ATTEMPTS):
        above = {
            task: f"{count.ratio:.3f} > {task.limit}, {count.gateway:,.0f} instructions"
            for task, count in measure([*above], rows=ROWS, warm=WARM)
            if task.limit is not None and count.ratio > task.limit
        }
        if not above:
            break

    assert above == {}
