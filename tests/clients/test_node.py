"""JavaScript samples, run in Node against the gateway."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients.outcomes import (
    SETTINGS,
    SHOWN_TO_ALL,
    WRITTEN,
    differences,
    keys_of_site,
    written,
)
from tests.journeys.conftest import Api, EmulatorControl, make_keys, running_gateways

NODE = shutil.which("node")
RUN = Path(__file__).with_name("run.mjs")
PATIENCE_SECONDS = 60
PAGE = "https://pages.example.org"
"""Origin of the key for pages. Node sends no Origin header."""


@dataclass(frozen=True)
class Ran:
    """Results of the samples, and their gateway."""

    outcomes: Mapping[str, Any]
    api: Api


@pytest.fixture(scope="module")
def ran(emulator: EmulatorControl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Run all samples once."""
    if NODE is None:
        pytest.skip("Node is not installed")
    access = make_keys(tmp_path_factory.mktemp("node"), keys_of_site(PAGE))
    with running_gateways(emulator, access) as start:
        api = start(SETTINGS)
        site = {"base": f"{api.url}/v2", "keys": dict(api.keys), "spreadsheet": "demo"}
        done = subprocess.run(  # noqa: S603 - our own program
            [NODE, str(RUN)],
            input=json.dumps(site),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        yield Ran(outcomes=json.loads(done.stdout), api=api)


@pytest.mark.parametrize("sample", SHOWN_TO_ALL)
def test_a_sample_gets_the_expected_results(ran: Ran, sample: str) -> None:
    """Each JavaScript sample gets its expected status, body and headers."""
    assert differences(SHOWN_TO_ALL[sample], ran.outcomes[sample]) == []


def test_a_key_for_pages_serves_programs(ran: Ran) -> None:
    """A key limited to another page's origin works in Node, which sends no Origin header."""
    assert ran.outcomes["a key for another page"]["status"] == 200


def test_every_sample_has_an_expectation(ran: Ran) -> None:
    """Every sample that ran has an expected result."""
    assert set(ran.outcomes) - {"a key for another page"} == set(SHOWN_TO_ALL)


def test_the_sheet_has_the_rows_of_the_samples(ran: Ran) -> None:
    """Each row that a sample wrote is in the sheet exactly once."""
    assert written(ran.api.emulator) == WRITTEN
