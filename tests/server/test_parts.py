"""Tests of streamed bodies over sockets, and of bodies that end too early."""

import http.client
import shutil
import socket
import subprocess
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, closing, contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from gateway.server.running import GatewayServer, in_background
from gateway.server.sockets import bind
from gateway.settings.model import ServerSettings
from gateway.web.answers import Answer
from gateway.web.frame import Frame
from gateway.web.request import Request

PART = b"x" * 65_536
CURL = shutil.which("curl") or ""
WAIT_SECONDS = 30.0
"""Maximum seconds that a test waits. The expected event comes within a second."""


class Parts:
    """Application whose body has `count` parts and then fails. The body of `/whole` is complete."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made = 0
        self.has_ended = threading.Event()

    async def respond(self, request: Request) -> Answer:
        return Answer(200, (), self.body(is_whole=request.event.path == "/whole"))

    async def body(self, *, is_whole: bool) -> AsyncGenerator[bytes]:
        try:
            for _ in range(self.count):
                self.made += 1
                yield PART
            if not is_whole:
                raise ZeroDivisionError
        finally:
            self.has_ended.set()


@contextmanager
def serving(parts: Parts, **settings: object) -> Iterator[str]:
    given = ServerSettings.model_validate(settings)
    server = GatewayServer(Frame(parts.respond, given), given)
    with in_background(server, bind("127.0.0.1", 0)) as url:
        yield url


def curl(url: str, *options: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(  # noqa: S603 - a tool of the system
        [CURL, "-s", *options, url], capture_output=True, check=False, timeout=WAIT_SECONDS
    )


needs_curl = pytest.mark.skipif(not CURL, reason="needs curl")


@pytest.mark.parametrize("count", [1, 40])
def test_a_streamed_body_arrives_whole(count: int) -> None:
    """A body of any length in chunks arrives complete."""
    with serving(Parts(count)) as url:
        answer = httpx.get(f"{url}/whole")

    assert answer.content == count * PART
    assert answer.headers["transfer-encoding"] == "chunked"


@pytest.mark.parametrize("count", [1, 40])
def test_a_broken_body_is_an_error_for_the_client(count: int) -> None:
    """A body that stops early has no last chunk, and its connection is reset."""
    with serving(Parts(count)) as url, pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        httpx.get(url)


@needs_curl
@pytest.mark.parametrize("version", ["--http1.1", "--http1.0"])
@pytest.mark.parametrize("count", [1, 40])
def test_curl_sees_that_a_body_breaks_off(version: str, count: int) -> None:
    """curl reports an error for an incomplete body, in HTTP/1.1 and in HTTP/1.0."""
    with serving(Parts(count)) as url:
        whole, broken = curl(f"{url}/whole", version), curl(url, version)

    assert (whole.returncode, whole.stdout) == (0, count * PART)
    assert broken.returncode in (18, 56)  # partial file, failure in receiving


@contextmanager
def silent_client(url: str) -> Iterator[socket.socket]:
    """Client that has read only the status of its answer."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), WAIT_SECONDS) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
        yield client


def is_whole(client: socket.socket) -> bool:
    """True if the unread bytes end with the last chunk."""
    read = b""
    try:
        while part := client.recv(1_000_000):
            read = (read + part)[-100:]
    except ConnectionResetError:
        return False
    return read.endswith(b"0\r\n\r\n")


def test_parts_stop_for_a_client_that_does_not_read() -> None:
    """A client that does not read is disconnected at the deadline. The application makes no
    further parts.
    """
    parts = Parts(10_000)
    with serving(parts, answer_timeout_seconds=0.3) as url, silent_client(url) as client:
        assert parts.has_ended.wait(WAIT_SECONDS)
        made = parts.made

        assert made < 200
        assert not is_whole(client)
        assert parts.made == made


def test_parts_stop_when_the_client_leaves() -> None:
    """After a client disconnects, the application makes no further parts."""
    parts = Parts(10_000)
    with serving(parts) as url:
        with silent_client(url):
            pass

        assert parts.has_ended.wait(WAIT_SECONDS)
        assert parts.made < 200


@contextmanager
def asking(url: str, path: str) -> Iterator[http.client.HTTPResponse]:
    """Response whose body the client has not read."""
    address = urlsplit(url)
    client = http.client.HTTPConnection(address.hostname or "", address.port, WAIT_SECONDS)
    client.request("GET", path)
    with closing(client), client.getresponse() as answer:
        yield answer


def test_a_stop_breaks_an_unfinished_body() -> None:
    """A stop cuts off an unfinished body after `shutdown_seconds`, without the last chunk."""
    parts = Parts(10_000)
    with ExitStack() as clients:
        with serving(parts, shutdown_seconds=0.3) as url:
            answer = clients.enter_context(asking(url, "/whole"))

        assert parts.has_ended.wait(WAIT_SECONDS)
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            answer.read()


def test_a_stop_waits_for_a_body_being_read() -> None:
    """A stop waits until the client has read a body that the server is sending."""
    read: list[bytes] = []
    with ExitStack() as clients:
        with serving(Parts(100)) as url:
            answer = clients.enter_context(asking(url, "/whole"))
            reader = threading.Thread(target=lambda: read.append(answer.read()))
            reader.start()
        reader.join()

    assert read == [100 * PART]
