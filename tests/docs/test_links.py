"""The pages lead to each other, and to what is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, TOP

_LINK = re.compile(r"\[[^\]]+\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The names that a page's headings have in links, as GitHub makes them."""
    headings = _HEADING.findall(_CODE.sub(_without_fences, text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _without_fences(code: re.Match[str]) -> str:
    return "" if code[0].startswith("```") else code[0].strip("`")


def broken(page: Path, text: str) -> Iterator[str]:
    """Links of a page to files and headings that there are not."""
    for found in _LINK.finditer(text):
        name, anchor = found[1], found[2]
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(_text_of(target, page, text))):
            yield found[0]


def _text_of(target: Path, page: Path, text: str) -> str:
    return text if target == page else target.read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """To a file of the project, and a heading in it."""
    assert list(broken(page, page.read_text("utf-8"))) == []


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_every_page_is_found_from_the_readme(page: Path) -> None:
    """The README has a link to each."""
    assert f"(docs/{page.name}" in (TOP / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    "link", ["[a](docs/nothing.md)", "[a](#nothing)", "[a](docs/emulator.md#nothing)"]
)
def test_a_broken_link_is_found(link: str) -> None:
    """A missing file, and a missing heading in this page or another."""
    assert list(broken(TOP / "README.md", f"# Here\n{link} [b](#here)")) == [link]
