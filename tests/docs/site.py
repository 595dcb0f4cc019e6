"""The documentation site, built by the same steps as `scripts/docs`."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.blocks import TOP

PATIENCE_SECONDS = 120.0


def need_generator() -> None:
    """Skip a test if the site generator is not installed; with CI set, run the test and fail."""
    if find_spec("zensical") is None and not os.environ.get("CI"):
        pytest.skip("scripts/docs has not installed the generator of the site")


def prepare(folder: Path) -> Path:
    """Write the sources of the site to a folder, and return the folder of the pages."""
    _run("scripts/docs_pages.py", str(folder)).check_returncode()
    return folder / "pages"


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site in `folder/site`. The exit status is not 0 if a link is broken."""
    return _run("-m", "zensical", "build", "--strict", "--config-file", f"{folder}/zensical.toml")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own script, and the generator
        [sys.executable, *words],
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
