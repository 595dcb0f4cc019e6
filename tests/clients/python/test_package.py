"""Tests of the client as a separate package."""

import ast
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[3] / "clients" / "python"
PROJECT: Any = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))["project"]
GATEWAY: Any = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
PATIENCE_SECONDS = 60
USE = """
from sheets_gateway_client import Sheets
with Sheets({url!r}, {key!r}, "demo") as sheets:
    print(sheets.sheet("Cities").get(2)["name"])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(  # noqa: S603 - our own package
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=PACKAGE,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_has_the_package_its_types_and_its_license(wheel: Path) -> None:
    """The wheel contains all modules, `py.typed` and the license, but no tests."""
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {f"sheets_gateway_client/{file.name}" for file in PACKAGE.glob("*/*.py")}

    assert {name for name in names if "dist-info" not in name} == {
        *modules,
        "sheets_gateway_client/py.typed",
    }
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_wheel_works_alone(wheel: Path, tmp_path: Path, api: Any) -> None:
    """A program outside the checkout imports the wheel and reads a row."""
    program = tmp_path / "use.py"
    program.write_text(USE.format(url=api.url, key=api.keys["paid"]))
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-W", "error", str(program)],
        env={**os.environ, "PYTHONPATH": str(wheel)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("New York\n", "")


def test_modules_import_nothing_else() -> None:
    """Modules import only the standard library, httpx2 and the client; pandas only on use."""
    trees = [ast.parse(file.read_text("utf-8")) for file in PACKAGE.glob("*/*.py")]
    nodes = [node for tree in trees for node in tree.body]
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    roots = {name.partition(".")[0] for name in names}

    assert roots - sys.stdlib_module_names == {"httpx2", "sheets_gateway_client"}


def test_the_synchronous_client_is_generated() -> None:
    """`client.py` has the text that the script generates from `async_client.py`."""
    script = PACKAGE.parents[1] / "scripts" / "sync_client.py"
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(script), "--check"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_only_dependency_has_the_gateways_version() -> None:
    """The client needs the gateway's version of httpx2, so one environment can have both."""
    assert len(PROJECT["dependencies"]) == 1
    assert PROJECT["dependencies"][0] in GATEWAY["dependencies"]


def test_the_extra_is_tested_in_its_versions() -> None:
    """The development environment has the pandas version that the extra installs."""
    (wanted,) = PROJECT["optional-dependencies"]["pandas"]

    assert wanted in GATEWAY["optional-dependencies"]["dev"]


def test_the_license_is_the_gateways() -> None:
    """The license file equals the gateway's license file."""
    assert (PACKAGE / "LICENSE").read_bytes() == (PACKAGE.parents[1] / "LICENSE").read_bytes()


def test_a_wrong_use_does_not_type_check(tmp_path: Path) -> None:
    """`mypy --strict` finds wrong arguments and wrong uses of results of both clients."""
    program = tmp_path / "use.py"
    program.write_text(
        "from sheets_gateway_client import AsyncSheets, Row, Sheets\n"
        "async def use(sheets: Sheets, others: AsyncSheets) -> None:\n"
        "    row: Row = sheets.sheet('a').create({'x': 1})\n"
        "    rows: list[Row] = await others.sheet('a').upsert([{'x': 1}], on='x')\n"
        "    first: str | None = rows[0]['x'] or row['x']\n"
        "    wrong: int = sheets.sheet('a').update(2, {'x': 1})\n"
        "    await others.sheet('a').get('2')\n"
        "    sheets.sheet('a', values='texts')\n"
        "    amount: float = sheets.sheet('a', values='typed').get(2)['amount']\n"
        "    (await others.sheet('a').to_dataframe()).plot()\n"
        "    wrong: int = sheets.sheet('a').schema()['properties']['x']['type']\n"
        "    for each in await others.worksheets():\n"
        "        count: int = each.rows\n"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(program)],
        env={**os.environ, "MYPYPATH": str(PACKAGE)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    lines = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]

    assert lines == ["6", "7", "8", "11", "13"], done.stdout
