"""Tests of the stop of a server: timely requests are answered, and no client delays the stop."""

import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
from starlette.applications import Starlette

from gateway.server.connection import Connection
from gateway.server.limits import READ_BYTES
from gateway.server.running import GatewayServer, in_background
from gateway.server.sockets import bind
from gateway.settings.model import ServerSettings
from tests.journeys.waiting import until
from tests.server.conftest import echo_app
from tests.server.wire import answers_of, connected, exchange, send

REQUEST = b"GET /a HTTP/1.1\r\nHost: gateway\r\n\r\n"
LAST = REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
SLOW = REQUEST.replace(b"/a", b"/slow")
CALLERS = 30
HANGING = """
import asyncio
from gateway.settings.model import ServerSettings
from gateway.server.running import GatewayServer, run
from gateway.server.sockets import bind
from gateway.telemetry.events import configure_logging

async def app(scope, receive, send):
    await receive()
    print("serves", flush=True)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    print("stops", flush=True)
    await asyncio.Event().wait()

configure_logging()
server = GatewayServer(app, ServerSettings(shutdown_seconds=1))
run(server, [bind("127.0.0.1", 0)], "starts")
"""
IGNORING = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"


@dataclass(frozen=True)
class Running:
    """Server in the background that a test can stop."""

    server: GatewayServer
    url: str

    def stop(self) -> None:
        """Stop the server, and wait until the server accepts no connections."""
        self.server.should_exit = True
        assert until(lambda: not self._takes_connections())

    def _takes_connections(self) -> bool:
        try:
            with connected(self.url):
                return True
        except ConnectionError:
            return False


@contextmanager
def running(
    app: Starlette, listening: socket.socket, is_inherited: bool = False
) -> Iterator[Running]:
    server = GatewayServer(app, ServerSettings(), is_inherited=is_inherited)
    with in_background(server, listening) as url:
        yield Running(server, url)


@contextmanager
def running_echo() -> Iterator[Running]:
    with running(echo_app(), bind("127.0.0.1", 0)) as echo:
        yield echo


def test_requests_during_a_stop_are_answered() -> None:
    """During a stop, an open connection gets an answer to one more request, then closes."""
    with running_echo() as echo, connected(echo.url) as idle, connected(echo.url) as fresh:
        idle.sendall(REQUEST)
        idle.recv(65_536)
        assert until(lambda: len(echo.server.server_state.connections) == 2)
        echo.stop()
        for client in (idle, fresh):
            send(client, REQUEST + REQUEST)
        answers = [answers_of(client) for client in (idle, fresh)]

    assert [[each.saw for each in some] for some in answers] == [["/a"], ["/a"]]
    assert {each.headers["connection"] for some in answers for each in some} == {"close"}


@pytest.mark.parametrize("sent", [b"", b"GET /a HT"], ids=["nothing", "half a head"])
def test_connections_without_requests_do_not_delay_a_stop(sent: bytes) -> None:
    """During a stop, connections without a request are closed after two seconds."""
    with ExitStack() as stack:
        echo = stack.enter_context(running_echo())
        client = stack.enter_context(connected(echo.url))
        client.sendall(sent)
        assert until(lambda: len(echo.server.server_state.connections) == 1)
        began = time.monotonic()
        echo.stop()
        answers = answers_of(client)
        seconds = time.monotonic() - began

    assert [each.saw for each in answers] == [4080] * bool(sent)
    assert seconds < ServerSettings().head_timeout_seconds / 2


def test_running_requests_are_answered_at_a_stop() -> None:
    """A stop waits for the answer of a running request."""
    with running_echo() as echo, connected(echo.url) as client:
        client.sendall(SLOW + SLOW)
        assert until(lambda: len(echo.server.server_state.tasks) == 1)
        echo.stop()
        answers = answers_of(client)

    assert [each.saw for each in answers] == ["/slow", "/slow"]
    assert [each.headers.get("connection") for each in answers] == [None, "close"]


def test_requests_of_a_client_that_left_are_not_started(caplog: pytest.LogCaptureFixture) -> None:
    """During a stop, queued requests of a disconnected client do not start. No error is logged."""
    with running_echo() as echo:
        with connected(echo.url) as client:
            client.sendall(SLOW * 3)
            assert until(lambda: len(echo.server.server_state.tasks) == 1)
        assert until(lambda: not echo.server.server_state.tasks)
        answered = echo.server.server_state.total_requests

    assert answered < 3
    assert caplog.records == []


def test_a_server_without_connections_stops_at_once() -> None:
    """Without connections, a server stops at once."""
    with running_echo() as echo:
        exchange(echo.url, LAST)
        began = time.monotonic()
    seconds = time.monotonic() - began

    assert seconds < 1.5


async def stop_behind_callers(
    listening: socket.socket, is_inherited: bool = False
) -> list[socket.socket]:
    """Open connections with one request each, stop the server at once, and return the client
    sockets.
    """
    server = GatewayServer(echo_app(), ServerSettings(), is_inherited=is_inherited)
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup([listening])
    callers = [socket.create_connection(listening.getsockname()) for _ in range(CALLERS)]
    for client in callers:
        client.settimeout(20.0)
        client.sendall(REQUEST)
    await server.shutdown([listening])
    return callers


async def test_connections_before_a_stop_are_accepted() -> None:
    """Connections that the kernel completed before a stop are accepted and answered."""
    callers = await stop_behind_callers(bind("127.0.0.1", 0))
    seen = [[each.saw for each in answers_of(client)] for client in callers]
    for client in callers:
        client.close()

    assert seen == [["/a"]] * CALLERS


async def test_an_inherited_socket_keeps_waiting_connections() -> None:
    """At a stop, waiting connections of an inherited socket stay for the next server."""
    with bind("127.0.0.1", 0) as kept:
        callers = await stop_behind_callers(kept.dup(), is_inherited=True)
        answered, _, _ = select.select(callers, [], [], 0)
        with running(echo_app(), kept.dup(), is_inherited=True) as successor:
            successor.server.should_exit = True
            seen = [[each.saw for each in answers_of(client)] for client in callers]
        for client in callers:
            client.close()

    assert answered == []
    assert seen == [["/a"]] * CALLERS


def test_one_read_waits_behind_a_request() -> None:
    """While a request runs, at most one read of further bytes is buffered. All requests are
    answered.
    """
    with running_echo() as echo, connected(echo.url) as client:
        send(client, SLOW + REQUEST * 5000 + LAST)
        assert until(lambda: len(echo.server.server_state.tasks) == 1)
        (connection,) = echo.server.server_state.connections
        assert isinstance(connection, Connection)
        is_full = until(lambda: len(connection.waiting) == READ_BYTES)
        answers = answers_of(client)

    assert is_full
    assert [answer.saw for answer in answers] == ["/slow", *["/a"] * 5001]


def test_an_ignored_hangup_stays_ignored() -> None:
    """A process that `nohup` started continues after SIGHUP, and ends at SIGTERM."""
    program = IGNORING + HANGING.replace("await asyncio.Event().wait()", "")
    process = subprocess.Popen(  # noqa: S603  (our own program)
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["starts\n", "serves\n"]
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
        process.send_signal(signal.SIGTERM)
        status = process.wait(20.0)
    finally:
        process.kill()
        process.communicate()

    assert status == 0


def test_a_hanging_shutdown_is_ended() -> None:
    """A process whose application hangs ends shortly after `shutdown_seconds`."""
    process = subprocess.Popen(  # noqa: S603  (our own program)
        [sys.executable, "-c", HANGING], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["starts\n", "serves\n"]
        process.send_signal(signal.SIGTERM)
        said = process.stdout.readline()
        status = process.wait(20.0)
    finally:
        process.kill()
        process.communicate()

    assert (said, status) == ("stops\n", 0)
