"""Stops while writes wait and Google is slow."""

import json
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.journeys.conftest import EmulatorControl, KeysOnDisk
from tests.journeys.process import running
from tests.journeys.unreachable_google import google_section
from tests.journeys.waiting import PATIENCE_SECONDS, until
from tests.server.wire import answers_of, connected


def test_writes_still_waiting_at_the_shutdown_timeout_are_not_sent(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path
) -> None:
    """At the timeout, the sent write gets 5041 and the waiting writes get 5032 `not_applied`.

    The log has the signal, the number of running requests and the number of answered requests.
    """
    database, keys = access
    emulator.reset()
    emulator.faults({"call": "spreadsheets.batchUpdate", "delay_ms": 15_000})
    config = tmp_path / "config.toml"
    config.write_text(
        "[server]\nshutdown_seconds = 1\n"
        f"[google]\nendpoint = {json.dumps(emulator.url)}\n"
        f"credentials = {json.dumps(str(emulator.credentials))}\n"
        f"[access]\ndatabase = {json.dumps(str(database))}\n"
    )

    with running(tmp_path / "log", "serve", "--port", "0", "--config", str(config)) as gateway:
        first = create(gateway.url, keys["paid"], "first")
        assert until(lambda: emulator.calls()[1] == 1)
        waiting = [create(gateway.url, keys["paid"], f"waiting {n}") for n in range(3)]
        # It looks into the key store as the creates do, behind them.
        assert httpx2.get(f"{gateway.url}/readyz").status_code == 200
        time_of_stop = time.monotonic()
        status = gateway.end()
        seconds = time.monotonic() - time_of_stop
        answers = [json.loads(each.getresponse().read()) for each in (first, *waiting)]
        lines = [json.loads(line) for line in gateway.log.read_text().splitlines()]
        stop = [line for line in lines if line["event"] in ("stopping", "stopped")]

    assert [(each.get("signal"), each.get("requests"), each.get("drained")) for each in stop] == [
        ("SIGTERM", 4, None),
        (None, None, 4),
    ]
    assert [(each["code"], each["outcome"]) for each in answers] == [
        (5041, "unknown"),
        *[(5032, "not_applied")] * 3,
    ]
    assert status == 0
    assert seconds < 10
    assert [row[0] for row in emulator.texts("New")[1:]] == ["first"]
    emulator.reset()


def test_an_incomplete_body_at_the_shutdown_timeout(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path
) -> None:
    """A client that is still sending its body gets 5032 `not_applied`, and the process ends."""
    database, keys = access
    emulator.reset()
    (tmp_path / "config.toml").write_text(
        "[server]\nshutdown_seconds = 1\n"
        f"[google]\nendpoint = {json.dumps(emulator.url)}\n"
        f"credentials = {json.dumps(str(emulator.credentials))}\n"
        f"[access]\ndatabase = {json.dumps(str(database))}\n"
    )
    options = ("--port", "0", "--config", str(tmp_path / "config.toml"))
    head = (
        "POST /v2/sheets/New HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100\r\n"
        f"Authorization: Bearer {keys['paid']}\r\nX-Spreadsheet-Id: demo\r\n\r\n"
    )
    with running(tmp_path / "log", "serve", *options) as gateway, connected(gateway.url) as client:
        client.sendall(head.encode() + b'{"name": ')
        assert httpx2.get(f"{gateway.url}/readyz").status_code == 200
        time_of_stop = time.monotonic()
        status = gateway.end()
        seconds = time.monotonic() - time_of_stop
        answers = answers_of(client)

    assert [(each.saw, each.json["outcome"]) for each in answers] == [(5032, "not_applied")]
    assert (status, emulator.calls()) == (0, (0, 0))
    assert seconds < 10


@pytest.mark.parametrize("command", ["serve", "emulator", "demo"])
def test_a_stop_right_after_the_start_ends_well(command: str, tmp_path: Path) -> None:
    """SIGTERM immediately after a command printed its address ends the command with status 0."""
    (tmp_path / "config.toml").write_text(google_section(tmp_path))
    options = ("--config", str(tmp_path / "config.toml")) if command == "serve" else ()

    with running(tmp_path / "log", command, "--port", "0", *options) as process:
        status = process.end()

    assert status == 0


def create(url: str, key: str, name: str) -> HTTPConnection:
    """Send a create without reading its answer."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", "/v2/sheets/New", json.dumps({"name": name}), headers)
    return connection
