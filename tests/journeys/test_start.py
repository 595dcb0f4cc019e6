"""Start of `serve`: its log, its errors, and readiness once Google accepts an account."""

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx2

from gateway import __version__
from tests.journeys.conftest import EmulatorControl, OpenGateway
from tests.journeys.process import run, running
from tests.journeys.test_process import Installation, installation, separate_emulator

__all__ = ["installation", "separate_emulator"]

TOKEN_REFUSED = {"call": "token", "times": 99, "status": 401}


class MetadataServer(BaseHTTPRequestHandler):
    """The metadata server of a cloud machine with a service account."""

    def do_GET(self) -> None:
        answers: Mapping[str, object] = {
            "token": {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"},
            "": {"default": {"email": "machine@project.iam.gserviceaccount.com", "scopes": []}},
        }
        answer = answers["token" if "/token" in self.path else ""]
        content = b"project" if "project-id" in self.path else json.dumps(answer).encode()
        if "/service-accounts/default/?" in self.path:
            content = json.dumps(answer["default"]).encode()  # type: ignore[index]
        self.send_response(200)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", "application/json" if content[:1] == b"{" else "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def metadata_server() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), MetadataServer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def machine(port: int, folder: Path) -> dict[str, str]:
    """The environment of a machine whose metadata server is at this port of the loopback."""
    return {
        "GCE_METADATA_IP": f"127.0.0.1:{port}",
        "GCE_METADATA_HOST": f"127.0.0.1:{port}",
        "CLOUDSDK_CONFIG": str(folder),
        "GOOGLE_APPLICATION_CREDENTIALS": "",
        "GATEWAY_ACCESS__DATABASE": str(folder / "keys.db"),
    }


def events(log: str, name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == name]


def test_the_start_is_logged(installation: Installation) -> None:
    """The log line has version, configuration, address, key store, valid keys and account."""
    installation.create_key("--spreadsheet", "demo")
    revoked = installation.create_key("--spreadsheet", "demo")["id"]
    installation.command("keys", "revoke", revoked)
    folder = installation.folder
    with running(
        folder / "log", "serve", "--port=0", "--config", f"{folder}/config.toml"
    ) as served:
        served.end()
    (line,) = events(served.log.read_text(), "serving")

    assert {name: line[name] for name in line if name != "timestamp"} == {
        "event": "serving",
        "level": "info",
        "version": __version__,
        "configuration": str(folder / "config.toml"),
        "listeners": [served.url],
        "key_store": str(folder / "keys.db"),
        "keys": 1,
        "accounts": ["main: gateway@emulator.iam.gserviceaccount.com"],
    }


def test_a_start_without_a_key_is_a_warning(installation: Installation) -> None:
    """Without a key, the `serving` log line is a warning and names the key store."""
    folder = installation.folder
    with running(
        folder / "log", "serve", "--port=0", "--config", f"{folder}/config.toml"
    ) as served:
        served.end()
    (line,) = events(served.log.read_text(), "serving")

    assert (line["level"], line["keys"]) == ("warning", 0)
    assert line["key_store"] == str(folder / "keys.db")


def test_serve_without_credentials_does_not_start(tmp_path: Path) -> None:
    """`serve` exits within seconds, although the metadata server does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as mute, ThreadPoolExecutor(1) as pool:
        environ = machine(mute.getsockname()[1], tmp_path)
        serving = pool.submit(run, "serve", "--port", "0", environ=environ)
        asked, _ = mute.accept()
        began = time.monotonic()
        with asked:
            done = serving.result()
        seconds = time.monotonic() - began

    assert done.returncode == 2
    assert done.stdout == ""
    credentials, configuration = done.stderr.splitlines()[-2:]
    assert "google.credentials is not set" in credentials
    assert "Set google.credentials to a key file: download a key" in credentials
    assert configuration == (
        f"sheets-gateway: configuration: no config.toml in {Path.cwd()}, so defaults and "
        "variables GATEWAY_… only"
    )
    assert seconds < 10


def test_default_credentials_suffice(tmp_path: Path) -> None:
    """`serve` uses the default credentials of the machine and logs their account."""
    with metadata_server() as port:
        log = tmp_path / "log"
        with running(log, "serve", "--port", "0", environ=machine(port, tmp_path)) as served:
            ready = httpx2.get(f"{served.url}/readyz")
            served.end()
    (line,) = events(log.read_text(), "serving")

    assert line["accounts"] == ["main: machine@project.iam.gserviceaccount.com"]
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


def test_serve_on_an_emulator_without_credentials_warns(tmp_path: Path) -> None:
    """Without credentials, `serve` on an emulator is live but not ready, and logs the reason."""
    environ = {
        **machine(1, tmp_path),
        "GATEWAY_GOOGLE__ENDPOINT": "http://127.0.0.1:1",
    }
    log = tmp_path / "log"
    with running(log, "serve", "--port", "0", environ=environ) as served:
        alive, ready = (httpx2.get(f"{served.url}/{each}") for each in ("livez", "readyz"))
        status = served.end()
    (line,) = events(log.read_text(), "no-credentials")

    assert (line["account"], line["endpoint"]) == ("main", "http://127.0.0.1:1")
    assert (alive.status_code, ready.status_code, status) == (200, 503, 0)


def test_ready_once_google_has_accepted_an_account(
    open_gateway: OpenGateway, emulator: EmulatorControl
) -> None:
    """`/readyz` is 503 until Google accepts an account, then 200 whatever Google answers."""
    api = open_gateway()
    emulator.faults(TOKEN_REFUSED)
    before = [api.get("/readyz", key=None) for _ in range(3)]
    tokens = emulator.stats()["calls"]["token"]
    emulator.faults()
    read = api.get("Cities")
    accepted = api.get("/readyz", key=None)
    emulator.faults(TOKEN_REFUSED, {"call": "*", "times": 99, "status": 503})
    refused = api.get("Cities")
    after = api.get("/readyz", key=None)

    assert [each.status_code for each in before] == [503] * 3
    assert before[0].json() == {"status": "Google has accepted no account since the start"}
    assert tokens == 1
    assert read.status_code == 200
    assert refused.status_code != 200
    assert [each.status_code for each in (accepted, after)] == [200, 200]


def test_readiness_needs_no_request_with_a_key(
    open_gateway: OpenGateway, emulator: EmulatorControl
) -> None:
    """The first `/readyz` request gets a token without a read or write; later ones get none."""
    api = open_gateway()
    probes = [api.get("/readyz", key=None) for _ in range(3)]

    assert [each.json() for each in probes] == [{"status": "ready"}] * 3
    assert emulator.calls() == (0, 0)
    assert emulator.stats()["calls"]["token"] == 1
