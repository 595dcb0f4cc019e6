"""The demo as a process: what it prints, and where its log goes."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.process import running
from tests.journeys.waiting import PATIENCE_SECONDS, until


def paste(lines: Sequence[str]) -> list[Any]:
    """The JSON results of lines in a shell."""
    answers = []
    for line in lines:
        done = subprocess.run(  # noqa: S602  (the demo's own lines)
            line, shell=True, capture_output=True, timeout=PATIENCE_SECONDS, check=True
        )
        assert done.stdout.endswith(b"}\n")
        answers.append(json.loads(done.stdout))
    return answers


def test_the_demo_keeps_its_log_out_of_the_way(tmp_path: Path) -> None:
    """It names the page to try things on and the file of its log, which goes with it."""
    log = tmp_path / "log"
    with running(log, "demo", "--port", "0", last_words="Ctrl-C") as demo:
        said = dict(re.findall(r"^(.+?): +(\S+)$", "".join(demo.said), re.MULTILINE))
        page = httpx2.get(said["Try it"], timeout=PATIENCE_SECONDS)
        rows = httpx2.get(
            f"{demo.url}/v2/sheets/Cities",
            headers={"Authorization": f"Bearer {said['Paid key']}"},
            timeout=PATIENCE_SECONDS,
        )
        is_logged = until(lambda: "/v2/sheets/Cities" in Path(said["Log"]).read_text())
        status = demo.end()

    assert (page.status_code, rows.status_code) == (200, 200)
    assert said["Try it"] == f"{demo.url}/docs"
    assert is_logged
    assert (log.read_text(), status) == ("", 0)
    assert not Path(said["Log"]).parent.exists()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_demo_works_as_pasted(tmp_path: Path) -> None:
    """The curl lines that the demo prints work in a shell, and show what they say they show."""
    with running(tmp_path / "log", "demo", "--port", "0", last_words="Ctrl-C") as demo:
        lines = [each for each in demo.said if each.startswith("curl ")]
        listed, found, read, created, updated, *errors = paste(lines)
        status = demo.end()

    assert [len(listed["results"]), listed["hasNextPage"]] == [3, True]
    assert [city["name"] for city in found["results"]][:2] == ["New York", "Los Angeles"]
    assert (read["rowIndex"], read["name"]) == (2, "New York")
    assert created == {
        "rowIndex": 12,
        "name": "Austin",
        "state": "Texas",
        "country": "USA",
        "population": "961855",
    }
    assert updated == {"rowIndex": 12, "population": "964000"}
    assert [error["code"] for error in errors] == [4050, 4034]
    assert status == 0


@pytest.mark.parametrize("hangup", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_demo_ends_in_good_order(tmp_path: Path, hangup: signal.Signals) -> None:
    """Ctrl-C, closing the terminal and service managers all stop it."""
    with running(tmp_path / "log", "demo", "--port", "0", last_words="Ctrl-C") as demo:
        demo.process.send_signal(hangup)

        assert demo.process.wait(PATIENCE_SECONDS) == 0
