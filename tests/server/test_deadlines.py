"""Tests of the timeouts for slow clients."""

import socket
import threading
from contextlib import ExitStack

import pytest

from gateway.server.unread import MIN_READ_BYTES
from tests.journeys.waiting import until
from tests.server.conftest import LARGE_BYTES, ServeEcho
from tests.server.wire import answers_of, connected, exchange, send

HEAD = b"GET /a HTTP/1.1\r\nHost: gateway\r\n"
CLOSE = b"Connection: close\r\n\r\n"
UPLOAD = b"POST /a HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100\r\n\r\nab"
CHUNKED = b"POST /a HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"
UNREAD = b"POST /unread HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100\r\n\r\nab"
SHORT_SECONDS = 0.2
SLOW_SOCKETS = 40


@pytest.mark.parametrize(
    ("setting", "sent", "expected"),
    [
        pytest.param("head_timeout_seconds", b"", [], id="nothing at all"),
        pytest.param("head_timeout_seconds", b"\r\n", [], id="a blank line"),
        pytest.param("head_timeout_seconds", b"GE", [4080], id="half a method"),
        pytest.param("head_timeout_seconds", HEAD, [4080], id="half a head"),
        pytest.param("head_timeout_seconds", HEAD + b"\r\n" + HEAD, ["/a", 4080], id="second head"),
        pytest.param("body_timeout_seconds", UPLOAD, [4080], id="half a body"),
        pytest.param("body_timeout_seconds", CHUNKED, [4080], id="half a chunk"),
        pytest.param("body_timeout_seconds", UNREAD, ["/unread"], id="half a body, answered"),
        pytest.param("idle_timeout_seconds", HEAD + b"\r\n", ["/a"], id="no second request"),
    ],
)
def test_a_deadline_frees_the_socket(
    serve_echo: ServeEcho, setting: str, sent: bytes, expected: list[int | str]
) -> None:
    """At its deadline, a client that stopped within a request gets an answer and is
    disconnected.
    """
    answers = exchange(serve_echo(**{setting: SHORT_SECONDS}), sent)

    assert [answer.saw for answer in answers] == expected


def test_fields_of_408(serve_echo: ServeEcho) -> None:
    """The 408 for a slow client is JSON with `retryable` true, and closes the connection."""
    (answer,) = exchange(serve_echo(body_timeout_seconds=SHORT_SECONDS), UPLOAD)

    assert (answer.status, answer.json["name"]) == (408, "RequestTimeout")
    assert (answer.json["outcome"], answer.json["retryable"]) == ("not_applied", True)
    assert answer.headers["connection"] == "close"


def test_single_bytes_do_not_extend_a_deadline(serve_echo: ServeEcho) -> None:
    """A head that arrives byte by byte has the same deadline as a head that stops."""
    url = serve_echo(head_timeout_seconds=SHORT_SECONDS)
    with connected(url) as client:
        client.settimeout(0.02)
        trickled, answer = 0, b""
        client.sendall(HEAD)
        while not answer and trickled < 1000:
            trickled += 1
            client.sendall(b"x")
            try:
                answer = client.recv(65_536)
            except TimeoutError:
                continue

    assert trickled > 3
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_client_timeouts_do_not_limit_the_application(serve_echo: ServeEcho) -> None:
    """Deadlines of clients do not limit the time of the application."""
    url = serve_echo(
        head_timeout_seconds=0.05,
        body_timeout_seconds=0.05,
        idle_timeout_seconds=0.05,
        answer_timeout_seconds=0.05,
    )
    answers = exchange(url, HEAD.replace(b"/a", b"/slow") + b"\r\n")

    assert [answer.saw for answer in answers] == ["/slow"]


def test_a_client_that_does_not_read_is_disconnected(
    serve_echo: ServeEcho, caplog: pytest.LogCaptureFixture
) -> None:
    """A client that does not read its answer is disconnected, and its memory is freed."""
    url = serve_echo(answer_timeout_seconds=SHORT_SECONDS, max_connections=1)
    with connected(url) as client:
        client.sendall((HEAD.replace(b"/a", b"/large") + b"\r\n") * 3)
        client.recv(1)
        refused = exchange(url)
        is_free = until(lambda: exchange(url, HEAD + CLOSE)[0].saw == "/a")
        with pytest.raises(ConnectionResetError):
            answers_of(client)

    assert [answer.saw for answer in refused] == [5031]
    assert is_free
    assert caplog.records == []


def test_a_slow_reader_gets_the_whole_answer(serve_echo: ServeEcho) -> None:
    """A client that reads slowly but steadily gets the whole answer, even after the deadline."""
    url = serve_echo(answer_timeout_seconds=SHORT_SECONDS)
    with connected(url) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 262_144)
        client.sendall(HEAD.replace(b"/a", b"/large") + CLOSE)
        received = 0
        while part := client.recv(400_000):
            received += len(part)
            threading.Event().wait(0.01)

    assert received > LARGE_BYTES


def test_a_steady_reader_gets_the_whole_answer(serve_echo: ServeEcho) -> None:
    """A steady reader stays connected, although socket buffers hold more than it reads until a
    check.
    """
    url = serve_echo(answer_timeout_seconds=0.5)
    with connected(url) as client:
        client.sendall(HEAD.replace(b"/a", b"/large") + CLOSE)
        received = 0
        for _ in range(25):
            received += len(client.recv(32_768))
            threading.Event().wait(0.1)
        steadily = received
        while part := client.recv(400_000):
            received += len(part)

    assert steadily > MIN_READ_BYTES
    assert received > LARGE_BYTES


def test_slow_clients_do_not_delay_other_clients(serve_echo: ServeEcho) -> None:
    """Incomplete requests and idle readers delay no other request. At the end all are
    disconnected.
    """
    url = serve_echo(head_timeout_seconds=2 * SHORT_SECONDS, body_timeout_seconds=2 * SHORT_SECONDS)
    with ExitStack() as stack:
        slow = [stack.enter_context(connected(url)) for _ in range(SLOW_SOCKETS)]
        for number, client in enumerate(slow):
            send(client, (HEAD, UPLOAD, CHUNKED)[number % 3])
        good = [exchange(url, HEAD + CLOSE)[0].saw for _ in range(20)]
        ends = [[answer.saw for answer in answers_of(client)] for client in slow]

    assert good == ["/a"] * 20
    assert ends == [[4080]] * SLOW_SOCKETS


def test_a_refusal_can_be_read_while_a_body_is_sent(serve_echo: ServeEcho) -> None:
    """A client that keeps sending a refused body can still read the 400."""
    url = serve_echo(max_body_bytes=1000)
    head = b"POST /large HTTP/1.1\r\nHost: gateway\r\nX-A: b\x00\r\n"
    (answer,) = exchange(url, head, *[b"x" * 65_536] * 40)

    assert (answer.status, answer.saw) == (400, 4000)
