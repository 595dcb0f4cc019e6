"""The metrics of a running gateway, on their own listener."""

import json
import re
from pathlib import Path

import httpx2

from gateway.server.sockets import bind
from tests.journeys.conftest import EmulatorControl, KeysOnDisk
from tests.journeys.process import run, running

OTHER = "/v2/nowhere/Secret-path"


def configure(folder: Path, emulator: EmulatorControl, access: KeysOnDisk, listen: str) -> Path:
    config = folder / "config.toml"
    config.write_text(
        f"[google]\nendpoint = {json.dumps(emulator.url)}\n"
        f"credentials = {json.dumps(str(emulator.credentials))}\n"
        f"[access]\ndatabase = {json.dumps(str(access[0]))}\n"
        f"[metrics]\nlisten = {json.dumps(listen)}\n"
    )
    return config


def test_metrics_are_served_on_their_own_port(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path
) -> None:
    """Metrics count requests and Google calls and have no name that a client sent."""
    config = configure(tmp_path, emulator, access, "0")
    key = access[1]["paid"]

    with running(tmp_path / "log", "serve", "--port", "0", "--config", str(config)) as gateway:
        found = re.search(r", metrics on (http://127\.0\.0\.1:\d+/metrics)$", gateway.said[-1])
        assert found is not None
        headers = {"Authorization": f"Bearer {key}", "X-Spreadsheet-Id": "demo"}
        answers = [
            httpx2.get(f"{gateway.url}{path}", headers=headers)
            for path in ("/v2/sheets/Cities", OTHER, "/metrics")
        ]
        told = httpx2.get(found[1]).text
        status = gateway.end()

    assert [answer.status_code for answer in answers] == [200, 404, 404]
    assert 'gateway_requests_total{kind="other",status="4xx"} 2.0' in told
    assert re.search(r'gateway_google_calls_total{kind="read",outcome="ok"} [1-9]', told)
    assert not re.search("Cities|demo|Secret-path", told)
    assert key not in told
    assert status == 0


def test_a_gateway_whose_metrics_cannot_listen_does_not_start(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path
) -> None:
    """`serve` reports a metrics port in use and exits with status 2."""
    taken = emulator.url.removeprefix("http://")
    config = configure(tmp_path, emulator, access, taken)

    done = run("serve", "--port", "0", "--config", str(config))

    assert done.returncode == 2
    assert f"cannot listen on {taken}" in done.stderr


def test_a_gateway_on_an_inherited_socket_of_that_port_does_not_start(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path
) -> None:
    """`metrics.listen` must not have the port number of the inherited socket."""
    with bind("127.0.0.2", 0) as inherited:
        port = inherited.getsockname()[1]
        config = configure(tmp_path, emulator, access, f"127.0.0.1:{port}")

        done = run(
            *("serve", "--fd", str(inherited.fileno()), "--config", str(config)),
            fds=[inherited.fileno()],
        )

    assert done.returncode == 2
    assert f"metrics.listen: must have another port than {port}" in done.stderr
