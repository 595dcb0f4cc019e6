"""Tests of clients that send too much or open too many connections."""

from contextlib import ExitStack

import pytest

from gateway.server.intake import MAX_HEADER_LINES
from tests.server.conftest import ServeEcho
from tests.server.wire import answers_of, connected, exchange, parsed, send

REQUEST = b"GET /a HTTP/1.1\r\nHost: gateway\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"
FILLER = b"x" * 65_536
CHUNKED = b"POST /a HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
TRAILERS = CHUNKED + b"0\r\nX: "


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        pytest.param(b"GET /a HTTP/1.1\r\nHost: gateway\r\nX: ", (431, 4310), id="one line"),
        pytest.param(b"GET /", (414, 4140), id="URL"),
        pytest.param(b"GET /?", (414, 4140), id="query"),
        pytest.param(TRAILERS, (431, 4310), id="trailer"),
    ],
)
def test_an_endless_head_is_refused_at_the_limit(
    serve_echo: ServeEcho, start: bytes, expected: tuple[int, int]
) -> None:
    """A head above the limit gets an error before its end arrives."""
    (answer,) = exchange(serve_echo(), start, *[FILLER] * 30)

    assert (answer.status, answer.json["code"]) == expected
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("size", [1, 7, 4096], ids="{} bytes each".format)
def test_the_limit_of_a_head_does_not_depend_on_its_packets(
    serve_echo: ServeEcho, size: int
) -> None:
    """The connection reads heads up to twice the limit, for each size of packets."""
    url = serve_echo(max_head_bytes=500)
    start = b"GET /a HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nX: "
    seen = []
    for length in (900, 1100):
        head = start + b"x" * (length - len(start)) + b"\r\n\r\n"
        parts = [head[at : at + size] for at in range(0, len(head), size)]
        seen.append([answer.saw for answer in exchange(url, *parts)])

    assert seen == [["/a"], [4310]]


def test_the_number_of_header_lines_is_limited(serve_echo: ServeEcho) -> None:
    """Too many header lines are an error, also if the lines are short."""
    url = serve_echo()
    seen = []
    for count in (MAX_HEADER_LINES, MAX_HEADER_LINES + 1):
        lines = b"a:\r\n" * (count - 2)  # the request also has Host and Connection
        (answer,) = exchange(url, LAST[:-2] + lines + b"\r\n")
        seen.append((answer.status, answer.saw))

    assert seen == [(200, "/last"), (431, 4310)]


def test_too_many_header_lines_are_refused_at_once(serve_echo: ServeEcho) -> None:
    """Too many header lines are an error before the end of the head arrives."""
    (answer,) = exchange(serve_echo(), REQUEST[:-2], *[b"a:\r\n"] * MAX_HEADER_LINES, b"b:")

    assert (answer.status, answer.saw) == (431, 4310)


def test_the_number_of_trailers_is_limited(serve_echo: ServeEcho) -> None:
    """Too many trailer lines are an error, as in a head."""
    (answer,) = exchange(serve_echo(), TRAILERS + b"\r\na:" * (MAX_HEADER_LINES + 1))

    assert (answer.status, answer.saw) == (431, 4310)


@pytest.mark.parametrize(
    ("unit", "count"),
    [
        pytest.param(b"1;" + b"x" * 10_000 + b"\r\na\r\n", 20, id="extensions"),
        pytest.param(b"1\r\na\r\n", 25_000, id="chunks of a byte"),
    ],
)
@pytest.mark.parametrize("size", [1_000_000, 1_000], ids=["at once", "in parts"])
def test_bytes_between_chunks_are_limited(
    serve_echo: ServeEcho, unit: bytes, count: int, size: int
) -> None:
    """A short body in chunks with too many bytes of framing is an error."""
    url = serve_echo(max_body_bytes=30_000, max_head_bytes=20_000)
    sent = CHUNKED + unit * count
    (answer,) = exchange(url, *[sent[at : at + size] for at in range(0, len(sent), size)])

    assert (answer.status, answer.saw) == (413, 4130)
    assert answer.headers["connection"] == "close"


def test_the_body_limit_applies_to_each_request(serve_echo: ServeEcho) -> None:
    """The body limit counts separately for each request of a connection."""
    url = serve_echo(max_body_bytes=10_000, max_head_bytes=10_000)
    upload = CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (10_000, b"x" * 10_000)
    answers = exchange(url, *[upload] * 10, LAST)

    assert [answer.saw for answer in answers] == ["/a"] * 10 + ["/last"]


def test_a_body_before_a_head_does_not_count_as_head(serve_echo: ServeEcho) -> None:
    """A large body and the next head in the same packet are both accepted."""
    body = b"x" * 200_000
    upload = b"POST /a HTTP/1.1\r\nHost: gateway\r\nContent-Length: %d\r\n\r\n" % len(body)
    answers = exchange(serve_echo(), upload + body + LAST)

    assert [(answer.saw, len(answer.json["body"])) for answer in answers] == [
        ("/a", len(body)),
        ("/last", 0),
    ]


@pytest.mark.parametrize(
    "length", [b"Transfer-Encoding: chunked", b"Content-Length: 3000000"], ids=["chunked", "length"]
)
def test_an_unread_large_body_closes_the_connection(serve_echo: ServeEcho, length: bytes) -> None:
    """If the application answers without reading a large body, the connection closes."""
    head = b"POST /unread HTTP/1.1\r\nHost: gateway\r\n%b\r\n\r\n" % length
    answers = exchange(serve_echo(), head, *[b"10000\r\n" + FILLER + b"\r\n"] * 40)

    assert [answer.saw for answer in answers] == ["/unread"]
    assert answers[0].headers["connection"] == "close"


def test_an_unread_short_body_keeps_the_connection(serve_echo: ServeEcho) -> None:
    """If the application answers without reading a short body, the connection stays open."""
    url = serve_echo()
    head = b"POST /unread HTTP/1.1\r\nHost: gateway\r\nContent-Length: 3\r\n\r\n"
    together = exchange(url, head + b"abc" + LAST)
    with connected(url) as client:
        client.sendall(head)
        first = list(parsed(client.recv(65_536)))
        send(client, b"abc" + LAST)
        apart = first + answers_of(client)

    assert [answer.saw for answer in together] == ["/unread", "/last"]
    assert [(answer.saw, answer.headers.keys()) for answer in apart] == [
        (answer.saw, answer.headers.keys()) for answer in together
    ]


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(REQUEST, id="plain"),
        pytest.param(REQUEST[:-2] + b"Connection: upgrade\r\nUpgrade: h2c\r\n\r\n", id="upgrades"),
    ],
)
def test_thousands_of_requests_at_once_are_answered(
    serve_echo: ServeEcho, request_bytes: bytes
) -> None:
    """A client can send thousands of requests before it reads the first answer."""
    answers = exchange(serve_echo(), request_bytes * 3000 + LAST)

    assert [answer.saw for answer in answers] == [*["/a"] * 3000, "/last"]
    assert {answer.headers.get("connection") for answer in answers[:-1]} == {None}


def test_a_connection_above_the_limit_closes_an_idle_one(serve_echo: ServeEcho) -> None:
    """At the limit, a new connection closes an idle connection. Active requests get their
    answers.
    """
    url = serve_echo(max_connections=2)
    with connected(url) as idle, connected(url) as busy:
        idle.sendall(REQUEST)
        idle.recv(65_536)
        busy.sendall(REQUEST.replace(b"/a", b"/slow") + LAST)
        newcomer = exchange(url, LAST)
        ends = [[answer.saw for answer in answers_of(client)] for client in (idle, busy)]

    assert [answer.saw for answer in newcomer] == ["/last"]
    assert ends == [[], ["/slow", "/last"]]


def test_a_connection_above_the_limit_gets_503(serve_echo: ServeEcho) -> None:
    """At the limit with only active connections, a new connection gets 503 with `Retry-After`."""
    url = serve_echo(max_connections=3)
    with ExitStack() as stack:
        busy = [stack.enter_context(connected(url)) for _ in range(3)]
        for client in busy:
            client.sendall(REQUEST.replace(b"/a", b"/slow") * 3 + LAST)
        newcomer = exchange(url)
        ends = [[answer.saw for answer in answers_of(client)] for client in busy]

    assert [(answer.status, answer.saw) for answer in newcomer] == [(503, 5031)]
    assert newcomer[0].headers["retry-after"] == "5"
    assert ends == [["/slow"] * 3 + ["/last"]] * 3
