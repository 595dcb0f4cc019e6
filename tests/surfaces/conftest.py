"""One application for all tests of a module; each finds the same cells."""

from collections.abc import Iterator

import pytest

from tests.surfaces.stage import Surface, open_surface


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    with open_surface(tmp_path_factory.mktemp("surface")) as surface:
        yield surface


@pytest.fixture
def surface(opened: Surface) -> Surface:
    opened.reset()
    return opened
