"""The structure that the README draws: who may import whom, and how large things get."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PYTHON_FILES = sorted((TOP / "gateway").rglob("*.py")) + sorted((TOP / "tests").rglob("*.py"))
EMPTY_NAMES = {"utils", "helpers", "common", "manager", "misc"}
MAX_LINES = 500


def lint(
    folder: Path, appended: Sequence[tuple[str, str]] = ()
) -> subprocess.CompletedProcess[str]:
    """Check the imports of a copy of the project to which lines were added, in new files too."""
    shutil.copytree(
        TOP / "gateway", folder / "gateway", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(TOP / "pyproject.toml", folder)
    for name, line in appended:
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    program = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    return subprocess.run(  # noqa: S603 - our own interpreter and program
        [sys.executable, "-c", f"import sys; sys.path.insert(0, '.'); {program}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_imports_follow_the_layers(tmp_path: Path) -> None:
    """Every import goes down the layers, and the emulator stands alone."""
    result = lint(tmp_path)

    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("gateway/rows/cells.py", "import gateway.web.rows", "Each layer"),
        ("gateway/rows/cells.py", "import time", "gateway.rows is pure"),
        ("gateway/emulator/grid/a1.py", "import gateway.rows.a1", "The emulator knows nothing"),
        ("gateway/emulator/grid/a1.py", "import gateway.emulator.state.seed", "Each part of"),
        ("gateway/emulator/reply.py", "import gateway.emulator.quota", "Each part of"),
        ("gateway/emulator/unplaced.py", "import time", "Each part of"),
        ("gateway/web/rows.py", "import gspread", "Google is met"),
        ("gateway/service/rows.py", "import starlette", "HTTP is met"),
        ("gateway/app.py", "import gateway.emulator.app", "The gateway knows nothing"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, file: str, line: str, contract: str) -> None:
    """An import against the direction breaks the contract that forbids it."""
    result = lint(tmp_path, [(file, line)])

    assert result.returncode == 1
    assert any(
        contract in report and "BROKEN" in report for report in result.stdout.splitlines()
    ), result.stdout


@pytest.mark.parametrize("file", PYTHON_FILES, ids=lambda file: str(file.relative_to(TOP)))
def test_a_file_is_one_thing_with_a_name(file: Path) -> None:
    """No file is long, and none has a name that says nothing."""
    lines = file.read_text("utf-8").count("\n")

    assert lines <= MAX_LINES
    assert file.stem not in EMPTY_NAMES
