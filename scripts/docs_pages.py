"""Prepare the pages of docs/ for the site generator; GitHub shows the same pages unchanged.

Usage: python scripts/docs_pages.py FOLDER    writes FOLDER/zensical.toml and FOLDER/pages/.

Rules: docs/index.md contains the navigation. A page can link to any file of the checkout; files
outside docs/ are copied into the site's folder `project`. Words after a code block's language are
for tests. Python's Markdown needs a blank line before a list, and four spaces within an item;
GitHub's does not.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

TOP = Path(__file__).parents[1]
DOCS = TOP / "docs"
OUTSIDE = "project"
"""Folder of the site for files outside docs/."""

_LINK = re.compile(
    r"(?P<text>\]\(|\bsrc(?:set)?=\")(?!\w+:|#)(?P<target>[^)\"#\s]+)(?P<rest>(?:#[^)\s]*)?[)\"])"
)
"""Matches a link or an image, also in HTML."""
_LISTED = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<page>[^)#]+\.md)\)", re.MULTILINE)
_FENCE = re.compile(r"^(?P<fence> *```\S*).*$")
_ITEM = re.compile(r"^(?:- |\d+\. )")

_CONFIG = """\
[project]
site_name = "Sheets gateway"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = [{nav}]
extra.generator = false
extra_css = ["site.css"]
validation.invalid_links = true
validation.invalid_link_anchors = true

[project.theme]
font = false
features = ["content.code.copy", "navigation.sections", "navigation.top", "search.highlight"]
palette = [
  {{ media = "(prefers-color-scheme: light)", scheme = "default" }},
  {{ media = "(prefers-color-scheme: dark)", scheme = "slate" }},
]

[project.markdown_extensions]
tables = {{}}
toc.permalink = true
toc.slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
pymdownx.highlight = {{}}
pymdownx.superfences = {{}}
"""

_STYLE = ".md-typeset td code { word-break: normal; }\n"


def main(folder: Path) -> None:
    """Write the sources of the site into an empty folder."""
    pages = folder / "pages"
    shutil.copytree(DOCS, pages)
    for path in sources():
        place = place_of(path)
        target = pages / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".md":
            target.write_text(page_of(path, place), "utf-8")
        else:
            shutil.copyfile(path, target)
    (pages / "site.css").write_text(_STYLE, "utf-8")
    nav = ", ".join(f"{{ {json.dumps(title)} = {_toml(value)} }}" for title, value in navigation())
    (folder / "zensical.toml").write_text(_CONFIG.format(nav=nav), "utf-8")


def sources() -> Sequence[Path]:
    """Return the pages of docs/, and the other files that these pages and files link to."""
    found = dict.fromkeys(sorted(DOCS.rglob("*.md")))
    waiting = list(found)
    while waiting:
        for target in _targets_in(waiting.pop()):
            if target.is_file() and not target.is_relative_to(DOCS) and target not in found:
                found[target] = None
                waiting += [target] if target.suffix == ".md" else []
    return list(found)


def navigation() -> Iterator[tuple[str, str | Mapping[str, str]]]:
    """Yield the entries of docs/index.md by heading, which ends at its colon."""
    start, *lists = (DOCS / "index.md").read_text("utf-8").split("\n## ")
    yield start.splitlines()[0].removeprefix("# "), "index.md"
    yield "README", f"{OUTSIDE}/README.md"
    for each in lists:
        pages = {found["title"]: found["page"] for found in _LISTED.finditer(each)}
        yield re.split(r"[:\n]", each, maxsplit=1)[0], pages
    yield "Changelog", f"{OUTSIDE}/CHANGELOG.md"


def place_of(path: Path) -> PurePosixPath:
    """Return the path of a file in the site; a configuration file becomes a page."""
    if path.is_relative_to(DOCS):
        return PurePosixPath(path.relative_to(DOCS).as_posix())
    place = PurePosixPath(OUTSIDE, path.relative_to(TOP).as_posix())
    return place.with_name(f"{place.name}.md") if place.suffix == ".toml" else place


def page_of(path: Path, place: PurePosixPath) -> str:
    """Return the text of a page with the site's links, plain code blocks and separate lists."""
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        return f"# {path.name}\n\n```toml\n{text}```\n"

    def moved(found: re.Match[str]) -> str:
        target = (path.parent / found["target"]).resolve()
        if not target.is_file():  # the generator reports it
            return found[0]
        link = os.path.relpath(place_of(target), place.parent)
        return f"{found['text']}{link}{found['rest']}"

    return "\n".join(_lines(_LINK.sub(moved, text)))


def _targets_in(path: Path) -> Iterator[Path]:
    for found in _LINK.finditer(path.read_text("utf-8")):
        yield (path.parent / found["target"]).resolve()


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a page in Python's Markdown, where list items need four spaces."""
    block, before = "", ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if not block and _ITEM.match(line) and before and not _continues(before):
            yield ""
        yield " " * (_is_deep(block or line)) + (fence["fence"] if fence else line)
        if fence:
            block = "" if block else line
        before = line


def _is_deep(line: str) -> bool:
    """True if a line belongs to an item of a numbered list."""
    return re.match(r" {3}\S", line) is not None


def _continues(before: str) -> bool:
    """True if a line already belongs to a list, so the next item needs no blank line."""
    return bool(_ITEM.match(before)) or before.startswith(" ")


def _toml(value: str | Mapping[str, str]) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    pages = (f"{{ {json.dumps(title)} = {json.dumps(page)} }}" for title, page in value.items())
    return f"[{', '.join(pages)}]"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
