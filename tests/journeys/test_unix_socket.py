"""A gateway behind a proxy on the same machine, by a Unix socket."""

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from gateway.app import create_app
from gateway.server.running import GatewayServer, in_background
from gateway.settings.model import load_settings
from tests.journeys.conftest import LOOKS_EACH_TIME, EmulatorControl, KeysOnDisk
from tests.journeys.failure import refused

Header = tuple[str, str]


@contextmanager
def behind_a_unix_socket(
    folder: Path, emulator: EmulatorControl, access: KeysOnDisk, settings: Mapping[str, object]
) -> Iterator[httpx2.Client]:
    """A client of a gateway that listens on a socket in the file system."""
    loaded = load_settings(
        None,
        {},
        {
            "google.endpoint": emulator.url,
            "google.credentials": str(emulator.credentials),
            "access.database": str(access[0]),
            **LOOKS_EACH_TIME,
            **settings,
        },
    )
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s"))
        listening.listen()
        transport = httpx2.HTTPTransport(uds=str(folder / "s"))
        server = GatewayServer(create_app(loaded), loaded.server)
        with (
            in_background(server, listening),
            httpx2.Client(transport=transport, base_url="http://gateway", timeout=30.0) as client,
        ):
            yield client


def statuses(client: httpx2.Client, *, last: Sequence[Header] = ()) -> list[tuple[int, int]]:
    """Errors of eight requests with a wrong key, each from another address behind the proxy."""
    return [
        refused(
            client.get(
                "/v2/sheets/Cities",
                headers=[("API-Key", "x"), ("X-Forwarded-For", f"203.0.113.{number}"), *last],
            )
        )
        for number in range(8)
    ]


@pytest.mark.parametrize(
    ("proxies", "expected"),
    [
        pytest.param("unix", [(401, 4011)] * 8, id="trusted"),
        pytest.param("unix,10.0.0.0/8", [(401, 4011)] * 8, id="trusted beside others"),
        pytest.param("127.0.0.1", [(401, 4011)] * 5 + [(429, 4292)] * 3, id="not trusted"),
    ],
)
def test_clients_behind_a_unix_socket_have_their_own_failures(
    tmp_path: Path,
    emulator: EmulatorControl,
    access: KeysOnDisk,
    proxies: str,
    expected: Sequence[tuple[int, int]],
) -> None:
    """With the trusted proxy `unix`, failures count by client; otherwise all clients
    share one limit.
    """
    settings = {"access.failures_per_minute": 5, "access.trusted_proxies": proxies}
    with behind_a_unix_socket(tmp_path, emulator, access, settings) as client:
        found = statuses(client)
        same = statuses(client, last=[("X-Forwarded-For", "203.0.113.99")])

    assert found == expected
    assert same[-1] == (429, 4292)
