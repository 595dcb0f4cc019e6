"""`scripts/release` releases one version of all packages, or changes nothing."""

import json
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.packages.bare import TOP, run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "node_modules", "__pycache__", ".*_cache", "tests", "site", "dist"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a committed copy of this checkout that uses the current environment."""
    copy = tmp_path / "checkout"
    shutil.copytree(TOP, copy, ignore=NOT_COPIED)
    (copy / "tests").mkdir()
    environment = Path(sys.executable).parents[1]
    (copy / "scripts" / "setup.sh").write_text(f"VENV='{environment}'\n")
    changelog = copy / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## 9.8.7 - unreleased\n\n- A thing.\n")
    git(copy, "init", "--quiet")
    git(copy, "config", "user.name", "Test")
    git(copy, "config", "user.email", "test@example.org")
    git(copy, "add", ".")
    git(copy, "commit", "--quiet", "--message", "Start")
    return copy


def git(checkout: Path, *arguments: str) -> str:
    done = run("git", *arguments, cwd=checkout)
    assert done.returncode == 0, done.stderr
    return done.stdout


def release(checkout: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run(str(checkout / "scripts" / "release"), *arguments, cwd=checkout)


def versions(checkout: Path) -> set[str]:
    """Return all versions that the checkout states."""
    typescript = checkout / "clients" / "typescript"
    lock = json.loads((typescript / "package-lock.json").read_text("utf-8"))
    python = tomllib.loads((checkout / "clients/python/pyproject.toml").read_text("utf-8"))
    gateway = (checkout / "gateway" / "__init__.py").read_text("utf-8")
    return {
        gateway.partition('__version__ = "')[2].partition('"')[0],
        python["project"]["version"],
        json.loads((typescript / "package.json").read_text("utf-8"))["version"],
        lock["version"],
        lock["packages"][""]["version"],
    }


def test_a_release_has_one_version(checkout: Path) -> None:
    """A release sets one version in gateway, clients and changelog, builds four packages
    and tags the commit.
    """
    git(checkout, "branch", "backup.old")
    done = release(checkout, "9.8.7")
    changelog = (checkout / "CHANGELOG.md").read_text("utf-8")
    built = sorted(each.name for each in (checkout / "dist").iterdir())

    assert done.returncode == 0, done.stderr
    assert versions(checkout) == {"9.8.7"}
    assert f"## 9.8.7 - {datetime.now(UTC).year}-" in changelog
    assert [name for name in built if "9.8.7" in name] == built
    assert len(built) == 4
    assert git(checkout, "tag", "--points-at", "HEAD") == "v9.8.7\n"
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "branch", "--list", "backup.old")


def test_a_dry_run_changes_nothing(checkout: Path) -> None:
    """`--dry-run` builds the packages in a copy and changes nothing."""
    before = git(checkout, "rev-parse", "HEAD")
    done = release(checkout, "9.8.7", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "sheets_gateway-9.8.7-py3-none-any.whl" in done.stdout
    assert git(checkout, "rev-parse", "HEAD") == before
    assert git(checkout, "tag") == git(checkout, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("arguments", "change", "words"),
    [
        pytest.param(["9.8"], None, "Usage", id="no version"),
        pytest.param(["9.8.7", "--dryrun"], None, "Usage", id="misspelt option"),
        pytest.param(["9.8.7"], "uncommitted", "uncommitted changes", id="uncommitted changes"),
        pytest.param(["9.8.8"], None, "unreleased", id="nothing new"),
        pytest.param(["9.8.7"], "tag", "already", id="released before"),
        pytest.param(["9.8.7"], "broken", "README", id="a build that fails"),
    ],
)
def test_a_release_that_is_not_ready_changes_nothing(
    checkout: Path, arguments: list[str], change: str | None, words: str
) -> None:
    """A release with wrong arguments, uncommitted changes or a failing build changes no
    file and no tag.
    """
    if change == "tag":
        git(checkout, "tag", "v9.8.7")
    elif change == "uncommitted":
        (checkout / "README.md").write_text("# Nothing\n")
    elif change == "broken":
        git(checkout, "rm", "--quiet", "README.md")
        git(checkout, "commit", "--quiet", "--message", "Break the build")
    before = versions(checkout), git(checkout, "status", "--porcelain"), git(checkout, "tag")
    done = release(checkout, *arguments)

    assert done.returncode != 0
    assert words in done.stderr
    assert (versions(checkout), git(checkout, "status", "--porcelain"), git(checkout, "tag")) == (
        before
    )
    assert not (checkout / "dist").exists()
