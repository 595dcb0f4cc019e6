"""Findings of `check` about the connection to Google: names, ports, TLS, proxies."""

import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import EmulatorControl
from tests.journeys.report import Checkup, changed_key_file

SECRET = "what-nobody-may-see"


@pytest.fixture
def checkup(emulator: EmulatorControl, tmp_path: Path) -> Iterator[Checkup]:
    emulator.reset()
    yield Checkup(folder=tmp_path, emulator=emulator)
    emulator.reset()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A reserved port of the loopback without a listener."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


Build = Callable[[EmulatorControl, int], Mapping[str, object]]

WAYS: list[Any] = [
    pytest.param(
        lambda _emulator, port: {"endpoint": f"http://127.0.0.1:{port}"},
        "refuses connections",
        "HTTPS_PROXY",
        id="closed",
    ),
    pytest.param(
        lambda emulator, _port: {"endpoint": emulator.url.replace("http:", "https:")},
        "does not use TLS",
        "check google.endpoint",
        id="no TLS",
    ),
]


@pytest.mark.parametrize("arguments", [(), ("--spreadsheet", "demo")], ids=["alone", "sheet"])
@pytest.mark.parametrize(("build", "cause", "mend"), WAYS)
def test_sheets_that_cannot_be_reached(
    checkup: Checkup,
    closed_port: int,
    arguments: tuple[str, ...],
    build: Build,
    cause: str,
    mend: str,
) -> None:
    """`check` names the unreachable host, the cause, and the port or setting to change."""
    google = build(checkup.emulator, closed_port)

    text = checkup.run(*arguments, google=google).problem

    assert str(google["endpoint"]).partition("//")[2] in text
    assert cause in text
    assert mend in text


def test_a_token_endpoint_that_cannot_be_reached(
    checkup: Checkup, tmp_path: Path, closed_port: int
) -> None:
    """`check` names an unreachable token endpoint by its own host and port."""
    token_uri = f"http://127.0.0.1:{closed_port}/token"
    path = changed_key_file(checkup.emulator, tmp_path, token_uri=token_uri)

    text = checkup.run(google={"credentials": str(path)}).problem

    assert f"no token available: 127.0.0.1:{closed_port} refuses connections" in text


def test_a_token_endpoint_that_does_not_answer(checkup: Checkup) -> None:
    """If the token endpoint does not answer before the timeout, `check` suspects a firewall."""
    checkup.emulator.faults({"call": "token", "delay_ms": 600})

    text = checkup.run(google={"read_timeout_seconds": 0.2}).problem

    assert "does not answer in time: a firewall" in text


@pytest.mark.parametrize(
    ("environ", "cause"),
    [
        pytest.param({"ALL_PROXY": "socks5://127.0.0.1:1"}, "a SOCKS proxy", id="SOCKS"),
        pytest.param({"HTTPS_PROXY": f"ftp://u:{SECRET}@x"}, "an invalid proxy", id="ftp"),
        pytest.param({"HTTPS_PROXY": f"http://u:{SECRET}@x:y"}, "a proxy", id="no URL"),
        pytest.param({"SSL_CERT_FILE": "/nowhere"}, "SSL_CERT_FILE", id="certificates"),
    ],
)
def test_an_environment_that_allows_no_requests(
    checkup: Checkup, environ: Mapping[str, str], cause: str
) -> None:
    """`check` names the environment variable that prevents requests, but not its value."""
    report = checkup.run(environ=environ)

    assert report.problem.startswith("network: ")
    assert cause in report.problem
    assert SECRET not in str(report)


def test_a_proxy_that_cannot_be_reached(checkup: Checkup, closed_port: int) -> None:
    """If a proxy refuses connections, `check` says that the request went through a proxy."""
    proxy = {"HTTP_PROXY": f"http://user:{SECRET}@127.0.0.1:{closed_port}"}

    text = checkup.run(environ=proxy).problem

    assert "refuses connections" in text
    assert "through the proxy of HTTP_PROXY" in text
    assert SECRET not in text


def test_a_foreign_endpoint_is_not_called(checkup: Checkup, closed_port: int) -> None:
    """`check` without a spreadsheet sends no request to an endpoint that is not Google's."""
    endpoint = f"http://sheets.invalid:{closed_port}"

    report = checkup.run(google={"endpoint": endpoint, "allow_insecure_endpoint": True})

    assert report.status == 0
    assert "neither Google" in report.of("warning")[0]
