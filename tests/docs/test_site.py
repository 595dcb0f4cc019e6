"""The documentation site has all pages and a search, and loads nothing from other hosts."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, TOP
from tests.docs.site import build, need_generator, prepare

DOCS = TOP / "docs"
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*?\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b[^>]*?\bhref=["']?(?:https?:)?//"""
    r"""|(?:@import|url\()\s*["']?(?:https?:)?//"""
)
"""Pattern of files that a browser loads from another host."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_generator()
    folder = tmp_path_factory.mktemp("site")
    prepare(folder)
    built = build(folder)
    assert built.returncode == 0, built.stderr
    return folder / "site"


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_every_page_is_in_the_site(page: Path, site: Path) -> None:
    """Every page is in the site with its title, and in the navigation."""
    place = page.relative_to(DOCS).with_suffix(".html")
    title = page.read_text("utf-8").splitlines()[0].removeprefix("# ")

    assert title in (site / place).read_text("utf-8")
    assert f'href="{place}"' in (site / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    "place", ["project/index.html", "project/CHANGELOG.html", "project/config.example.toml.html"]
)
def test_pages_outside_the_docs_are_in_the_site(place: str, site: Path) -> None:
    """README, changelog and configuration, to which pages link, are in the site."""
    assert (site / place).is_file()


def test_the_readme_leads_to_pages_of_the_site(site: Path) -> None:
    """Links of the README lead to pages of the site, not to files of the checkout."""
    readme = (site / "project" / "index.html").read_text("utf-8")

    assert re.search(r'href="\.\./(?:index|[\w-]+/[\w-]+)\.html', readme)
    assert 'href="docs/' not in readme


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("Idempotency-Key", "reference/api.html"),
        ("on_conflict", "how-to/many-rows.html"),
        ("SheetTooLarge", "reference/errors.html"),
        ("max_stale_seconds", "project/config.example.toml.html"),
        ("--writable-column", "reference/cli.html"),
    ],
)
def test_the_search_finds_words_of_pages(word: str, page: str, site: Path) -> None:
    """The search index of the site contains the words of each page."""
    items = json.loads((site / "search.json").read_text("utf-8"))["items"]
    found = [each["location"] for each in items if word in _text(each)]

    assert page in {location.partition("#")[0] for location in found}


def _text(item: Mapping[str, str]) -> str:
    return item["title"] + re.sub("<[^>]+>", "", item["text"])


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    """Pages and styles of the site load no scripts, fonts or pictures from other hosts."""
    loading = {
        f"{file.relative_to(site)}: {found[0]}"
        for pattern in ("*.html", "*.css")
        for file in site.rglob(pattern)
        for found in _LOADED.finditer(file.read_text("utf-8"))
    }

    assert loading == set()


@pytest.mark.parametrize("link", ["[a](nothing.md)", "[a](#nothing)", "[a](../index.md#nothing)"])
def test_a_broken_link_fails_the_build(link: str, tmp_path: Path) -> None:
    """A link to a missing page or heading fails the build of the site."""
    need_generator()
    pages = prepare(tmp_path)
    with (pages / "reference" / "api.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{link}\n")

    assert build(tmp_path).returncode != 0


def test_lists_and_blocks_are_converted(tmp_path: Path) -> None:
    """Pages of the site have correct lists and nested blocks, and no notes after the language."""
    pages = prepare(tmp_path)
    trouble = (pages / "how-to" / "troubleshooting.md").read_text("utf-8")
    moving = (pages / "how-to" / "move-from-sheetson.md").read_text("utf-8")
    api = (pages / "reference" / "api.md").read_text("utf-8")

    assert "\n\n- **Client**:" in trouble
    assert "\n    ```sh\n    sheets-gateway keys create" in moving
    assert re.search(r"^```\w+ ", api, re.MULTILINE) is None
