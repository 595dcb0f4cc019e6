"""SIGTERM under load: every answer that a client gets is complete and true."""

import json
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.journeys.conftest import EmulatorControl, KeysOnDisk
from tests.journeys.standalone import Standalone, standing_alone
from tests.journeys.waiting import until
from tests.server.wire import answers_of, connected

SHUTDOWN_SECONDS = 12.0
LAST_SECONDS = 30.0
"""Time until the process has ended, whatever its clients do."""
SLOW_READ_MS = 10_000
WRITE_MS = 700
HELD_MS = 20_000
SETTINGS = {"server.shutdown_seconds": SHUTDOWN_SECONDS}


def head(gateway: Standalone, method: str, path: str, *lines: str) -> bytes:
    """The head of a request with a key that can write."""
    first = f"{method} /v2/sheets/{path} HTTP/1.1"
    key = f"Authorization: {gateway.api.keys['paid']}"
    usual = (first, "Host: gateway", key, "X-Spreadsheet-Id: demo", *lines)
    return "\r\n".join([*usual, "", ""]).encode()


def create(gateway: Standalone, worksheet: str, name: str) -> bytes:
    """A complete request that creates a row."""
    body = json.dumps({"name": name}).encode()
    return head(gateway, "POST", worksheet, f"Content-Length: {len(body)}") + body


def begun(gateway: Standalone) -> Mapping[str, bytes]:
    """Requests that are incomplete at the stop; the last one waits for a slow Google."""
    chunked = "Transfer-Encoding: chunked"
    return {
        "nothing": b"",
        "half a head": head(gateway, "GET", "Cities")[:-2],
        "half a body": head(gateway, "POST", "Cities", "Content-Length: 100") + b'{"name":',
        "a body in chunks": head(gateway, "POST", "Cities", chunked) + b'9\r\n{"name":',
        "slow read": head(gateway, "GET", "Long/2"),
    }


def test_sigterm_with_many_kinds_of_clients(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path
) -> None:
    """On SIGTERM, complete writes get true answers, and incomplete requests get errors."""
    emulator.reset()
    with (
        ExitStack() as clients,
        standing_alone(tmp_path, emulator, access, SETTINGS) as gateway,
    ):

        def opened(content: bytes) -> socket.socket:
            client = clients.enter_context(connected(gateway.api.url))
            client.sendall(content)
            return client

        def is_called(name: str, times: int) -> bool:
            return until(lambda: emulator.stats()["calls"].get(name, 0) >= times)

        emulator.faults({"call": "values.get", "delay_ms": SLOW_READ_MS})
        unfinished = {name: opened(content) for name, content in begun(gateway).items()}
        assert is_called("values.get", 1)
        emulator.faults(
            {"call": "spreadsheets.batchUpdate", "match": "held", "delay_ms": HELD_MS},
            {"call": "spreadsheets.batchUpdate", "times": 99, "delay_ms": WRITE_MS},
        )
        held = [opened(create(gateway, "HeaderOnly", "held"))]
        assert is_called("spreadsheets.batchUpdate", 1)
        held += [opened(create(gateway, "HeaderOnly", f"late {n}")) for n in range(3)]
        queued = [opened(create(gateway, "New", "first"))]
        assert is_called("spreadsheets.batchUpdate", 2)
        queued += [opened(create(gateway, "New", f"queued {n}")) for n in range(12)]
        # It is read behind all of them.
        assert gateway.api.client.get("/readyz").status_code == 200
        began = time.monotonic()
        status = gateway.process.end()
        seconds = time.monotonic() - began
        of_unfinished = {name: answers_of(client) for name, client in unfinished.items()}
        of_queued, of_held = ([answers_of(each) for each in some] for some in (queued, held))
        rows = [row[0] for row in emulator.texts("New")[1:]]

    assert (status, seconds < LAST_SECONDS) == (0, True)
    assert {name: [each.saw for each in answers] for name, answers in of_unfinished.items()} == {
        "nothing": [],
        "half a head": [4080],
        "half a body": [5032],
        "a body in chunks": [5032],
        "slow read": [None],
    }
    assert of_unfinished["slow read"][0].json["number"] == "1"
    assert [(each.status, each.json["name"]) for (each,) in of_queued] == [
        (201, name) for name in ["first", *(f"queued {n}" for n in range(12))]
    ]
    assert sorted(rows) == sorted(each.json["name"] for (each,) in of_queued)
    assert [(each.saw, each.json["outcome"]) for (each,) in of_held] == [
        (5041, "unknown"),
        *[(5032, "not_applied")] * 3,
    ]
    assert not {"late 0", "late 1", "late 2"} & {row[0] for row in emulator.texts("HeaderOnly")}
    emulator.reset()


def test_sighup_completes_answers(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path
) -> None:
    """SIGHUP, as from a closed terminal, completes the running read."""
    emulator.reset()
    emulator.faults({"call": "values.get", "delay_ms": 500})
    with (
        standing_alone(tmp_path, emulator, access, SETTINGS) as gateway,
        connected(gateway.api.url) as client,
    ):
        client.sendall(head(gateway, "GET", "Long/2", "Connection: close"))
        assert until(lambda: emulator.calls()[0] == 1)
        gateway.process.process.send_signal(signal.SIGHUP)
        answers = answers_of(client)

    assert [answer.json["number"] for answer in answers] == ["1"]
