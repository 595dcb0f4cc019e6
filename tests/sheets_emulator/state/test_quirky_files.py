"""200 small seed files with quirks. Each file is read correctly or gets an error of one line."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.sheets_emulator import quirky_files
from tests.sheets_emulator.quirky_files import Quirk, quirks

QUIRKS = list(quirks())
MOST_KIB = 300 * 1024


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, Any], int]:
    """(result by file name, peak memory in KiB) of a process that reads all files."""
    folder = tmp_path_factory.mktemp("files")
    for quirk in QUIRKS:
        (folder / quirk.name).write_bytes(quirk.content)
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", quirky_files.__name__, str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, peak = done.stdout.splitlines()
    return {found["name"]: found for found in map(json.loads, lines)}, int(peak)


@pytest.mark.parametrize("quirk", [pytest.param(each, id=each.name) for each in QUIRKS])
def test_a_file_is_read_correctly_or_gets_an_error(
    quirk: Quirk, outcome: tuple[Mapping[str, Any], int]
) -> None:
    """A file has exactly the expected cells, or an error of one line with the expected words."""
    found = outcome[0][quirk.name]

    if quirk.error is None:
        assert found["cells"] == quirk.cells
    else:
        assert quirk.error in found["error"]
        assert "\n" not in found["error"]


def test_memory_for_small_files_is_limited(outcome: tuple[Mapping[str, Any], int]) -> None:
    """A process that reads all the files, each below 1 MB, needs less than 300 MiB."""
    assert len(outcome[0]) == len(QUIRKS) >= 200
    assert max(len(quirk.content) for quirk in QUIRKS) < 1_000_000
    assert outcome[1] < MOST_KIB
