"""A gateway whose keys and write ledger are in PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from tests.journeys.failure import refused
from tests.journeys.process import running
from tests.journeys.test_process import Installation, Served, installation, separate_emulator
from tests.journeys.waiting import until
from tests.postgres import PASSWORD, PostgresServer, running_server

__all__ = ["installation", "separate_emulator"]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the test can stop."""
    with running_server() as started:
        yield started


@pytest.fixture
def at_server(installation: Installation, server: PostgresServer) -> Installation:
    """An installation with a migrated database."""
    config = installation.folder / "config.toml"
    config.chmod(0o600)
    url = server.new_database(is_migrated=False).url.get_secret_value()
    with config.open("a") as file:
        file.write(f'[access]\ndatabase = "{url}"\npepper_file = "pepper"\n')
    assert installation.command("storage", "migrate").returncode == 0
    return installation


@contextmanager
def serving(at_server: Installation) -> Iterator[Served]:
    """The gateway as a process, which is killed at the end."""
    config = str(at_server.folder / "config.toml")
    with running(at_server.folder / "log", "serve", "--port", "0", "--config", config) as process:
        yield Served(process)


def answer(gateway: Served, key: str) -> httpx2.Response:
    """The answer to one create with a fixed Idempotency-Key."""
    return httpx2.post(
        f"{gateway.gateway.url}/v2/sheets/Cities",
        headers={
            "Authorization": f"Bearer {key}",
            "X-Spreadsheet-Id": "demo",
            "Idempotency-Key": "once",
        },
        json={"name": "Ulm"},
    )


def test_writes_outlive_the_process(at_server: Installation) -> None:
    """After kill -9, the next gateway replays a repeated create from the ledger.

    A second gateway does not start on the same key store. No output or log has the password.
    """
    key = at_server.create_key("--spreadsheet", "demo")["key"]
    with serving(at_server) as gateway:
        first = answer(gateway, key)
    log = (at_server.folder / "log").read_text()
    with serving(at_server) as gateway:
        again = answer(gateway, key)
        second = at_server.command("serve", "--port", "0")
        checked = at_server.command("check")

    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert second.returncode == 1
    assert "another gateway already uses the key store postgresql://127." in second.stderr
    assert "keys: 1 not revoked" in checked.stdout
    log += (at_server.folder / "log").read_text()
    assert PASSWORD not in log + second.stderr + checked.stdout + checked.stderr


def test_a_postgres_outage(at_server: Installation, server: PostgresServer) -> None:
    """Without PostgreSQL, known keys can read during the grace period, and writes get 503.

    After the grace period all requests get 503, until the server is back.
    """
    with (at_server.folder / "config.toml").open("a") as file:
        file.write("grace_seconds = 6\n")
    key = at_server.create_key("--spreadsheet", "demo")["key"]
    with serving(at_server) as gateway:
        ready = httpx2.get(f"{gateway.gateway.url}/readyz")
        server.stop()
        read = gateway.request("GET", "Cities", key)
        unwritten = answer(gateway, key)
        still_ready = httpx2.get(f"{gateway.gateway.url}/readyz")
        is_refused = until(lambda: gateway.request("GET", "Cities", key).status_code == 503)
        unknown = gateway.request("GET", "Cities", key)
        unready = httpx2.get(f"{gateway.gateway.url}/readyz")
        server.start()
        is_back = until(lambda: answer(gateway, key).status_code == 201)

    assert (ready.status_code, read.status_code, still_ready.status_code) == (200, 200, 200)
    assert unready.status_code == 503
    assert refused(unwritten) == (503, 5031)
    # Nobody can tell whether its Idempotency-Key was used.
    assert unwritten.json()["outcome"] == "unknown"
    assert int(unwritten.headers["retry-after"]) >= 1
    assert is_refused
    assert refused(unknown) == (503, 5031)
    assert is_back
    assert PASSWORD not in (at_server.folder / "log").read_text()
