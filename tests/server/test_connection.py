"""Tests of a connection without a network: its reads, its answers, and its end."""

import pytest

from gateway.server.limits import DRAIN_SECONDS, LINGER_SECONDS, MAX_REFUSED, READ_BYTES, Edge
from gateway.server.unread import MIN_READ_BYTES
from gateway.settings.model import ServerSettings
from tests.server.conftest import ServeEcho
from tests.server.stage import BODY, LAST, REQUEST, UPLOAD, Stage, answers_in, settled
from tests.server.transport import receive
from tests.server.wire import exchange

ANSWER_SECONDS = 30.0


@pytest.mark.parametrize(
    ("sent", "began"),
    [
        pytest.param(REQUEST % 1, ["/1"], id="a request"),
        pytest.param(REQUEST % 1 + REQUEST % 2, ["/1", "/2"], id="two requests"),
        pytest.param(REQUEST % 1 + b"GET /2", ["/1"], id="half a head behind it"),
        pytest.param(REQUEST % 1 + UPLOAD % 2, ["/1"], id="half a body behind it"),
        pytest.param(
            REQUEST % 1 + REQUEST % 2 + UPLOAD % 3, ["/1", "/2"], id="half a body behind two"
        ),
        pytest.param(UPLOAD % 1 + b"cde", ["/1"], id="an upload"),
        pytest.param(LAST, ["/9"], id="the last request"),
    ],
)
async def test_complete_requests_are_answered_after_eof(sent: bytes, began: list[str]) -> None:
    """After the client closed its sending side, complete requests are answered. Then the
    connection closes.
    """
    stage = Stage()
    connection, transport = stage.connect()
    receive(connection, sent)
    await settled()
    is_kept = connection.eof_received()
    stage.pass_time(connection, 100.0)
    stage.app.may_answer.set()
    await settled()

    assert is_kept
    assert stage.app.ended == began
    assert answers_in(transport) == len(began)
    assert transport.written.count(b"connection: close\r\n") == 1
    assert (transport.is_closed, transport.is_aborted) == (True, False)


@pytest.mark.parametrize("sent", [b"", b"GET /1", UPLOAD % 1], ids=["nothing", "head", "body"])
async def test_eof_in_an_incomplete_request_gets_no_answer(sent: bytes) -> None:
    """A client that disconnects within a request gets no answer, and the connection ends."""
    stage = Stage()
    connection, transport = stage.connect()
    receive(connection, sent)
    await settled()

    assert not connection.eof_received()
    assert transport.written == b""


async def test_eof_after_an_answer_closes_the_connection() -> None:
    """If the client closes its sending side after an answer, the connection ends."""
    stage = Stage()
    stage.app.may_answer.set()
    connection, transport = stage.connect()
    receive(connection, REQUEST % 1)
    await settled()

    assert not connection.eof_received()
    assert answers_in(transport) == 1


async def test_a_connection_that_was_answered_early_becomes_idle_after_the_body() -> None:
    """If the answer is sent before the body ends, the idle timeout begins after the body."""
    stage = Stage()
    stage.app.reads_body = False
    stage.app.may_answer.set()
    connection, transport = stage.connect()
    receive(connection, UPLOAD % 1)
    await settled()
    was_idle = connection.is_idle
    receive(connection, b"cde")
    is_idle = connection.is_idle
    stage.pass_time(connection, 200)

    assert (answers_in(transport), was_idle, is_idle) == (1, False, True)
    assert transport.is_closed


async def test_no_request_starts_while_an_answer_is_unread() -> None:
    """While an answer waits in the write buffer, no further request of the connection starts."""
    stage = Stage()
    stage.app.may_answer.set()
    connection, transport = stage.connect(room=100)
    receive(connection, REQUEST % 1 + REQUEST % 2)
    await settled()
    began, is_read = list(stage.app.began), transport.is_read
    transport.take(len(BODY) * 2)
    await settled()

    assert (began, is_read) == (["/1"], False)
    assert stage.app.began == ["/1", "/2"]
    assert answers_in(transport) == 2


@pytest.mark.parametrize("room", [1_000_000, 100], ids=["in the making", "not taken"])
async def test_pipelined_requests_wait_for_the_answer(room: int) -> None:
    """Pipelined bytes are parsed only after the previous answer was sent."""
    stage = Stage()
    connection, transport = stage.connect(room)
    behind = REQUEST % 2 + REQUEST % 3
    receive(connection, REQUEST % 1 + behind)
    if room < len(BODY):
        stage.app.may_answer.set()
    await settled()
    kept = connection.waiting
    stage.app.may_answer.set()
    transport.take(len(BODY) * 4)
    await settled()

    assert kept == behind
    assert stage.app.ended == ["/1", "/2", "/3"]
    assert connection.waiting == b""


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
async def test_bytes_after_a_body_wait_unparsed(chunked: bool) -> None:
    """While a request runs, bytes after the end of its body stay unparsed, with each framing."""
    stage = Stage()
    connection, _ = stage.connect()
    parts = [UPLOAD % 1, b"c", b"de"]
    if chunked:
        head = (UPLOAD % 1).replace(b"Content-Length: 5", b"Transfer-Encoding: chunked")
        parts = [head.replace(b"ab", b"2\r\nab"), b"\r\n0\r\n\r", b"\n"]
    for part in parts[:-1]:
        receive(connection, part)
    behind = REQUEST % 2 + REQUEST % 3
    receive(connection, parts[-1] + behind)
    kept = connection.waiting
    stage.app.may_answer.set()
    await settled()

    assert kept == behind
    assert stage.app.ended == ["/1", "/2", "/3"]


async def test_reading_pauses_with_one_read_waiting() -> None:
    """Behind a running request at most one read is buffered. Reading resumes after the answer."""
    stage = Stage()
    connection, transport = stage.connect()
    receive(connection, REQUEST % 1)
    was_read = transport.is_read
    receive(connection, b"\r\n" * (READ_BYTES // 2))
    is_read, kept = transport.is_read, len(connection.waiting)
    stage.app.may_answer.set()
    await settled()

    assert was_read
    assert (is_read, kept) == (False, READ_BYTES)
    assert (transport.is_read, connection.waiting) == (True, b"")


async def test_reading_pauses_while_a_body_is_not_consumed() -> None:
    """Reading pauses while the application has not read the received part of the body."""
    stage = Stage()
    connection, transport = stage.connect()
    receive(connection, (UPLOAD % 1).replace(b"Length: 5", b"Length: 500000"))
    for _ in range(5):
        receive(connection, b"x" * READ_BYTES)
    is_read = transport.is_read
    await settled()

    assert (is_read, transport.is_read) == (False, True)


async def test_head_timeout_starts_after_the_answer() -> None:
    """The deadline of an incomplete head starts when the connection can read the head."""
    stage = Stage()
    connection, transport = stage.connect()
    receive(connection, REQUEST % 1 + (REQUEST % 2)[:-2])
    await settled()
    stage.pass_time(connection, 100.0)
    stage.app.may_answer.set()
    await settled()
    stage.pass_time(connection, connection.edge.settings.head_timeout_seconds - 1)
    receive(connection, b"\r\n")
    await settled()

    assert stage.app.ended == ["/1", "/2"]
    assert (answers_in(transport), transport.is_closed) == (2, False)


async def test_waiting_requests_are_answered_after_eof() -> None:
    """Requests received before a client closes its side are still answered."""
    stage = Stage()
    stage.app.may_answer.set()
    connection, transport = stage.connect(room=100)
    receive(connection, REQUEST % 1 + REQUEST % 2)
    await settled()
    transport.take(len(BODY) * 3)
    is_kept = connection.eof_received()
    await settled()

    assert is_kept
    assert stage.app.ended == ["/1", "/2"]
    assert transport.is_closed


async def test_a_connection_continues_after_a_late_read() -> None:
    """After the client has read an answer late, the connection serves further requests."""
    stage = Stage()
    stage.app.may_answer.set()
    connection, transport = stage.connect(room=100)
    receive(connection, REQUEST % 1)
    await settled()
    was_idle = connection.is_idle
    transport.take(MIN_READ_BYTES)
    stage.pass_time(connection, ANSWER_SECONDS)
    is_idle, is_read = connection.is_idle, transport.is_read
    receive(connection, REQUEST % 2)
    await settled()

    assert (was_idle, is_idle, is_read) == (False, True, True)
    assert answers_in(transport) == 2


@pytest.mark.parametrize("is_stop", [False, True], ids=["connection: close", "stop"])
async def test_the_last_answer_can_be_read_before_lingering(is_stop: bool) -> None:
    """The wait before the close begins when the client has read the last answer."""
    stage = Stage()
    stage.app.may_answer.set()
    connection, transport = stage.connect(room=100)
    receive(connection, REQUEST % 1 if is_stop else LAST)
    await settled()
    if is_stop:
        stage.edge.is_draining = True
        connection.shutdown()
    stage.pass_time(connection, ANSWER_SECONDS - 5)
    is_kept = not transport.is_closed
    transport.take(len(BODY) * 2)
    stage.pass_time(connection, min(DRAIN_SECONDS, LINGER_SECONDS) / 2)
    is_open = not transport.is_closed
    stage.pass_time(connection, max(DRAIN_SECONDS, LINGER_SECONDS))

    assert (is_kept, is_open) == (True, True)
    assert transport.is_closed


async def test_an_unread_last_answer_is_aborted() -> None:
    """If the client does not read the last answer, the connection is aborted at its deadline."""
    stage = Stage()
    stage.app.may_answer.set()
    connection, transport = stage.connect(room=100)
    receive(connection, LAST)
    await settled()
    stage.pass_time(connection, ANSWER_SECONDS)

    assert transport.is_aborted


async def test_a_stop_sends_no_second_refusal() -> None:
    """During a stop, bytes after an unread error answer are ignored and get no second error."""
    stage = Stage()
    connection, transport = stage.connect(room=100)
    receive(connection, b"GET /1 HTTP/1.1\r\nno header\r\n")
    await settled()
    stage.edge.is_draining = True
    connection.shutdown()
    receive(connection, REQUEST % 2)
    transport.take(len(BODY))
    await settled()

    assert transport.written.count(b"HTTP/1.1 400 ") == 1
    assert transport.has_ended


@pytest.mark.parametrize(("version", "asked"), [(b"1.1", 1), (b"1.0", 0)], ids=["1.1", "1.0"])
async def test_only_http_1_1_gets_100_continue(version: bytes, asked: int) -> None:
    """Only HTTP/1.1 clients get `100 Continue`."""
    stage = Stage()
    stage.app.may_answer.set()
    connection, transport = stage.connect()
    expecting = UPLOAD.replace(b"\r\n\r\nab", b"\r\nExpect: 100-continue\r\n\r\n")
    receive(connection, expecting.replace(b"HTTP/1.1", b"HTTP/" + version) % 1)
    await settled()
    receive(connection, b"abcde")
    await settled()

    assert transport.written.count(b"100 Continue") == asked
    assert answers_in(transport) == 1


async def test_connections_far_above_the_limit_are_aborted() -> None:
    """64 connections above the limit get an error answer. Further connections get no answer."""
    stage = Stage(max_connections=2)
    busy = [stage.connect() for _ in range(2)]
    for connection, _ in busy:
        receive(connection, REQUEST % 1)
    refused = [stage.connect() for _ in range(MAX_REFUSED)]
    _, beyond = stage.connect()
    await settled()

    assert {transport.written[:13] for _, transport in refused} == {b"HTTP/1.1 503 "}
    assert (beyond.written, beyond.is_aborted) == (b"", True)


async def test_the_longest_idle_connection_is_closed_first() -> None:
    """A new connection above the limit closes the connection that is idle longest."""
    stage = Stage(max_connections=3)
    stage.app.may_answer.set()
    (first, one), (_, two), (_, three) = (stage.connect() for _ in range(3))
    receive(first, REQUEST % 1)
    await settled()
    stage.connect()
    ended = [transport.is_closed for transport in (one, two, three)]

    assert ended == [False, True, False]


LAST_LONG = b"POST /a HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"


async def test_the_read_size_depends_on_waiting_bytes() -> None:
    """A connection with more unparsed bytes reads less at once. Other connections read as
    before.
    """
    stage = Stage()
    reads = [stage.connect()[0] for _ in range(2)]
    sizes = [len(each.get_buffer(65_536)) for each in reads]
    came = REQUEST % 1 + REQUEST % 2
    reads[0].get_buffer(65_536)[: len(came)] = came
    reads[0].buffer_updated(len(came))
    sizes += [len(each.get_buffer(65_536)) for each in reads]

    assert sizes == [READ_BYTES, READ_BYTES, READ_BYTES - len(REQUEST % 2), READ_BYTES]


def test_a_body_of_many_reads_is_whole(serve_echo: ServeEcho) -> None:
    """A body from many reads arrives complete, although all reads use the same buffer."""
    body = bytes(range(256)) * (READ_BYTES // 64)
    (answer,) = exchange(serve_echo(), LAST_LONG % len(body) + body)

    assert answer.json["body"].encode("latin-1") == body


def test_servers_of_one_process_share_no_buffer() -> None:
    """Servers in two threads of one process have separate read buffers."""
    one, other = (Edge(ServerSettings()) for _ in range(2))

    assert one.buffer.obj is not other.buffer.obj
