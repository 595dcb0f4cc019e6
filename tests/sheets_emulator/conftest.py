"""Fixtures: an emulator with its test client (a bench), and a builder of benches.

After each test, all requests and answers are checked against Google's discovery document.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from sheets_emulator.app import EmulatorOptions
from tests.discovery import all_problems
from tests.exchanges import Recorder
from tests.sheets_emulator.bench import Bench, build_bench, write_seed

BLANK_GRID = "\n".join([","] * 4 + [",,,,"]) + "\n"  # 5 blank rows, 5 columns

BenchBuilder = Callable[..., Bench]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[BenchBuilder]:
    """Build an emulator whose spreadsheet `book` has these worksheets, as CSV text by title."""
    clients = ExitStack()
    recorders: list[Recorder] = []

    def built(sheets: dict[str, str], options: EmulatorOptions | None = None) -> Bench:
        files = {f"book/{title}.csv": text for title, text in sheets.items()}
        seed = write_seed(tmp_path / "seed", {"closed.unshared": "", **files})
        bench = build_bench(tmp_path, replace(options or EmulatorOptions(), seed=seed))
        clients.enter_context(bench.client)
        recorders.append(bench.recorder)
        return bench

    with clients:
        yield built
    exchanges = [exchange for recorder in recorders for exchange in recorder.take()]

    assert all_problems(exchanges) == []


@pytest.fixture
def bench(build: BenchBuilder) -> Bench:
    """An emulator whose worksheet `Data` has five blank rows and five columns."""
    return build({"Data": BLANK_GRID})
