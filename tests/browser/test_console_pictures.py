"""The console pictures in the documentation."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.accessibility import SCHEMES
from tests.browser.console_pictures import (
    FOLDER,
    HEIGHT,
    PAGES,
    SCALE,
    WIDTH,
    draw,
    opened_console,
)
from tests.docs.blocks import TOP

MOST_BYTES = 60 * 1024
NAMES = sorted(f"{name}-{scheme}.webp" for name in PAGES for scheme in SCHEMES)


@pytest.fixture(scope="module")
def sign_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with opened_console(tmp_path_factory.mktemp("pictures")) as url:
        yield url


def size_of(picture: bytes) -> tuple[int, int]:
    """Return width and height of an extended WebP file, in pixels."""
    assert (picture[:4], picture[8:16]) == (b"RIFF", b"WEBPVP8X")
    width, height = (int.from_bytes(picture[at : at + 3], "little") + 1 for at in (24, 27))
    return width, height


def test_pictures_can_be_taken_again(browser: Browser, sign_in: str, tmp_path: Path) -> None:
    """`tests.browser.console_pictures` creates exactly the pictures of the documentation,
    in their size.
    """
    draw(browser, sign_in, tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES
    for path in (*tmp_path.iterdir(), *FOLDER.iterdir()):
        assert size_of(path.read_bytes()) == (WIDTH * SCALE, HEIGHT * SCALE)


def test_pictures_are_small_and_shown() -> None:
    """Each picture is at most 60 KiB and is shown in README or how-to, in light and dark."""
    pages = [TOP / "README.md", TOP / "docs" / "how-to" / "console.md"]
    shown = {
        name
        for page in pages
        for name in re.findall(r"images/console/(\S+?\.webp)", page.read_text("utf-8"))
    }

    assert sorted(path.name for path in FOLDER.iterdir()) == NAMES == sorted(shown)
    assert all(path.stat().st_size <= MOST_BYTES for path in FOLDER.iterdir())
