"""Answers in one write: what may go that way, and that it says the same."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, cast

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl

from gateway.server.cycles import JoinedCycle, _lines

OK = b"HTTP/1.1 200 OK\r\n"
Headers = Sequence[tuple[bytes, bytes]]


def test_a_whole_answer_has_one_head() -> None:
    """Every header line, then an empty one."""
    head = _lines(OK, [(b"content-length", b"2"), (b"etag", b'"a"')], 2)

    assert head == OK + b'content-length: 2\r\netag: "a"\r\n\r\n'


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([], id="no length"),
        pytest.param([(b"content-length", b"3")], id="another length"),
        pytest.param([(b"content-length", b"2"), (b"connection", b"close")], id="connection"),
        pytest.param([(b"transfer-encoding", b"chunked")], id="chunked"),
        pytest.param([(b"content-length", b"2"), (b"x", b"a\r\nb: c")], id="a line in a line"),
        pytest.param([(b"content-length", b"2"), (b"x", b"a\nb")], id="a bare line feed"),
        pytest.param([(b"content-length", b"2"), (b"x", b"a\rb")], id="a bare return"),
        pytest.param([(b"content-length", b"2"), (b"x", b"a\0b")], id="a null"),
    ],
)
def test_what_is_out_of_the_ordinary_goes_the_other_way(headers: Headers) -> None:
    """uvicorn's own code checks and sends it."""
    assert _lines(OK, headers, 2) is None


class Recorded(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


async def answered(app: ASGIApp) -> Recorded:
    """The answer as a client sees it."""
    transport = Recorded()
    cycle = JoinedCycle(
        scope=cast(Any, {"type": "http", "method": "GET", "headers": []}),
        transport=transport,
        flow=FlowControl(transport),
        logger=logging.getLogger("none"),
        access_logger=logging.getLogger("none"),
        access_log=False,
        default_headers=[],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=True,
        on_response=lambda: None,
    )
    await cycle.run_asgi(cast(Any, app))
    return transport


START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}


async def test_head_and_body_go_together() -> None:
    """An answer is written at once, and the connection stays."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"{}"})

    seen = await answered(app)

    assert seen.written == b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    assert not seen.is_closed


@pytest.mark.parametrize("fails", [True, False], ids=["raises", "returns"])
async def test_an_answer_that_stops_after_its_head(fails: bool) -> None:
    """No head is sent of an answer that fails before its body: it is 500, and the end."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        if fails:
            raise ZeroDivisionError

    seen = await answered(app)

    assert seen.written.startswith(b"HTTP/1.1 500 ")
    assert seen.is_closed
