"""Requests of hundreds of megabytes are refused early, in little memory, while others are
served.
"""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.journeys.conftest import KEYS, EmulatorControl, KeysOnDisk, make_keys
from tests.journeys.flood import flood
from tests.journeys.standalone import Standalone, standing_alone
from tests.server.wire import connected, exchange, send

MB = 1_000_000
MOST_GROWTH_BYTES = 64 * MB
SOCKETS = 500
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the memory is read as Linux tells it"
)

GET = b"GET /v2/sheets/Cities"
HOST = b"Host: gateway\r\n"
POST = b"POST /v2/sheets/New HTTP/1.1\r\n" + HOST
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
CLOSE = b"Connection: close\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n"
KEY = b"@KEY@"
"""Placeholder for the header line of a key that can write."""

# What begins, what goes on for how many megabytes, and the status of the answer; 0 for none.
FLOODS = {
    "a line": (GET + b" HTTP/1.1\r\n" + HOST + b"X: ", b"x", 200, 431),
    "lines": (GET + b" HTTP/1.1\r\n" + HOST, b"X: y\r\n", 200, 431),
    "lines of names": (GET + b" HTTP/1.1\r\n" + HOST, b"x" * 1000 + b":\r\n", 200, 431),
    "a key": (GET + b" HTTP/1.1\r\n" + HOST + b"API-Key: ", b"k", 200, 431),
    "URL": (GET + b"/", b"9", 200, 414),
    "where": (GET + b"?where=", b"%7B%22%24not%22:", 10, 414),
    "where, nested 100,000 deep": (GET + b"?where=", b'{"$not":', 0.8, 414),
    "method": (b"", b"G", 200, 400),
    "blank lines": (b"", b"\r\n", 200, 0),
    "trailers": (POST + KEY + CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: y\r\n", 200, 431),
    "a chunk's extension": (POST + KEY + CHUNKED + b"2;x=", b"y", 200, 413),
    "chunks": (POST + KEY + CHUNKED, CHUNK, 300, 413),
    "chunks of a byte": (POST + KEY + CHUNKED, b"1\r\nx\r\n", 300, 413),
    "chunks of nobody": (POST + CHUNKED, CHUNK, 300, 401),
    "chunks to a wrong route": (POST.replace(b"v2", b"v9") + CHUNKED, CHUNK, 300, 404),
    "a body of a length": (POST + KEY + LENGTH % (300 * MB), b"x", 300, 413),
    "a body of a length of nobody": (POST + LENGTH % (300 * MB), b"x", 300, 401),
}


@pytest.fixture(scope="module")
def alone(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Standalone]:
    """A gateway in its own process, whose memory the tests measure."""
    emulator.reset()
    settings = {
        "access.failures_per_minute": 0,
        "plans.paid.requests_per_minute": 0,
        "server.head_timeout_seconds": 2,
        "server.body_timeout_seconds": 2,
    }
    folder = tmp_path_factory.mktemp("alone")
    with standing_alone(folder, emulator, access, settings) as gateway:
        assert gateway.api.names("Cities", limit="1") == ["New York"]
        yield gateway


@contextmanager
def others(gateway: Standalone) -> Iterator[Sequence[int]]:
    """Requests of another client during the block, at least one. Yields their statuses."""
    statuses: list[int] = []
    is_over = threading.Event()

    def ask() -> None:
        while not statuses or not is_over.is_set():
            statuses.append(gateway.api.get("Cities", params={"limit": "1"}).status_code)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield statuses
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_refused_without_memory(alone: Standalone, name: str) -> None:
    """A flood is refused as soon as it exceeds a limit; other clients are served meanwhile."""
    start, unit, megabytes, status = FLOODS[name]
    key = f"Authorization: {alone.api.keys['paid']}\r\n".encode()
    alone.forget_peak()
    before = alone.resident_bytes()

    with others(alone) as statuses:
        flooded = flood(alone.api.url, start.replace(KEY, key), unit, round(megabytes * MB))

    assert flooded.status == status
    assert alone.peak_bytes() - before <= MOST_GROWTH_BYTES
    assert set(statuses) == {200}
    assert alone.api.emulator.texts("New") == [["name", "state", "country", "population"]]


LIVE = b"GET /livez HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n"
INCOMPLETE_HEADS = {
    "tiny lines": GET + b" HTTP/1.1\r\n" + HOST + b"a:\r\n" * 8000,
    "as many lines as are taken": GET + b" HTTP/1.1\r\n" + HOST + (b"x" * 300 + b":\r\n") * 98,
    "a line": GET + b" HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 32_000,
}


@pytest.mark.parametrize("name", INCOMPLETE_HEADS)
def test_many_incomplete_heads_take_little_memory(
    emulator: EmulatorControl, tmp_path: Path, name: str
) -> None:
    """An incomplete request head takes about as much memory as it has bytes."""
    keys = make_keys(tmp_path, {"paid": KEYS["paid"]})
    with ExitStack() as clients, standing_alone(tmp_path, emulator, keys) as gateway:
        gateway.api.names("Cities", limit="1")
        gateway.forget_peak()
        before = gateway.resident_bytes()
        for _ in range(SOCKETS):
            send(clients.enter_context(connected(gateway.api.url)), INCOMPLETE_HEADS[name])
        (behind,) = exchange(gateway.api.url, LIVE)  # whose connection is accepted after them
        growth = gateway.peak_bytes() - before

    assert behind.status == 200
    assert growth <= MOST_GROWTH_BYTES * SOCKETS / 1000


LARGE = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\n" + HOST + b"\r\n"
"""An answer of 1.7 MB, for which no key is needed."""
PIPELINED = {
    "heads of short lines": GET + b" HTTP/1.1\r\n" + HOST + b"a: b\r\n" * 96 + b"\r\n",
    "heads of one line": GET + b" HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 555 + b"\r\n\r\n",
}
MOST_HELD_BYTES = 300 * MB // 4096
"""Limit per connection, so that the maximum of 4,096 connections takes 300 MB."""


@pytest.mark.parametrize("name", PIPELINED)
def test_requests_behind_an_unread_answer_take_little_memory(
    emulator: EmulatorControl, tmp_path: Path, name: str
) -> None:
    """Pipelined requests behind an unread answer stay in the socket buffers of the system."""
    keys = make_keys(tmp_path, {"paid": KEYS["paid"]})
    with ExitStack() as clients, standing_alone(tmp_path, emulator, keys) as gateway:
        gateway.api.names("Cities", limit="1")
        exchange(gateway.api.url, LIVE)
        gateway.forget_peak()
        before = gateway.resident_bytes()
        for number in range(SOCKETS):
            client = clients.enter_context(
                connected(gateway.api.url, source=f"127.0.1.{number % 8 + 1}")
            )
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            send(client, LARGE + PIPELINED[name] * 64)
        answered = client.recv(13)
        (behind,) = exchange(gateway.api.url, LIVE)
        growth = gateway.peak_bytes() - before

    assert (behind.status, answered) == (200, b"HTTP/1.1 200 ")
    assert growth <= MOST_HELD_BYTES * SOCKETS


def test_one_address_does_not_block_others(emulator: EmulatorControl, tmp_path: Path) -> None:
    """While one address holds its maximum of incomplete heads, another address is served."""
    keys = make_keys(tmp_path, {"paid": KEYS["paid"]})
    settings = {"server.max_connections": 200}
    with ExitStack() as clients, standing_alone(tmp_path, emulator, keys, settings) as gateway:
        seen = []
        for _ in range(20):
            for _ in range(20):
                greedy = clients.enter_context(connected(gateway.api.url, source="127.0.0.2"))
                send(greedy, INCOMPLETE_HEADS["a line"][:1000])
            seen += [answer.status for answer in exchange(gateway.api.url, LIVE)]

    assert seen == [200] * 20


def test_the_memory_check_sees_an_allowed_large_body(
    emulator: EmulatorControl, tmp_path: Path
) -> None:
    """Control: an allowed large body raises the measured memory."""
    keys = make_keys(tmp_path, {"paid": KEYS["paid"]})
    with standing_alone(tmp_path, emulator, keys, {"server.max_body_bytes": 300 * MB}) as gateway:
        key = f"Authorization: {gateway.api.keys['paid']}\r\n".encode()
        gateway.forget_peak()
        before = gateway.resident_bytes()
        flooded = flood(gateway.api.url, POST + key + CLOSE + LENGTH % (150 * MB), b"x", 150 * MB)
        growth = gateway.peak_bytes() - before

    assert flooded.status == 400
    assert growth > MOST_GROWTH_BYTES
