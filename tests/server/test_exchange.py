"""Tests of the answers that an ASGI application sends through a connection."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.server.connection import Connection
from gateway.server.limits import Edge
from gateway.server.running import GatewayServer
from gateway.settings.model import ServerSettings
from gateway.web.pages import CHUNK_BYTES
from tests.server.stage import REQUEST, settled
from tests.server.transport import Held, receive

LENGTH = (b"content-length", b"2")
Headers = Sequence[tuple[bytes, bytes]]


class Recorded(Held):
    """Transport that counts writes."""

    writes = 0

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes | bytearray | memoryview] = []
        """Objects that the connection wrote without joining."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes += 1
        super().write(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.parts += list_of_data
        super().writelines(self.parts)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Disable the log of uvicorn, because applications fail on purpose in these tests."""
    logger = logging.getLogger("uvicorn.error")
    logger.disabled = True
    yield
    logger.disabled = False


async def answered(
    app: ASGIApp, request: bytes = REQUEST % 1, transport: Recorded | None = None
) -> Recorded:
    """Returns the response to a request as a client receives the response."""
    settings = ServerSettings()
    server = GatewayServer(app, settings)
    server.config.load()
    loop, edge = asyncio.get_running_loop(), Edge(settings)
    connection = Connection(server.config, server.server_state, {}, loop, edge=edge)
    transport = transport or Recorded()
    transport.set_protocol(connection)
    connection.connection_made(transport)
    receive(connection, request)
    await settled()
    return transport


def sending(*messages: Message) -> ASGIApp:
    """Application that sends these ASGI messages."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(dict(message))

    return app


def start(*headers: tuple[bytes, bytes], status: int = 200) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def part(body: bytes, *, is_last: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": not is_last}


async def test_head_and_body_are_written_at_once() -> None:
    """Head and body of an answer are sent in one write, and the connection stays open."""
    seen = await answered(sending(start(LENGTH, (b"etag", b'"a"')), part(b"{}")))

    assert seen.written == b'HTTP/1.1 200 OK\r\ncontent-length: 2\r\netag: "a"\r\n\r\n{}'
    assert seen.writes == 1
    assert (seen.has_ended, seen.is_closed) == (False, False)


async def test_a_large_part_is_not_copied() -> None:
    """Large parts of a body are written without a copy, so many clients share the bytes of a
    file.
    """
    chunk = bytes(CHUNK_BYTES)
    length = (b"content-length", b"%d" % len(chunk))

    seen = await answered(sending(start(length), part(chunk)))

    assert seen.parts[-1] is chunk
    assert seen.written.endswith(chunk)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([start(), part(b"{}")], b"2\r\n{}\r\n0\r\n\r\n", id="no length"),
        pytest.param([start(), part(b"")], b"0\r\n\r\n", id="no length and no body"),
        pytest.param(
            [start(), part(b"a", is_last=False), part(b"", is_last=False), part(b"bc")],
            b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
            id="parts",
        ),
        pytest.param(
            [start((b"transfer-encoding", b"chunked")), part(b"{}")],
            b"2\r\n{}\r\n0\r\n\r\n",
            id="chunked",
        ),
    ],
)
async def test_a_body_of_unknown_length_is_sent_in_chunks(
    messages: Sequence[Message], expected: bytes
) -> None:
    """Each part of a body of unknown length is one chunk. An empty part sends nothing."""
    seen = await answered(sending(*messages))

    assert seen.written == b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + expected
    assert not seen.has_ended


@pytest.mark.parametrize(
    ("method", "status", "headers", "expected"),
    [
        pytest.param(b"HEAD", 200, [LENGTH], b"200 OK\r\ncontent-length: 2\r\n\r\n", id="HEAD"),
        pytest.param(b"HEAD", 200, [], b"200 OK\r\n\r\n", id="HEAD without length"),
        pytest.param(b"GET", 204, [], b"204 No Content\r\n\r\n", id="204"),
        pytest.param(b"GET", 304, [], b"304 Not Modified\r\n\r\n", id="304"),
    ],
)
async def test_an_answer_without_a_body_ends_with_its_head(
    method: bytes, status: int, headers: Headers, expected: bytes
) -> None:
    """A response to HEAD ends with its head, even if the application sends a body."""
    body = b"{}" if method == b"HEAD" else b""
    app = sending(start(*headers, status=status), part(body))
    seen = await answered(app, (REQUEST % 1).replace(b"GET", method))

    assert seen.written == b"HTTP/1.1 " + expected
    assert not seen.has_ended


async def test_an_application_can_close_the_connection() -> None:
    """With `Connection: close` from the application, the header is sent once and the connection
    ends.
    """
    seen = await answered(sending(start(LENGTH, (b"connection", b"close")), part(b"{}")))

    assert seen.written.count(b"connection: close\r\n") == 1
    assert seen.has_ended


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([start((b"content-length", b"3")), part(b"{}")], id="short of its length"),
        pytest.param([start((b"content-length", b"1")), part(b"{}")], id="past its length"),
        pytest.param([start(LENGTH, (b"x", b"a\r\nb: c")), part(b"{}")], id="a line in a line"),
        pytest.param([start(LENGTH, (b"x", b"a\nb")), part(b"{}")], id="a bare line feed"),
        pytest.param([start(LENGTH, (b"x", b"a\rb")), part(b"{}")], id="a bare return"),
        pytest.param([start(LENGTH, (b"x", b"a\0b")), part(b"{}")], id="a null"),
        pytest.param([start(LENGTH, (b"x\n", b"a")), part(b"{}")], id="a line feed in a name"),
        pytest.param([start(LENGTH)], id="no body"),
        pytest.param([part(b"{}")], id="no head"),
        pytest.param([], id="nothing"),
        pytest.param([{"type": "http.response.trailers"}], id="an unknown message"),
    ],
)
async def test_an_invalid_answer_is_500(messages: Sequence[Message]) -> None:
    """An invalid answer of the application gets 500, and the connection closes."""
    seen = await answered(sending(*messages))

    assert seen.written.startswith(b"HTTP/1.1 500 ")
    assert seen.written.endswith(b"connection: close\r\n\r\nInternal Server Error")
    assert seen.has_ended


@pytest.mark.parametrize("begun", [[], [start(LENGTH)]], ids=["before", "after its head"])
async def test_an_application_that_fails_before_its_body_is_500(begun: Sequence[Message]) -> None:
    """If the application fails before the body, the client gets 500."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await sending(*begun)(scope, receive, send)
        raise ZeroDivisionError

    seen = await answered(app)

    assert seen.written.startswith(b"HTTP/1.1 500 ")
    assert seen.has_ended


@pytest.mark.parametrize("fails", [True, False], ids=["raises", "returns"])
async def test_an_answer_that_stops_in_its_body_ends_the_connection(fails: bool) -> None:
    """If the application fails within the body, the connection ends without the last chunk."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await sending(start(), part(b"a", is_last=False))(scope, receive, send)
        if fails:
            raise ZeroDivisionError

    seen = await answered(app)

    assert seen.written.endswith(b"\r\n\r\n1\r\na\r\n")
    assert seen.is_closed


OLD_REQUEST = b"GET / HTTP/1.0\r\nhost: a\r\n\r\n"


async def test_a_body_of_unknown_length_ends_with_its_connection_in_http_1_0() -> None:
    """In HTTP/1.0, which has no chunks, a body of unknown length ends with the connection."""
    app = sending(start(), part(b"a", is_last=False), part(b"bc"))

    seen = await answered(app, OLD_REQUEST)

    assert seen.written.endswith(b"connection: close\r\n\r\nabc")
    assert b"transfer-encoding" not in seen.written
    assert (seen.has_ended, seen.is_aborted) == (True, False)


async def test_a_failed_http_1_0_body_ends_with_a_reset() -> None:
    """If the application fails within an HTTP/1.0 body, the connection is reset."""
    seen = await answered(sending(start(), part(b"a", is_last=False)), OLD_REQUEST)

    assert seen.is_aborted
    assert not seen.has_ended


async def test_sending_stops_after_the_client_left() -> None:
    """After the client disconnected, `send` stops an application that sends further parts."""
    parts: list[bytes] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        for each in (b"a", b"b", b"c"):
            parts.append(each)
            await send(part(each, is_last=False))
            transport.lose()

    transport = Recorded()
    await answered(app, transport=transport)

    assert parts == [b"a", b"b"]


async def test_a_second_answer_closes_the_connection() -> None:
    """If an application sends a second answer to a request, the connection closes."""
    seen = await answered(sending(start(LENGTH), part(b"{}"), part(b"{}")))

    assert seen.written.count(b"HTTP/1.1 ") == 1
    assert seen.is_closed
