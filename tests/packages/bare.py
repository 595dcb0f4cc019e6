"""Build the packages from the checkout, and install the wheel in an empty environment."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.journeys import process
from tests.journeys.process import Process

TOP = Path(__file__).parents[2]
PATIENCE_SECONDS = 300.0
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
"""Versions of Python to test, if the machine has them."""


@dataclass(frozen=True, kw_only=True)
class Bare:
    """Environment with only the gateway and its dependencies. `folder` is empty and
    outside the checkout.
    """

    python: Path
    folder: Path

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return run(str(self.python), *arguments, cwd=self.folder)

    @contextmanager
    def serving(self, *arguments: str, last_words: str = " on http") -> Iterator[Process]:
        """Run a command as a server during the block."""
        command = (str(self.python.with_name("sheets-gateway")),)
        log = self.folder / f"{arguments[0]}.log"
        with process.running(
            log, *arguments, "--port", "0", last_words=last_words, command=command
        ) as server:
            yield server


def run(*command: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(  # noqa: S603 - our own commands
        command,
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def interpreter(version: str) -> str | None:
    """Return the path of a Python of this version, or None."""
    candidates = [f"python{version}", *_of_pyenv(version)]
    for candidate in candidates:
        found = shutil.which(candidate)
        test = f"import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
        if found and run(found, "-c", test, cwd=TOP).returncode == 0:
            return found
    return None


def _of_pyenv(version: str) -> Sequence[str]:
    """Return the interpreters installed by pyenv, because its shims in PATH work for
    selected versions only.
    """
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    return [str(each / "bin" / "python") for each in root.glob(f"versions/{version}.*")]


def build(folder: Path) -> Sequence[Path]:
    """Build the wheel and the source distribution, and return their paths."""
    done = run(sys.executable, "-m", "hatchling", "build", "--directory", str(folder), cwd=TOP)
    assert done.returncode == 0, done.stderr
    return sorted(folder.iterdir())


def install(wheel: Path, python: str, folder: Path) -> Bare:
    """Create an environment with the locked dependencies and the wheel."""
    environment, empty = folder / "environment", folder / "empty"
    empty.mkdir()
    bare = Bare(python=environment / "bin" / "python", folder=empty)
    pip = [str(bare.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in (
        [python, "-m", "venv", str(environment)],
        [*pip, "--require-hashes", "-r", str(TOP / "scripts" / "requirements.txt")],
        [*pip, "--no-deps", str(wheel)],
    ):
        done = run(*command, cwd=empty)
        assert done.returncode == 0, done.stderr
    return bare
