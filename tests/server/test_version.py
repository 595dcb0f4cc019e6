"""The server refuses a uvicorn that it was not tested with."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from gateway.server.version import TESTED, version_problem

TOP = Path(__file__).parents[2]


def declared() -> Requirement:
    """Supported versions of uvicorn in pyproject.toml."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    (found,) = [
        each for each in map(Requirement, project["dependencies"]) if each.name == "uvicorn"
    ]
    return found


def test_the_installed_version_is_a_tested_one() -> None:
    """This very environment can serve."""
    assert version_problem() is None


@pytest.mark.parametrize("found", ["0.53.0", "0.54", "0.54.0", "0.54.7"])
def test_each_release_of_a_tested_version_is_taken(found: str) -> None:
    """The third number does not matter."""
    assert version_problem(found) is None


@pytest.mark.parametrize("found", ["0.5.4", "0.52.4", "0.55.0", "1.0.0", "0.540.0", "5.4"])
def test_any_other_version_is_refused(found: str) -> None:
    """Older and newer ones are, with the version that is there and the command that helps."""
    problem = version_problem(found) or ""

    assert f"uvicorn {found} is installed" in problem
    assert "pip install 'uvicorn==0.54.*'" in problem


def test_the_package_asks_for_the_tested_versions() -> None:
    """pip takes the versions that `serve` takes, and no other one."""
    specifier = declared().specifier
    numbers = [f"0.{minor}" for minor in range(40, 80)] + ["1.0"]

    assert [each for each in numbers if Version(f"{each}.3") in specifier] == list(TESTED)


@pytest.mark.parametrize("command", ["serve", "demo", "emulator"])
def test_a_command_ends_with_one_sentence(command: str, tmp_path: Path) -> None:
    """With another uvicorn the command prints a sentence and exits with status 1."""
    installed = tmp_path / "uvicorn-0.99.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: uvicorn\nVersion: 0.99.0\n")
    done = subprocess.run(  # noqa: S603 - our own interpreter and command
        [sys.executable, "-m", "gateway", command],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{TOP}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"sheets-gateway: {version_problem('0.99.0')}\n"
