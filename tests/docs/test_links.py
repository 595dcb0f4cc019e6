"""Links of the documentation to pages and headings that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, TOP

DOCS = TOP / "docs"
BESIDE = (TOP / "CONTRIBUTING.md", TOP / "SECURITY.md")
_LINK = re.compile(r"\[[^\]]+\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Return the link names of a page's headings, as GitHub creates them."""
    headings = _HEADING.findall(_CODE.sub(_without_fences, text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _without_fences(code: re.Match[str]) -> str:
    return "" if code[0].startswith("```") else code[0].strip("`")


def broken(page: Path, text: str) -> Iterator[str]:
    """Yield links of a page to files and headings that do not exist."""
    for found in _LINK.finditer(text):
        name, anchor = found[1], found[2]
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(_text_of(target, page, text))):
            yield found[0]


def _text_of(target: Path, page: Path, text: str) -> str:
    return text if target == page else target.read_text("utf-8")


@pytest.mark.parametrize("page", [*PAGES, *BESIDE], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Every link of a page leads to an existing file and heading."""
    assert list(broken(page, page.read_text("utf-8"))) == []


@pytest.mark.parametrize("page", PAGES[2:], ids=lambda page: page.name)
def test_the_index_links_to_every_page(page: Path) -> None:
    """The index links to every page in the list of its folder."""
    lists = (DOCS / "index.md").read_text("utf-8").split("\n## ")
    of_folder = [each for each in lists if f"({page.relative_to(DOCS)})" in each]

    assert len(of_folder) == 1
    assert f"({page.parent.name}/" in of_folder[0]


def test_the_index_is_the_first_page() -> None:
    """The pages are README.md, the index, and those of four folders."""
    folders = {page.parent.name for page in PAGES[2:]}

    assert PAGES[1] == DOCS / "index.md"
    assert folders == {"tutorials", "how-to", "reference", "explanation"}


@pytest.mark.parametrize(
    "link", ["[a](docs/nothing.md)", "[a](#nothing)", "[a](docs/reference/emulator.md#nothing)"]
)
def test_a_broken_link_is_found(link: str) -> None:
    """A link to a missing file, or to a missing heading, is reported."""
    assert list(broken(TOP / "README.md", f"# Here\n{link} [b](#here)")) == [link]
