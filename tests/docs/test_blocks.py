"""No block of a page is left unchecked."""

import pytest

from tests.docs import samples, shell
from tests.docs.blocks import PAGES, TOP, Block, all_blocks, blocks_in, in_place

CHECKERS = {
    **dict.fromkeys(shell.LANGUAGES, "test_shell.py"),
    **dict.fromkeys(samples.LANGUAGES, "test_samples.py"),
    "json": "test_answers.py",
    "jsx": "test_react.py",
    "html": "../browser/test_pages_of_docs.py",
    "gs": "test_apps_script.py",
    "toml": "test_settings.py",
    "nginx": "test_proxies.py",
    "caddyfile": "test_proxies.py",
    "yaml": "test_alerts.py",
    "sql": "test_analysis.py",
    "log": "../telemetry/test_text_lines.py",
    "powerquery": "test_analysis.py",
}
PICTURE = "text"
"""The language of what is no language: drawings."""
_DRAWN = "─►"


def unclaimed(blocks: list[Block]) -> list[str]:
    """Blocks that no checker takes, pictures aside."""
    return [
        str(block)
        for block in blocks
        if block.language not in CHECKERS
        and not (block.language == PICTURE and _DRAWN in block.text)
    ]


def test_every_block_has_a_checker() -> None:
    """Each has a language, and that one is run or checked by a test."""
    assert unclaimed(all_blocks()) == []


@pytest.mark.parametrize("name", sorted(set(CHECKERS.values())))
def test_every_checker_is_there(name: str) -> None:
    """The tests that are said to check a language are there."""
    assert (TOP / "tests" / "docs" / name).is_file()


def test_the_pages_are_read() -> None:
    """The README and the pages in all folders of docs/ have blocks of all these languages."""
    pages = {block.page for block in all_blocks()}

    assert pages >= {"README.md", "docs/reference/api.md", "docs/how-to/deployment.md"}
    assert {page.name for page in PAGES} >= {"README.md", "troubleshooting.md"}
    assert {block.language for block in all_blocks()} >= CHECKERS.keys()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```\nls\n```", id="no language"),
        pytest.param("```ruby\nputs 1\n```", id="no checker"),
        pytest.param("```text\ncurl http://127.0.0.1:8000\n```", id="no picture"),
        pytest.param("- item\n\n  ```\n  ls\n  ```", id="in a list"),
        pytest.param("~~~\nls\n~~~", id="other fence"),
    ],
)
def test_a_block_that_nobody_checks_is_found(text: str) -> None:
    """Any fence in any position."""
    assert len(unclaimed(blocks_in(text, "page.md"))) == 1


def test_a_block_is_taken_as_it_stands() -> None:
    """Its lines keep their numbers, and lose the indentation of the fence only."""
    text = "# Page\n\n```sh first\nls\n  cd x\n```\n\n- item\n\n  ```sh\n  pwd\n  ```\n"
    first, second = blocks_in(text, "page.md")

    assert (first.line, first.language, first.text) == (4, "sh", "ls\n  cd x")
    assert (first.notes, second.notes) == (["first"], [])
    assert (second.line, second.text) == (11, "pwd")
    assert in_place([first, second]).splitlines()[10] == "pwd"


def test_a_block_without_an_end_is_found() -> None:
    """It would swallow the rest of the page."""
    with pytest.raises(ValueError, match=r"page\.md:2"):
        blocks_in("```sh\nls\n", "page.md")
