"""Whole answers, compared byte by byte with those recorded in `golden.txt`.

Headers that nearly all answers have are recorded only where they differ from `corpus`. After a
wanted change: `python -m tests.surfaces.test_golden` records answers again; read the diff.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.surfaces.corpus import KEYS, SETTINGS, cases, record
from tests.surfaces.stage import Surface, open_surface

GOLDEN = Path(__file__).with_name("golden.txt")
BETWEEN = "\n\n"
CASES = {"\n".join(map(str, asks)): asks for asks in cases()}
"""Cases by their requests."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    with open_surface(tmp_path_factory.mktemp("golden"), KEYS, SETTINGS) as surface:
        yield surface


@pytest.fixture(scope="module")
def recorded() -> Mapping[str, str]:
    """Return the recorded cases by their requests."""
    texts = GOLDEN.read_text(encoding="utf-8").split(BETWEEN)
    return dict(zip(CASES, texts, strict=True))


@pytest.mark.parametrize("requests", CASES)
def test_answers_are_those_recorded(
    opened: Surface, recorded: Mapping[str, str], requests: str
) -> None:
    """Status, headers, body, Google calls and changed cells of each case are as recorded."""
    assert record(opened, CASES[requests]) == recorded[requests]


def main() -> None:
    """Record the answers of this version."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_surface(Path(folder), KEYS, SETTINGS) as surface,
    ):
        GOLDEN.write_text(BETWEEN.join(record(surface, each) for each in CASES.values()), "utf-8")


if __name__ == "__main__":
    main()
