"""All kinds of writes together: a short campaign, and what its verdict notices."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sheets_emulator.grid.cell import Cell
from tests.simulation.verbs.campaign import Mixed, run
from tests.simulation.verbs.clients import Operation
from tests.simulation.verbs.history import Commit, History
from tests.simulation.verbs.verdict import Verdict, kinds_of

SHORT = Mixed(operations=250, kill_seconds=4.0, latest_ms=1500, end_seconds=60.0)


@pytest.mark.slow
def test_all_kinds_of_writes_under_fire(tmp_path: Path) -> None:
    report = run(tmp_path, SHORT)

    assert not report.problems, str(report)
    assert len(report.operations) > 200
    assert report.kills > 0
    assert report.edits > 0
