"""Scripts for setup and tests."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import slow_files

TOP = Path(__file__).parents[1]
QUICK, ALL = "not google and not slow", "not google"


def python_arguments(folder: Path, *arguments: str) -> Sequence[str]:
    """Return the arguments with which `scripts/test` starts Python."""
    shutil.copytree(TOP / "scripts", folder / "scripts")
    (folder / "scripts" / "setup.sh").write_text('VENV="$PWD/.venv"\n')
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    python.chmod(0o755)
    done = subprocess.run(  # noqa: S603 - our own script
        [str(folder / "scripts" / "test"), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("arguments", "chosen", "rest"),
    [
        pytest.param([], QUICK, [], id="default"),
        pytest.param(["--all"], ALL, [], id="all"),
        pytest.param(["-x", "tests/server"], QUICK, ["-x", "tests/server"], id="for pytest"),
        pytest.param(["--all", "-k", "a b"], ALL, ["-k", "a b"], id="both"),
    ],
)
def test_the_script_chooses_tests(
    arguments: Sequence[str], chosen: str, rest: Sequence[str], tmp_path: Path
) -> None:
    """Slow tests run only with `--all`, which adds coverage; other arguments are passed
    to pytest.
    """
    given = python_arguments(tmp_path, *arguments)
    at = given.index(chosen)

    assert given[:2] == ["-m", "pytest"]
    assert given[at - 1] == "-m"
    assert given[at + 1 :][: len(rest)] == rest
    assert ("coverage" in given) is (arguments == ["--all"])


def test_the_demo_finds_files_of_the_caller(tmp_path: Path) -> None:
    """A relative path is relative to the caller's folder, not to the checkout."""
    checkout, caller = tmp_path / "checkout", tmp_path / "caller"
    shutil.copytree(TOP / "scripts", checkout / "scripts")
    (checkout / "scripts" / "setup.sh").write_text('VENV="$PWD/.venv"\n')
    gateway = checkout / ".venv" / "bin" / "sheets-gateway"
    gateway.parent.mkdir(parents=True)
    gateway.write_text('#!/bin/sh\necho "$@"\ncat "$2"\n')
    gateway.chmod(0o755)
    caller.mkdir()
    (caller / "my prices.csv").write_text("name\n")
    done = subprocess.run(
        ["../checkout/scripts/demo", "my prices.csv"],
        cwd=caller,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "demo my prices.csv\nname\n"


def test_the_site_replaces_only_a_site(tmp_path: Path) -> None:
    """scripts/docs does not remove a folder that contains something other than a site."""
    shutil.copytree(TOP / "scripts", tmp_path / "scripts")
    (tmp_path / "scripts" / "setup.sh").write_text('VENV="$PWD/.venv"\n')
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    (tmp_path / "mine").mkdir()
    done = subprocess.run(  # noqa: S603 - our own script
        [str(tmp_path / "scripts" / "docs"), "mine"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "Choose another folder" in done.stderr
    assert (tmp_path / "mine").is_dir()


def test_the_checks_of_a_change_build_the_site() -> None:
    """The checks of a change build the site, so that a broken link fails them."""
    assert "./scripts/docs" in (TOP / ".ci" / "run").read_text("utf-8").splitlines()


def test_the_checks_of_a_change_run_all_tests() -> None:
    """`.ci/run` ends with all tests, including slow tests."""
    lines = (TOP / ".ci" / "run").read_text("utf-8").splitlines()

    assert lines[-1] == "./scripts/test --all"


def test_slow_files_are_files() -> None:
    """Each file in the list of slow files exists and occurs once."""
    files = list(slow_files())

    assert len(files) == len(set(files)) > 30
    assert [file for file in files if not file.is_file()] == []


def test_this_file_is_not_slow(request: pytest.FixtureRequest) -> None:
    """A test in a file outside the list of slow files has no mark `slow`."""
    assert request.node.get_closest_marker("slow") is None
