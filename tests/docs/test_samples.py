"""JavaScript and Python samples print the output in their comments."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from gateway.commands.demo import Demo
from gateway.server.sockets import bind
from tests.docs.blocks import blocks_of, by_page
from tests.docs.conftest import Google
from tests.docs.samples import LANGUAGES, problems, run_own_commands

PAGES = [
    pytest.param(language, page, id=f"{page} {language}")
    for language in LANGUAGES
    for page in by_page(blocks_of(language))
]


@pytest.fixture(autouse=True)
def _needs_node(request: pytest.FixtureRequest) -> None:
    callspec = getattr(request.node, "callspec", None)
    if callspec and callspec.params.get("language") == "js" and shutil.which("node") is None:
        pytest.skip("there is no Node to run JavaScript")


def meant(demo: Demo, google: Google) -> Mapping[str, str]:
    return {
        "http://127.0.0.1:8000": demo.url,
        "http://127.0.0.1:9099": google.url,
        "3000": free_port(),
        "sgw_…": demo.full_key,
        '"key.json"': f'"{google.key_file}"',
    }


def free_port() -> str:
    with bind("127.0.0.1", 0) as free:
        return str(free.getsockname()[1])


@pytest.mark.parametrize(("language", "page"), PAGES)
def test_the_samples_of_a_page_run(
    language: str, page: str, demo: Demo, google: Google, tmp_path: Path
) -> None:
    """The samples of a page run as one program and print the output in their comments."""
    blocks = by_page(blocks_of(language))[page]

    assert problems(blocks, meant(demo, google), tmp_path) == []


def test_the_samples_of_the_readme_run_twice(demo: Demo, google: Google, tmp_path: Path) -> None:
    """README samples run after the demo's commands, and print the same in a second run."""
    run_own_commands(demo)
    (block,) = by_page(blocks_of("js"))["README.md"]
    found = [problems([block], meant(demo, google), tmp_path) for _ in range(2)]

    assert found == [[], []]


@pytest.mark.parametrize(
    ("language", "old", "new", "word"),
    [
        pytest.param("js", "city.name", "city.nmae", "prints", id="js-field"),
        pytest.param("js", "v2/sheets", "v2/sheet", "TypeError", id="js-path"),
        pytest.param("js", "New York,Los", "Los", "prints", id="js-comment"),
        pytest.param("js", "; // New", "; New", "does not say", id="js-silent"),
        pytest.param("python", 'row["created"]', 'row["x"]', "KeyError", id="field"),
        pytest.param("python", '"amount": 290', '"x": 290', "400", id="body"),
        pytest.param("python", "  # 204", "", "does not say", id="silent"),
    ],
)
def test_a_mistake_in_a_sample_is_found(
    language: str, old: str, new: str, word: str, demo: Demo, google: Google, tmp_path: Path
) -> None:
    """A wrong field, path, body or output in a sample is reported."""
    block = next(each for each in blocks_of(language) if old in each.text)
    found = problems([block.replaced(old, new)], meant(demo, google), tmp_path)

    assert len(found) == 1
    assert word in found[0]
