"""Every fenced block of the documentation has a test."""

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
"""Language of blocks that contain drawings."""
_DRAWN = "─►"


def unclaimed(blocks: list[Block]) -> list[str]:
    """Return blocks without a checker, except drawings."""
    return [
        str(block)
        for block in blocks
        if block.language not in CHECKERS
        and not (block.language == PICTURE and _DRAWN in block.text)
    ]


def test_every_block_has_a_checker() -> None:
    """Every block of a page has a language that a test checks."""
    assert unclaimed(all_blocks()) == []


@pytest.mark.parametrize("name", sorted(set(CHECKERS.values())))
def test_every_checker_is_there(name: str) -> None:
    """The file of each listed checker exists."""
    assert (TOP / "tests" / "docs" / name).is_file()


def test_the_pages_are_read() -> None:
    """README.md and all folders of docs/ are searched, and contain blocks of every
    checked language.
    """
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
def test_a_block_without_a_checker_is_found(text: str) -> None:
    """A block without a checker is reported, whatever its fence and position."""
    assert len(unclaimed(blocks_in(text, "page.md"))) == 1


def test_a_block_keeps_its_text_and_line_numbers() -> None:
    """A block keeps its line numbers and loses only the indentation of its fence."""
    text = "# Page\n\n```sh first\nls\n  cd x\n```\n\n- item\n\n  ```sh\n  pwd\n  ```\n"
    first, second = blocks_in(text, "page.md")

    assert (first.line, first.language, first.text) == (4, "sh", "ls\n  cd x")
    assert (first.notes, second.notes) == (["first"], [])
    assert (second.line, second.text) == (11, "pwd")
    assert in_place([first, second]).splitlines()[10] == "pwd"


def test_a_block_without_an_end_is_found() -> None:
    """A block without a closing fence raises ValueError, because it would hide the rest
    of the page.
    """
    with pytest.raises(ValueError, match=r"page\.md:2"):
        blocks_in("```sh\nls\n", "page.md")
