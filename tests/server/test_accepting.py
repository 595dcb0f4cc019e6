"""Tests of `Acceptor`, which accepts connections in batches."""

import asyncio
import errno
import socket
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from gateway.server.accepting import BATCH, Acceptor
from gateway.server.limits import PER_TURN
from gateway.server.running import GatewayServer, in_background
from gateway.server.sockets import bind
from gateway.settings.model import ServerSettings
from tests.server.stage import settled
from tests.server.wire import answers_of, connected

CROWD, PIPELINED = 150, 50
REQUEST = b"GET /crowd HTTP/1.1\r\nHost: gateway\r\n\r\n"
LAST = b"GET /newcomer HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"
NO_DESCRIPTORS = OSError(errno.EMFILE, "Too many open files")


@dataclass
class Listening:
    """Fake listening socket. `waiting` has None for a connection, or the error of `accept`."""

    waiting: list[OSError | None]
    is_closed: bool = False

    def setblocking(self, is_blocking: bool) -> None:
        """Do nothing, because this socket never blocks."""

    def accept(self) -> tuple[socket.socket, object]:
        if not self.waiting:
            raise BlockingIOError
        found = self.waiting.pop(0)
        if found is not None:
            raise found
        return socket.socket(), None

    def close(self) -> None:
        self.is_closed = True


@dataclass
class Loop:
    """Fake of the event loop's methods that an `Acceptor` uses."""

    called: list[Callable[[], None]] = field(default_factory=list)
    connected: int = 0

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.called.append(callback)

    def create_task(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        return asyncio.get_running_loop().create_task(work)

    async def connect_accepted_socket(self, make: object, accepted: socket.socket) -> None:
        accepted.close()
        self.connected += 1


class Accepting:
    """`Acceptor` with one fake listening socket."""

    def __init__(self, waiting: Sequence[OSError | None]) -> None:
        self.loop, self.listening = Loop(), Listening(list(waiting))
        listening, loop = cast(Any, self.listening), cast(Any, self.loop)
        self.acceptor = Acceptor([listening], asyncio.Protocol, loop)

    async def look(self) -> int:
        """Report a new connection, run one iteration of the loop, and return the number of all
        connections.
        """
        self.acceptor.look_soon()
        self.loop.called.pop()()
        await settled()
        return self.loop.connected


async def test_waiting_connections_are_accepted_in_batches() -> None:
    """Each new connection causes one batch of accepts in the next iteration of the event loop."""
    accepting = Accepting([None] * (BATCH + 1))

    assert [await accepting.look() for _ in range(3)] == [BATCH, BATCH + 1, BATCH + 1]


async def test_accepting_is_scheduled_once_per_turn() -> None:
    """Many new connections schedule one accept call per iteration of the event loop."""
    accepting = Accepting([None])
    for _ in range(3):
        accepting.acceptor.look_soon()

    assert len(accepting.loop.called) == 1


async def test_accepting_stops_without_file_descriptors() -> None:
    """Without free file descriptors, accepting stops. The next new connection starts it again."""
    accepting = Accepting([NO_DESCRIPTORS, None])

    assert [await accepting.look() for _ in range(2)] == [0, 1]
    assert accepting.loop.called == []


@pytest.mark.parametrize("most", [0, 2 * BATCH], ids=["inherited", "own"])
async def test_the_stop_accepts_waiting_connections(most: int) -> None:
    """A stop accepts up to the given number of waiting connections, and closes the socket."""
    accepting = Accepting([None] * (2 * BATCH))
    await accepting.acceptor.end(most)

    assert accepting.loop.connected == most
    assert accepting.listening.is_closed
    assert await accepting.look() == most


async def test_a_connection_that_fails_is_logged() -> None:
    """A connection that fails after `accept` is logged and closed. Other connections continue."""
    accepting = Accepting([None, None])
    accepting.loop.connect_accepted_socket = failing  # type: ignore[method-assign]
    with capture_logs() as logged:
        await accepting.look()

    assert [each["event"] for each in logged] == ["fault", "fault"]


async def failing(make: object, accepted: socket.socket) -> None:
    raise OSError(errno.EINVAL, "gone")


class Noting:
    """Application that records the paths of requests in the order of the answers."""

    def __init__(self) -> None:
        self.answered: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for each in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{each}.complete"})
            return
        self.answered.append(scope["path"])
        length = (b"content-length", b"2")
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": b"{}"})


@pytest.fixture
def crowded() -> Iterator[tuple[Noting, socket.socket]]:
    """Listening socket on which 150 clients wait, each with 50 pipelined requests."""
    with bind("127.0.0.1", 0) as listening, ExitStack() as crowd:
        for _ in range(CROWD):
            member = crowd.enter_context(socket.create_connection(listening.getsockname()))
            member.sendall(REQUEST * PIPELINED)
        yield Noting(), listening


def test_a_new_connection_is_served_before_pipelined_requests(
    crowded: tuple[Noting, socket.socket],
) -> None:
    """A new connection waits for one request of each pipelining connection, not for all
    requests.
    """
    app, listening = crowded
    host, port = listening.getsockname()
    with connected(f"http://{host}:{port}") as newcomer:
        newcomer.sendall(LAST)
        server = GatewayServer(app, ServerSettings())
        with in_background(server, listening):
            (answer,) = answers_of(newcomer)

    assert answer.status == 200
    assert app.answered.index("/newcomer") <= CROWD + 4 * PER_TURN
