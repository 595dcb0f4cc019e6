"""Answers that arrive too slowly, over real sockets."""

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

import pytest

from gateway.errors import (
    GatewayError,
    UpstreamTimeout,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.google.calls import GoogleSheets
from gateway.google.sheets import Fence
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import KeyFile
from tests.stand_in import open_client, open_google


@contextmanager
def dripping() -> Iterator[str]:
    """Run a server whose first answer never ends; tokens and later answers come at once."""
    ended, is_first = threading.Event(), iter([True])

    def answer(connection: socket.socket) -> None:
        with connection:
            if _read_request(connection).startswith(b"POST /token"):
                token = b'{"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}'
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + token)
                return
            if not next(is_first, False):
                connection.sendall(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"sheets": []}')
                return
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            with suppress(ConnectionError):
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
    "write": lambda sheets: sheets.put_fence("book", Fence.random("gw")),
}


def _read_request(connection: socket.socket) -> bytes:
    """Read a whole request, as closing earlier resets the connection; return its first line."""
    with connection.makefile("rb") as received:
        first, length = received.readline(), 0
        while (line := received.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        received.read(length)
    return first


@pytest.mark.parametrize(
    ("name", "expected"), [("read", UpstreamTimeout), ("write", WriteOutcomeUnknown)]
)
async def test_an_endless_header_ends_at_the_deadline(
    key_file: KeyFile, name: str, expected: type[GatewayError]
) -> None:
    """A call with an endless response header ends at the deadline and frees its connection."""
    with dripping() as url:
        settings = GoogleSettings(
            endpoint=url,
            credentials=key_file(token_uri=f"{url}/token"),
            max_connections=1,
            read_timeout_seconds=0.3,
            write_timeout_seconds=0.3,
        )
        async with open_google(settings) as sheets:
            call = CALLS[name](sheets)
            started = time.monotonic()
            with pytest.raises(expected):
                await call
            seconds = time.monotonic() - started
            next_one = await sheets.list_worksheets("book")

    assert seconds < 1
    assert next_one == []


async def test_a_write_that_finds_no_connection_is_not_sent(key_file: KeyFile) -> None:
    """If no connection is free until the deadline, a write fails with `not_applied`."""
    with dripping() as url:
        settings = GoogleSettings(
            endpoint=url,
            credentials=key_file(token_uri=f"{url}/token"),
            max_connections=1,
            read_timeout_seconds=0.5,
            write_timeout_seconds=0.1,
        )
        async with open_client(settings) as client:
            await client.sign_in()
            sheets = GoogleSheets(client.make)
            slow = asyncio.create_task(sheets.list_worksheets("book"))
            await asyncio.sleep(0.1)
            with pytest.raises(UpstreamUnreachable) as caught:
                await CALLS["write"](sheets)
            with pytest.raises(UpstreamTimeout):
                await slow

    assert caught.value.outcome == "not_applied"


async def test_a_cancelled_call_frees_its_connection(key_file: KeyFile) -> None:
    """A cancelled call ends at once, so the next call can use the connection."""
    with dripping() as url:
        settings = GoogleSettings(
            endpoint=url, credentials=key_file(token_uri=f"{url}/token"), max_connections=1
        )
        async with open_client(settings) as client:
            await client.sign_in()
            sheets = GoogleSheets(client.make)
            slow = asyncio.create_task(sheets.list_worksheets("book"))
            await asyncio.sleep(0.1)
            slow.cancel()
            async with asyncio.timeout(5):
                next_one = await sheets.list_worksheets("book")

    assert next_one == []
