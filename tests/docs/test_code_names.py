"""The code map and the decisions name files, classes and methods that exist."""

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
"""Classes of libraries."""

_FILE = re.compile(r"`([\w/]+\.py)`")
_MEMBER = re.compile(r"`([A-Z]\w+)\.(\w+)`")


def members() -> Mapping[str, Set[str]]:
    """Methods and fields of each class of the gateway; classes of one name are joined."""
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
    """Files and members in a text that do not exist."""
    for file in _FILE.findall(text):
        if not any(path.as_posix().endswith(f"/{file}") for path in FILES):
            yield file
    for name, member in _MEMBER.findall(text):
        if name not in FOREIGN and member not in MEMBERS.get(name, ()):
            yield f"{name}.{member}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_code_exist(page: Path) -> None:
    """A renamed method or file is renamed in these pages, too."""
    assert list(missing(page.read_text("utf-8"))) == []


@pytest.mark.parametrize("name", ["web/nothing.py", "RowService.nothing", "Nothing.write"])
def test_a_missing_name_is_found(name: str) -> None:
    """A planted name of a file, a method or a class fails; names beside it pass."""
    assert list(missing(f"`web/rows.py`, `RowService.write`, `{name}`")) == [name]
