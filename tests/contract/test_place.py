"""Tests of the environment variables for tests against Google."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.contract.place import CREDENTIALS, SPREADSHEET, Place, google_place

TOP = Path(__file__).parents[2]
NAMED = {CREDENTIALS: "key.json", SPREADSHEET: "scratch"}
UNNAMED = [
    pytest.param({}, id="neither"),
    pytest.param({CREDENTIALS: "key.json"}, id="no-spreadsheet"),
    pytest.param({SPREADSHEET: "scratch"}, id="no-key-file"),
    pytest.param({**NAMED, SPREADSHEET: ""}, id="blank"),
]


def run(*command: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command whose environment has only the given variables of a `Place`."""
    inherited = {name: value for name, value in os.environ.items() if name not in NAMED}
    return subprocess.run(  # noqa: S603 - our own interpreter and script
        command,
        cwd=TOP,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_environment_names_the_spreadsheet() -> None:
    """The two variables give the key file and the spreadsheet, at Google's endpoint."""
    assert google_place(NAMED) == Place(
        credentials=Path("key.json"),
        spreadsheet="scratch",
        endpoint="https://sheets.googleapis.com",
    )


@pytest.mark.parametrize("environment", UNNAMED)
def test_incomplete_location_is_none(environment: Mapping[str, str]) -> None:
    """Unless both variables are set and not blank, `google_place` returns None."""
    assert google_place(environment) is None


@pytest.mark.parametrize(
    ("environment", "options", "subjects"),
    [
        pytest.param(NAMED, [], {"fake", "emulator"}, id="ordinary-run-with-a-place"),
        pytest.param(NAMED, ["-m", "google"], {"google"}, id="google"),
    ],
)
def test_google_tests_run_on_demand(
    environment: Mapping[str, str], options: list[str], subjects: set[str]
) -> None:
    """Tests use Google only on request, also if a key file and a spreadsheet are configured."""
    collecting = ("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options)
    file = "tests/contract/test_worksheets.py"
    done = run(sys.executable, *collecting, file, environment=environment)

    assert done.returncode == 0, done.stdout
    assert set(re.findall(r"\[(fake|emulator|google)\b", done.stdout)) == subjects


@pytest.mark.parametrize("environment", UNNAMED)
def test_the_script_needs_both_variables(environment: Mapping[str, str]) -> None:
    """Without key file or spreadsheet, `against-google` names the setting; its status is 2."""
    done = run("scripts/against-google", environment=environment)

    missing = CREDENTIALS if CREDENTIALS not in environment else SPREADSHEET
    assert done.returncode == 2
    assert f"{missing} is not set" in done.stderr
    assert done.stdout == ""
