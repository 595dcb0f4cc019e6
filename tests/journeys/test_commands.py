"""Commands that fail, and an emulator that ends during a call."""

import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from gateway import __version__
from tests.journeys.process import run, running
from tests.journeys.waiting import PATIENCE_SECONDS, until


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(
            ["emulator", "--port", "0", "--credentials", "none/key.json"],
            "--credentials: none/key.json: No such file or directory",
            id="credentials",
        ),
        pytest.param(["emulator", "--port", "99999"], "from 0 to 65535", id="emulator"),
        pytest.param(["emulator", "--port", "-1"], "from 0 to 65535", id="negative"),
        pytest.param(["demo", "--port", "99999"], "from 0 to 65535", id="demo"),
        pytest.param(["serve", "--port", "99999"], "server.port: must be less", id="serve"),
        pytest.param(["emulator", "--host", "ü" * 70], "invalid host name", id="host"),
    ],
)
def test_options_that_cannot_be_used_are_reported_in_a_line(
    arguments: list[str], complaint: str
) -> None:
    """An invalid option gives exit status 2 and a one-line error without traceback."""
    done = run(*arguments)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.startswith("sheets-gateway: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["serve", "demo", "emulator"])
def test_a_port_in_use_is_reported(command: str) -> None:
    """The error about a port in use names the option that chooses another port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run(command, "--port", str(taken.getsockname()[1]))

    assert done.returncode == 2
    assert "another program uses the port" in done.stderr
    assert "choose another port with --port" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_version_is_reported() -> None:
    """`--version` prints the version of the package."""
    done = run("--version")

    assert (done.returncode, done.stdout) == (0, f"sheets-gateway {__version__}\n")


@pytest.mark.parametrize(
    "command",
    [[], ["serve"], ["demo"], ["emulator"], ["check"], ["keys"], ["keys", "create"]],
    ids=" ".join,
)
def test_help_shows_no_python_types(command: list[str]) -> None:
    """`--help` shows no Python type names or date format codes."""
    told = run(*command, "--help").stdout

    assert re.search(r"^  -h, --help +Show", told, re.MULTILINE)
    assert not re.search(r"<\w|list\[|%Y", told)


def test_help_says_when_a_key_expires() -> None:
    """`keys create --help` shows the date format, the time zone and the default of `--expires`."""
    told = " ".join(run("keys", "create", "--help").stdout.split())

    assert "--expires DATE End of validity in UTC, such as 2099-12-31" in told
    assert "by default never" in told


def test_emulator_writes_a_key_file_for_each_account(tmp_path: Path) -> None:
    """Each key file is of the default project, or of the project named before the path."""
    paths = [tmp_path / name for name in ("a.json", "b=c.json", "d.json")]
    arguments = (str(paths[0]), str(paths[1]), f"other-1={paths[2]}")
    credentials = [part for each in arguments for part in ("--credentials", each)]
    limits = ("--reads-per-minute-per-project", "300", "--writes-per-minute-per-project", "300")
    with running(tmp_path / "log", "emulator", "--port", "0", *credentials, *limits):
        written = [json.loads(path.read_text()) for path in paths]

    assert [(each["client_email"], each["project_id"]) for each in written] == [
        ("gateway@emulator.iam.gserviceaccount.com", "emulator"),
        ("gateway-2@emulator.iam.gserviceaccount.com", "emulator"),
        ("gateway-3@other-1.iam.gserviceaccount.com", "other-1"),
    ]


def test_emulator_ends_in_the_middle_of_a_call(tmp_path: Path) -> None:
    """SIGTERM during a slow call ends the emulator with status 0 and no traceback."""
    log = tmp_path / "log"
    with (
        running(log, "emulator", "--port", "0", "--latency-ms", "60000") as emulator,
        ThreadPoolExecutor(1) as pool,
    ):
        call = pool.submit(httpx2.post, f"{emulator.url}/token", timeout=PATIENCE_SECONDS)
        stats = f"{emulator.url}/_emulator/stats"
        is_under_way = until(lambda: "token" in httpx2.get(stats).json()["calls"])
        status = emulator.end()
        answer = call.result()

    assert is_under_way
    assert status == 0
    assert answer.status_code == 500
    assert "Traceback" not in log.read_text()
