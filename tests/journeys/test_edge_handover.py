"""Gateways that serve one after another on an inherited listening socket."""

import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from gateway.server.sockets import base_url, bind
from tests.journeys.process import Process, run, running
from tests.journeys.unreachable_google import google_section
from tests.journeys.waiting import PATIENCE_SECONDS, until

CLIENTS = 8
RESTARTS = 2


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration with a key store of this test."""
    text = f"[server]\nshutdown_seconds = 3\n{google_section(tmp_path)}"
    (tmp_path / "config.toml").write_text(text)
    return str(tmp_path / "config.toml")


@contextmanager
def serving(folder: Path, config: str, listening: socket.socket) -> Iterator[Process]:
    """A gateway on an inherited socket."""
    fd = listening.fileno()
    with running(folder / "log", "serve", "--fd", str(fd), "--config", config, fds=[fd]) as gateway:
        yield gateway


def is_alive(url: str) -> bool:
    """True if a gateway answers there."""
    _, _, address = url.partition("//")
    connection = HTTPConnection(address, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status == 200
    finally:
        connection.close()


def test_a_second_gateway_on_a_key_store_is_refused(tmp_path: Path, config: str) -> None:
    """A second gateway on the same key store names the first process and exits with 1."""
    with running(tmp_path / "log", "serve", "--port", "0", "--config", config) as first:
        second = run("serve", "--port", "0", "--config", config)
        is_first_fine = is_alive(first.url)

    assert second.returncode == 1
    assert f"process {first.process.pid} already uses" in second.stderr
    assert second.stdout == ""
    assert is_first_fine


def test_a_killed_gateway_leaves_no_lock(tmp_path: Path, config: str) -> None:
    """After kill -9 of a gateway, the next gateway starts at once."""
    with running(tmp_path / "log", "serve", "--port", "0", "--config", config) as first:
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(PATIENCE_SECONDS)
    with running(tmp_path / "log", "serve", "--port", "0", "--config", config) as second:
        is_fine = is_alive(second.url)

    assert is_fine


def test_a_gateway_serves_on_an_inherited_socket(tmp_path: Path, config: str) -> None:
    """`serve --fd` prints the address of the inherited socket and answers there."""
    with (
        bind("127.0.0.1", 0) as listening,
        serving(tmp_path, config, listening) as gateway,
    ):
        where = base_url(listening)
        is_fine = is_alive(where)
        status = gateway.end()

    assert (gateway.url, is_fine, status) == (where, True, 0)


def test_a_gateway_serves_on_an_inherited_unix_socket(tmp_path: Path, config: str) -> None:
    """`serve --fd` accepts a Unix socket."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        fd = listening.fileno()
        options = ("serve", "--fd", str(fd), "--config", config)
        with (
            running(
                tmp_path / "log",
                *options,
                last_words=" on unix",
                pattern=r" on (unix:\S+)",
                fds=[fd],
            ) as gateway,
            socket.socket(socket.AF_UNIX) as client,
        ):
            client.settimeout(PATIENCE_SECONDS)
            client.connect(str(tmp_path / "s"))
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: gateway\r\n\r\n")
            answer = client.recv(65_536)

    assert gateway.url == f"unix:{tmp_path / 's'}"
    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("kind", ["none", "file", "datagrams", "deaf"])
def test_fd_without_a_listening_socket_is_refused(tmp_path: Path, config: str, kind: str) -> None:
    """`--fd` of anything but a listening stream socket exits with status 2 and says so."""
    with (
        (tmp_path / "file").open("wb") as file,
        socket.socket(type=socket.SOCK_DGRAM) as datagrams,
        socket.socket() as deaf,
    ):
        given = {"file": file.fileno(), "datagrams": datagrams.fileno(), "deaf": deaf.fileno()}
        fd = given.get(kind, 999)
        fds = [fd] if kind in given else []
        done = run("serve", "--fd", str(fd), "--config", config, fds=fds)

    assert done.returncode == 2
    assert done.stderr.startswith(f"sheets-gateway: --fd {fd}: no listening socket was inherited")
    assert "Traceback" not in done.stderr


def test_fd_with_a_port_is_refused(config: str) -> None:
    """`--fd` together with `--port` exits with status 2."""
    done = run("serve", "--fd", "3", "--port", "8000", "--config", config)

    assert done.returncode == 2
    assert "--fd" in done.stderr


def test_a_new_gateway_waits_until_the_old_one_ends(tmp_path: Path, config: str) -> None:
    """A gateway started before the old one ends takes over, and no connection is lost."""
    (tmp_path / "next").mkdir()
    started, go_on = threading.Event(), threading.Event()

    def succeed(listening: socket.socket) -> bool:
        with serving(tmp_path / "next", config, listening) as new:
            started.set()
            go_on.wait(PATIENCE_SECONDS)
            return is_alive(new.url)

    with (
        bind("127.0.0.1", 0) as listening,
        ThreadPoolExecutor(1) as pool,
        serving(tmp_path, config, listening) as old,
        connected_to(old.url) as idle,
    ):
        is_old_fine = is_alive(old.url)
        succeeded = pool.submit(succeed, listening)
        old.process.send_signal(signal.SIGTERM)
        idle.sendall(b"GET /livez HTTP/1.1\r\nHost: gateway\r\n\r\n")
        last = idle.recv(65_536)
        status = old.process.wait(PATIENCE_SECONDS)
        has_started = started.wait(PATIENCE_SECONDS)
        go_on.set()
        is_new_fine = succeeded.result()

    assert (is_old_fine, has_started, is_new_fine, status) == (True, True, True, 0)
    assert last.startswith(b"HTTP/1.1 200 ")


def test_restarts_lose_no_request(tmp_path: Path, config: str) -> None:
    """Clients that honour `Connection: close` get an answer to every request during restarts."""
    stop = threading.Event()
    served: list[int] = []
    with bind("127.0.0.1", 0) as listening, ThreadPoolExecutor(CLIENTS) as pool:
        asking = [pool.submit(ask, base_url(listening), stop) for _ in range(CLIENTS)]
        try:
            for _ in range(RESTARTS + 1):
                with serving(tmp_path, config, listening) as gateway:
                    assert until(lambda: any(each.running() for each in asking))
                    assert is_alive(gateway.url)
                    served.append(gateway.end())
            with serving(tmp_path, config, listening):
                stop.set()
                counts = [each.result() for each in asking]
        finally:
            stop.set()

    assert served == [0] * (RESTARTS + 1)
    assert min(counts) > RESTARTS


@contextmanager
def connected_to(url: str) -> Iterator[socket.socket]:
    host, _, port = url.partition("//")[2].partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as client:
        yield client


def ask(url: str, stop: threading.Event) -> int:
    """Send requests until the stop and return their number. Every request must succeed."""
    connection = HTTPConnection(url.partition("//")[2], timeout=PATIENCE_SECONDS)
    answered = 0
    while not stop.is_set():
        connection.request("GET", "/livez")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        answered += 1
    connection.close()
    return answered


def test_an_endless_body_does_not_delay_the_stop(tmp_path: Path) -> None:
    """On a stop, the gateway drops an answered client that has not sent its whole body."""
    text = f"[server]\nbody_timeout_seconds = 60\n{google_section(tmp_path)}"
    (tmp_path / "config.toml").write_text(text)
    options = ("--port", "0", "--config", str(tmp_path / "config.toml"))
    with (
        running(tmp_path / "log", "serve", *options) as gateway,
        connected_to(gateway.url) as client,
    ):
        client.sendall(
            b"POST /v2/sheets/Cities HTTP/1.1\r\nHost: gateway\r\nContent-Length: 10\r\n\r\n1"
        )
        answer = client.recv(65_536)
        began = time.monotonic()
        status = gateway.end()
        seconds = time.monotonic() - began

    assert answer.startswith(b"HTTP/1.1 401 ")
    assert status == 0
    assert seconds < 10
