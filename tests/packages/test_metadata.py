"""Metadata and contents of the package."""

import tomllib
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[2]
PROJECT: Any = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))


def test_the_installed_package_is_under_the_mit_license() -> None:
    """The metadata of the built package have the MIT license and its file."""
    built = metadata("sheets-gateway")

    assert built["License-Expression"] == "MIT"
    assert built.get_all("License-File") == ["LICENSE"]
    assert (TOP / "LICENSE").read_text("utf-8").startswith("MIT License\n")


@pytest.mark.parametrize("name", ["LICENSE", "README.md", "CHANGELOG.md", "scripts", "docs"])
def test_the_source_distribution_has_license_pages_and_scripts(name: str) -> None:
    """The source distribution includes license, pages and scripts, which exist in the checkout."""
    assert name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert (TOP / name).exists()
