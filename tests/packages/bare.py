"""The packages, built from the checkout, and a bare environment with the installed wheel."""

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
"""Versions of Python that are tried where this machine has them."""


@dataclass(frozen=True, kw_only=True)
class Bare:
    """An environment with the gateway alone; `folder` is empty and not in the checkout."""

    python: Path
    folder: Path

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return run(str(self.python), *arguments, cwd=self.folder)

    @contextmanager
    def serving(self, *arguments: str, last_words: str = " on http") -> Iterator[Process]:
        """The command as a server, for the time of the block."""
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
    """A Python of this version on this machine, if there is one."""
    candidates = [f"python{version}", *_of_pyenv(version)]
    for candidate in candidates:
        found = shutil.which(candidate)
        test = f"import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
        if found and run(found, "-c", test, cwd=TOP).returncode == 0:
            return found
    return None


def _of_pyenv(version: str) -> Sequence[str]:
    """The shims in the PATH only work for a chosen version."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    return [str(each / "bin" / "python") for each in root.glob(f"versions/{version}.*")]


def build(folder: Path) -> Sequence[Path]:
    """The wheel and the source distribution."""
    done = run(sys.executable, "-m", "hatchling", "build", "--directory", str(folder), cwd=TOP)
    assert done.returncode == 0, done.stderr
    return sorted(folder.iterdir())


def install(wheel: Path, python: str, folder: Path) -> Bare:
    """A fresh environment: the locked packages that the wheel needs, then the wheel alone."""
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
