"""Whole answers, compared byte by byte with those recorded in `golden.txt`.

After a wanted change: `python -m tests.surfaces.test_golden` records them again; read the diff.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.corpus import KEYS, SETTINGS, cases, record
from tests.surfaces.stage import Surface, open_surface

GOLDEN = Path(__file__).with_name("golden.txt")
BETWEEN = "\n\n"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    with open_surface(tmp_path_factory.mktemp("golden"), KEYS, SETTINGS) as surface:
        yield surface


def test_answers_are_those_recorded(opened: Surface) -> None:
    """Status, headers, body, calls of Google and changed cells of each case are as recorded."""
    recorded = GOLDEN.read_text(encoding="utf-8").split(BETWEEN)

    assert [record(opened, asks) for asks in cases()] == recorded


def main() -> None:
    """Record the answers of this version."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_surface(Path(folder), KEYS, SETTINGS) as surface,
    ):
        GOLDEN.write_text(BETWEEN.join(record(surface, asks) for asks in cases()), "utf-8")


if __name__ == "__main__":
    main()
