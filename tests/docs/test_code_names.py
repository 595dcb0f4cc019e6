"""Files, classes and methods named in CONTRIBUTING.md and docs/explanation exist."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import pytest

from tests.docs.blocks import TOP

PAGES = (TOP / "CONTRIBUTING.md", *sorted((TOP / "docs" / "explanation").glob("*.md")))
FILES = [
    path
    for folder in ("gateway", "sheets_emulator", "clients", "tests")
    for path in (TOP / folder).rglob("*.py")
]
FOREIGN = {"HTTPClient"}
"""Classes of other packages."""

_FILE = re.compile(r"`([\w/]+\.py)`")
_MEMBER = re.compile(r"`([A-Z]\w+)\.(\w+)`")


def members() -> Mapping[str, Set[str]]:
    """Return methods and fields by class of the gateway. Classes with the same name are merged."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in (TOP / "gateway").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                for each in ast.walk(node):
                    if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                        found[node.name].add(each.name)
                    elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                        found[node.name].add(each.target.id)
    return found


MEMBERS = members()


def missing(text: str) -> Iterator[str]:
    """Yield files and members in a text that do not exist."""
    for file in _FILE.findall(text):
        if not any(path.as_posix().endswith(f"/{file}") for path in FILES):
            yield file
    for name, member in _MEMBER.findall(text):
        if name not in FOREIGN and member not in MEMBERS.get(name, ()):
            yield f"{name}.{member}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_code_exist(page: Path) -> None:
    """Each file, class and method named in these pages exists in the code."""
    assert list(missing(page.read_text("utf-8"))) == []


@pytest.mark.parametrize("name", ["web/nothing.py", "RowService.nothing", "Nothing.write"])
def test_a_missing_name_is_found(name: str) -> None:
    """A planted name of a missing file, method or class is reported; existing names are not."""
    assert list(missing(f"`web/rows.py`, `RowService.write`, `{name}`")) == [name]
