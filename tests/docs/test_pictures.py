"""The pictures of worksheets are up to date."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.docs.blocks import TOP
from tests.docs.pictures import FOLDER, PICTURES, Drawn, Picture, drawn, opened, svg
from tests.journeys.conftest import Api

PAGE = (TOP / "docs" / "how-to" / "your-sheet-as-it-is.md").read_text("utf-8")


@pytest.fixture(scope="module")
def opened_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with opened(tmp_path_factory.mktemp("pictures")) as api:
        yield api


@pytest.fixture
def api(opened_api: Api) -> Api:
    opened_api.emulator.reset()
    return opened_api


@pytest.mark.parametrize("picture", PICTURES, ids=lambda each: each.name)
def test_a_picture_is_up_to_date(api: Api, picture: Picture) -> None:
    """A new drawing equals the stored file. `python -m tests.docs.pictures` updates the files."""
    assert svg(drawn(api, picture)) == (FOLDER / f"{picture.name}.svg").read_text("utf-8")


def test_the_page_has_all_pictures() -> None:
    """The page shows every picture, and no other file exists in the folder."""
    shown = re.findall(r"!\[[^\]]+\]\(\.\./images/sheets/(.+?)\.svg\)", PAGE)

    assert sorted(shown) == sorted(each.name for each in PICTURES)
    assert sorted(shown) == sorted(path.stem for path in FOLDER.iterdir())


def test_a_change_gives_a_different_picture(api: Api) -> None:
    """A changed cell, frozen row or record gives a different picture."""
    first = drawn(api, PICTURES[0])
    [block] = first.view.blocks
    texts = [[*row] for row in block.texts]
    texts[3][0] = "Paint the window"
    changed = replace(first.view, blocks=[replace(block, texts=texts)])
    others: list[Drawn] = [
        replace(first, view=changed),
        replace(first, view=replace(first.view, frozen_rows=2)),
        replace(first, records=first.records[:-1]),
    ]

    assert svg(first) not in map(svg, others)
