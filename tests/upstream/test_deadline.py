"""Answers that keep coming, but too slowly, from a real socket."""

import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from gateway.config import GoogleSettings
from gateway.errors import GatewayError, UpstreamTimeout, WriteOutcomeUnknown
from gateway.upstream.google import GoogleSheets, open_google
from tests.upstream.google_fake import KeyFile


@contextmanager
def dripping() -> Iterator[str]:
    """A server that gives tokens at once, and every other answer a byte at a time for ever."""
    ended = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection:
            head = connection.recv(65_536)
            if head.startswith(b"POST /token"):
                token = b'{"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}'
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + token)
                return
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not ended.wait(0.05):
                connection.sendall(b"x")

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,)).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


CALLS: Mapping[str, Callable[[GoogleSheets], Awaitable[object]]] = {
    "read": lambda sheets: sheets.list_worksheets("book"),
    "write": lambda sheets: sheets.append_rows("book", "'T'!A2", [["x"]]),
}


@pytest.mark.parametrize(
    ("name", "expected"), [("read", UpstreamTimeout), ("write", WriteOutcomeUnknown)]
)
async def test_a_dripping_head_ends_at_the_deadline(
    key_file: KeyFile, name: str, expected: type[GatewayError]
) -> None:
    """The whole call has a deadline, whatever the server sends in the meantime."""
    with dripping() as url:
        settings = GoogleSettings(
            endpoint=url,
            credentials=key_file(token_uri=f"{url}/token"),
            read_timeout_seconds=0.3,
            write_timeout_seconds=0.3,
        )
        async with open_google(settings) as sheets:
            call = CALLS[name](sheets)
            started = time.monotonic()
            with pytest.raises(expected):
                await call
            seconds = time.monotonic() - started

    assert seconds < 4
