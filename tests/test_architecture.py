"""Structure of the code: allowed imports and sizes of files."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PACKAGES = ("gateway", "sheets_emulator")
PYTHON_FILES = [
    file
    for folder in (*PACKAGES, "clients/python", "tests")
    for file in sorted((TOP / folder).rglob("*.py"))
]
EMPTY_NAMES = {"utils", "helpers", "common", "manager", "misc"}
MAX_LINES = 800


def lint(
    folder: Path, appended: Sequence[tuple[str, str]] = ()
) -> subprocess.CompletedProcess[str]:
    """Check the imports of a copy of the project with these lines appended, also to new files."""
    for package in PACKAGES:
        shutil.copytree(
            TOP / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
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
    """Every import follows the layers, and the emulator does not import the gateway."""
    result = lint(tmp_path)

    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("gateway/table/cells.py", "import gateway.web.rows", "Each layer"),
        ("gateway/table/cells.py", "import gateway.query.evaluate", "Each layer"),
        ("gateway/unplaced.py", "import time", "Each layer"),
        ("gateway/table/cells.py", "import time", "Tables, queries and GCRA are pure"),
        ("gateway/gcra.py", "import time", "Tables, queries and GCRA are pure"),
        ("sheets_emulator/grid/a1.py", "import gateway.table.a1", "The emulator knows nothing"),
        ("sheets_emulator/grid/a1.py", "import sheets_emulator.state.seed", "Each part of"),
        ("sheets_emulator/reply.py", "import sheets_emulator.quota", "Each part of"),
        ("sheets_emulator/unplaced.py", "import time", "Each part of"),
        ("gateway/web/rows.py", "import gspread", "Google is met"),
        ("gateway/web/unplaced.py", "import gspread", "Google is met"),
        ("gateway/worksheets/rows.py", "import gateway.google.calls", "Worksheets know"),
        ("gateway/worksheets/rows.py", "import starlette", "HTTP is met"),
        ("gateway/google/quota.py", "import gateway.cluster.store", "Each layer"),
        ("gateway/cluster/store.py", "import gateway.web.rows", "Each layer"),
        ("gateway/app.py", "import redis", "Redis is met"),
        ("gateway/app.py", "import sheets_emulator.app", "Only the commands"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, file: str, line: str, contract: str) -> None:
    """An import against the layers is reported with the contract that forbids it."""
    result = lint(tmp_path, [(file, line)])

    assert result.returncode == 1
    assert any(
        contract in report and "BROKEN" in report for report in result.stdout.splitlines()
    ), result.stdout


def test_only_these_modules_are_outside_of_packages() -> None:
    """The folder gateway/ has only these modules outside of packages."""
    loose = {file.name for file in (TOP / "gateway").glob("*.py")}

    assert loose == {"__init__.py", "__main__.py", "app.py", "errors.py", "gcra.py"}


@pytest.mark.parametrize("file", PYTHON_FILES, ids=lambda file: str(file.relative_to(TOP)))
def test_a_file_is_short_and_has_a_specific_name(file: Path) -> None:
    """No file has more than 800 lines or a general name such as `utils`."""
    lines = file.read_text("utf-8").count("\n")

    assert lines <= MAX_LINES
    assert file.stem not in EMPTY_NAMES
