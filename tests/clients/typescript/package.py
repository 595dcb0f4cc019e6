"""The TypeScript client, compiled in a copy of its folder.

Rules: the checkout stays unchanged. The compiler comes from the checkout's `node_modules` if they
exist, else `npm ci` installs it into the copy. Without a compiler the tests are skipped, but fail
if `CI` is set.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[3]
SOURCE = TOP / "clients" / "typescript"
NODE = shutil.which("node")
NPM = shutil.which("npm")
PATIENCE_SECONDS = 120


@dataclass(frozen=True, kw_only=True)
class Package:
    """A compiled copy of the client; the `node_modules` of `folder` contain the compiler."""

    folder: Path

    @property
    def module(self) -> str:
        return (self.folder / "dist" / "index.js").as_uri()

    def tsc(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        compiler = self.folder / "node_modules" / "typescript" / "bin" / "tsc"
        return run([node(), str(compiler), *arguments], cwd=cwd or self.folder)


def make_package(folder: Path) -> Package:
    """Copy and compile the client, with the checkout's compiler or an installed one."""
    ignored = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(SOURCE, folder, ignore=ignored)
    _add_compiler(folder)
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
    """Skip the test, or fail it if `CI` is set."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _add_compiler(folder: Path) -> None:
    modules = SOURCE / "node_modules"
    if (modules / "typescript").is_dir():
        (folder / "node_modules").symlink_to(modules.resolve())
        return
    npm = NPM or unavailable("npm is not installed")
    done = run([npm, "ci", "--no-audit", "--no-fund", "--fetch-retry-mintimeout=1000"], cwd=folder)
    if done.returncode != 0:
        unavailable(f"npm ci failed: {done.stderr[-500:]}")
