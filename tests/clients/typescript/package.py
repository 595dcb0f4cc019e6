"""The TypeScript client, compiled in a copy of its folder.

Rules: the checkout is left as it is. The compiler comes from the checkout's `node_modules` if it is
there, else `npm ci` fetches it into the copy. Without it tests are skipped, but fail with `CI` set.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[3]
SOURCE = TOP / "clients" / "typescript"
RUN = Path(__file__).with_name("run.mjs")
NODE = shutil.which("node")
NPM = shutil.which("npm")
PATIENCE_SECONDS = 120


@dataclass(frozen=True, kw_only=True)
class Package:
    """A compiled copy, at a folder whose `node_modules` have the compiler."""

    folder: Path

    @property
    def module(self) -> str:
        return (self.folder / "dist" / "index.js").as_uri()

    def tsc(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        compiler = self.folder / "node_modules" / "typescript" / "bin" / "tsc"
        return run([node(), str(compiler), *arguments], cwd=cwd or self.folder)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """Results of calls, in their order; an error is a mapping with its `kind`."""

    outcomes: Sequence[Mapping[str, Any]]
    waits: Sequence[float]

    @property
    def value(self) -> Any:
        """The result of the last call."""
        assert "value" in self.outcomes[-1], self.outcomes[-1]
        return self.outcomes[-1]["value"]

    @property
    def error(self) -> Mapping[str, Any]:
        """The error of the last call."""
        assert "error" in self.outcomes[-1], self.outcomes[-1]
        found: Mapping[str, Any] = self.outcomes[-1]["error"]
        return found


@dataclass(frozen=True, kw_only=True)
class NodeSheet:
    """A worksheet, whose calls run in a process of Node."""

    package: Package
    options: Mapping[str, Any]
    name: str = "Cities"
    waits_really: bool = False
    faults_url: str | None = None
    """Where the emulator's faults are ended at the first wait."""
    of_sheet: Mapping[str, Any] = field(default_factory=dict)
    """Options of the worksheet."""

    def do(self, *calls: Sequence[Any]) -> Ran:
        """Calls, each a method's name and its arguments."""
        given = {
            "module": self.package.module,
            "options": self.options,
            "sheet": self.name,
            "ofSheet": self.of_sheet,
            "calls": calls,
            "isReal": self.waits_really,
            "faultsUrl": self.faults_url,
        }
        done = run([node(), str(RUN)], input=json.dumps(given))
        assert done.returncode == 0, done.stderr
        return Ran(**json.loads(done.stdout))


def make_package(
    folder: Path,
    replaced: tuple[str, str, str] | None = None,
    *,
    modules: Path = SOURCE / "node_modules",
) -> Package:
    """Copy and compile; `replaced` is a file of `src`, a text in it, and another text.

    The compiler is in `modules`, unless it has to be fetched.
    """
    ignored = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(SOURCE, folder, ignore=ignored)
    if replaced is not None:
        name, old, new = replaced
        text = (folder / "src" / name).read_text("utf-8")
        assert text.count(old) == 1
        (folder / "src" / name).write_text(text.replace(old, new))
    _add_compiler(folder, modules)
    package = Package(folder=folder)
    done = package.tsc()
    assert done.returncode == 0, done.stdout
    return package


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own programs, and the compiler
        command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, **options
    )


def node() -> str:
    return NODE or unavailable("Node is not installed")


def unavailable(reason: str) -> Any:
    """Skip the test; with `CI` set it fails."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _add_compiler(folder: Path, modules: Path) -> None:
    if (modules / "typescript").is_dir():
        (folder / "node_modules").symlink_to(modules.resolve())
        return
    npm = NPM or unavailable("npm is not installed")
    done = run([npm, "ci", "--no-audit", "--no-fund", "--fetch-retry-mintimeout=1000"], cwd=folder)
    if done.returncode != 0:
        unavailable(f"npm ci failed: {done.stderr[-500:]}")
