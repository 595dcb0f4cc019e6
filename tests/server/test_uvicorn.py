"""Tests that the server uses only public names of uvicorn, and that CI tests the oldest version."""

import ast
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

TOP = Path(__file__).parents[2]
SOURCES = {file: file.read_text("utf-8") for file in sorted((TOP / "gateway").rglob("*.py"))}


def imported(tree: ast.AST) -> set[str]:
    """Returns the modules and names that a module imports from uvicorn."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "uvicorn":
            found |= {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names if each.name.split(".")[0] == "uvicorn"}
    return found


def test_only_public_names_of_uvicorn_are_used() -> None:
    """The gateway imports the package uvicorn, and none of its submodules."""
    found = set().union(*(imported(ast.parse(source)) for source in SOURCES.values()))

    assert found == {"uvicorn"}


def test_the_oldest_version_is_tested() -> None:
    """CI runs these tests with the oldest uvicorn that `pyproject.toml` allows."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    (found,) = [
        each for each in map(Requirement, project["dependencies"]) if each.name == "uvicorn"
    ]
    minors = [minor for minor in range(100) if Version(f"0.{minor}.3") in found.specifier]

    assert f'"uvicorn==0.{minors[0]}.*"' in (TOP / ".ci/run").read_text("utf-8")
    assert minors == list(range(minors[0], 100))
