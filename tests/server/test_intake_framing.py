"""Tests that an ambiguous request gets an error, and any other request exactly one answer."""

from collections.abc import Sequence

import pytest

from gateway.server.intake import whole_requests
from tests.server.wire import exchange, single_bytes

HOST = b"Host: gateway\r\n"
PROBE = b"GET /probe HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: gateway\r\n\r\n"
CHUNKS = b"3\r\nabc\r\n0\r\n\r\n"
HIDDEN_LENGTH = b"Content-Length: %d" % len(HIDDEN)
REFUSED = ((400, 4000),)
BAD_PATH = ((400, 4003),)
ANSWERED = ((200, "/a"), (200, "/probe"))

Answers = Sequence[tuple[int, str | int]]


def post(*lines: bytes, body: bytes = b"", version: bytes = b"1.1") -> bytes:
    head = b"".join(line + b"\r\n" for line in lines)
    return b"POST /a HTTP/" + version + b"\r\n" + HOST + head + b"\r\n" + body


def get(target: bytes = b"/a", *lines: bytes, version: bytes = b"HTTP/1.1") -> bytes:
    head = b"".join(line + b"\r\n" for line in lines)
    return b"GET " + target + b" " + version + b"\r\n" + HOST + head + b"\r\n"


TE = b"Transfer-Encoding: chunked"
CL3 = b"Content-Length: 3"
H2C = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk")

CASES: dict[str, tuple[bytes, Answers]] = {
    "length, then encoding": (post(b"Content-Length: 5", TE, body=b"0\r\n\r\n" + HIDDEN), REFUSED),
    "encoding, then length": (post(TE, b"Content-Length: 5", body=b"0\r\n\r\n" + HIDDEN), REFUSED),
    "two lengths": (post(CL3, b"Content-Length: 4", body=b"abc" + HIDDEN), REFUSED),
    "one length twice": (post(CL3, CL3, body=b"abc" + HIDDEN), REFUSED),
    "list of lengths": (post(b"Content-Length: 3, 3", body=b"abc" + HIDDEN), REFUSED),
    "length with a sign": (post(b"Content-Length: +3", body=b"abc" + HIDDEN), REFUSED),
    "length in hex": (post(b"Content-Length: 0x3", body=b"abc" + HIDDEN), REFUSED),
    "length past 64 bits": (post(b"Content-Length: " + b"9" * 40, body=HIDDEN), REFUSED),
    "blank length": (post(b"Content-Length: ", body=HIDDEN), REFUSED),
    "two encodings": (post(TE, b"Transfer-Encoding: identity", body=CHUNKS + HIDDEN), REFUSED),
    "one encoding twice": (post(TE, TE, body=CHUNKS + HIDDEN), REFUSED),
    "encodings on two lines": (post(b"Transfer-Encoding: gzip", TE, body=CHUNKS), REFUSED),
    "blank encoding first": (post(b"Transfer-Encoding:", TE, body=CHUNKS + HIDDEN), REFUSED),
    "encoding list": (post(b"Transfer-Encoding: gzip, chunked", body=CHUNKS), REFUSED),
    "unknown encoding": (post(b"Transfer-Encoding: xchunked", body=CHUNKS + HIDDEN), REFUSED),
    "encoding behind VT": (post(b"Transfer-Encoding: \x0bchunked", body=CHUNKS), REFUSED),
    "blank before colon": (post(b"Transfer-Encoding : chunked", body=CHUNKS), REFUSED),
    "encoding in 1.0": (post(TE, body=CHUNKS + HIDDEN, version=b"1.0"), REFUSED),
    "folded line": (post(b"X-A: b\r\n Transfer-Encoding: chunked", body=CHUNKS), REFUSED),
    "NUL in a value": (post(b"X-A: b\x00c", body=HIDDEN), REFUSED),
    "CR in a value": (post(b"X-A: b\rTransfer-Encoding: chunked", body=CHUNKS), REFUSED),
    "blank in a name": (post(b"X A: b"), REFUSED),
    "no name": (post(b": b"), REFUSED),
    "bare LF": (b"GET /a HTTP/1.1\nHost: gateway\n\n" + HIDDEN, REFUSED),
    "LF after a chunk's size": (post(TE, body=b"3\nabc\r\n0\r\n\r\n" + HIDDEN), REFUSED),
    "LF in a chunk's extension": (post(TE, body=b"3;a\nabc\r\n0\r\n\r\n" + HIDDEN), REFUSED),
    "negative chunk": (post(TE, body=b"-3\r\nabc\r\n0\r\n\r\n" + HIDDEN), REFUSED),
    "chunk past 64 bits": (post(TE, body=b"f" * 17 + b"\r\nabc\r\n" + HIDDEN), REFUSED),
    "chunk longer than said": (post(TE, body=b"3\r\nabcd\r\n0\r\n\r\n" + HIDDEN), REFUSED),
    "no Host": (b"GET /a HTTP/1.1\r\nX-A: b\r\n\r\n", REFUSED),
    "two Hosts": (get(b"/a", b"Host: other"), REFUSED),
    "Host with a path": (b"GET /a HTTP/1.1\r\nHost: gateway/b\r\n\r\n", REFUSED),
    "Host with a user": (b"GET /a HTTP/1.1\r\nHost: a@gateway\r\n\r\n", REFUSED),
    "list of Hosts": (b"GET /a HTTP/1.1\r\nHost: gateway, other\r\n\r\n", REFUSED),
    "Host with a name as port": (b"GET /a HTTP/1.1\r\nHost: gateway:http\r\n\r\n", REFUSED),
    "Host past ASCII": ("GET /a HTTP/1.1\r\nHost: ä\r\n\r\n".encode(), REFUSED),
    "blank Host": (b"GET /a HTTP/1.1\r\nHost:\r\n\r\n", ANSWERED),
    "IPv6 Host": (b"GET /a HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n", ANSWERED),
    "Host with an underscore": (b"GET /a HTTP/1.1\r\nHost: my_gateway:80\r\n\r\n", ANSWERED),
    "HTTP/0.9": (b"GET /a\r\n\r\n", REFUSED),
    "HTTP/2.0": (get(version=b"HTTP/2.0"), REFUSED),
    "preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", REFUSED),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", REFUSED),
    "unknown method": (b"FETCH /a HTTP/1.1\r\n" + HOST + b"\r\n", REFUSED),
    "small letters": (b"get /a HTTP/1.1\r\n" + HOST + b"\r\n", REFUSED),
    "blank in the path": (get(b"/a b"), REFUSED),
    "path past ASCII": (get("/ä".encode()), BAD_PATH),
    "no path": (get(b"http://gateway"), BAD_PATH),
    "tunnel": (b"CONNECT gateway:1 HTTP/1.1\r\n" + HOST + b"\r\n" + HIDDEN, ((405, 4051),)),
    "whole URL": (get(b"http://other/a"), ANSWERED),
    "blank lines first": (b"\r\n\r\n" + get(), ANSWERED),
    "GET with a body": (get(b"/a", HIDDEN_LENGTH) + HIDDEN, ANSWERED),
    "body that is not read": (
        post(HIDDEN_LENGTH, body=HIDDEN).replace(b"/a", b"/unread"),
        ((200, "/unread"), (200, "/probe")),
    ),
    "chunks": (post(TE, body=CHUNKS), ANSWERED),
    "chunks with trailers": (
        post(TE, body=CHUNKS[:-2] + b"Host: other\r\nAuthorization: x\r\n\r\n"),
        ANSWERED,
    ),
    "chunks with an extension": (post(TE, body=b"3;a=b\r\nabc\r\n0\r\n\r\n"), ANSWERED),
    "wish for HTTP/2": (get(b"/a", *H2C), ANSWERED),
    "wish for HTTP/2 with a body": (
        post(*H2C, HIDDEN_LENGTH, body=HIDDEN),
        ANSWERED,
    ),
    "request after the last": (get(b"/a", b"Connection: close") + HIDDEN, ((200, "/a"),)),
    "bytes after the last": (get(b"/a", b"Connection: close") + b"\x00\x00", ((200, "/a"),)),
    "bytes past the body": (post(CL3, body=b"abcd"), ((200, "/a"), (400, 4000))),
}


@pytest.mark.parametrize("is_split", [False, True], ids=["whole", "byte by byte"])
@pytest.mark.parametrize(("sent", "expected"), CASES.values(), ids=CASES)
def test_every_request_has_one_meaning(
    echo_url: str, sent: bytes, expected: Answers, is_split: bool
) -> None:
    """An ambiguous request gets an error and closes the connection. Other requests are parsed
    exactly.
    """
    parts = single_bytes(sent + PROBE) if is_split else [sent + PROBE]
    answers = exchange(echo_url, *parts)

    assert [(answer.status, answer.saw) for answer in answers] == list(expected)


def test_the_body_of_an_ignored_upgrade_is_read(echo_url: str) -> None:
    """A request with an ignored upgrade is answered in HTTP/1.1, with its body."""
    sent = post(*H2C, HIDDEN_LENGTH, body=HIDDEN)
    upgraded, _ = exchange(echo_url, sent + PROBE)

    assert upgraded.json["body"] == HIDDEN.decode()
    assert "upgrade" not in upgraded.json["names"]


def test_trailers_are_not_headers(echo_url: str) -> None:
    """Trailer lines after a body are not added to the headers."""
    sent = post(TE, body=b"3\r\nabc\r\n0\r\nAuthorization: x\r\n\r\n")
    answer, _ = exchange(echo_url, sent + PROBE)

    assert answer.json["names"] == ["host", "transfer-encoding"]


def test_pipelined_requests_are_answered_in_order(echo_url: str) -> None:
    """Pipelined requests get their answers in order, also if one of the answers is an error."""
    sent = get(b"/slow") + get(b"/1") + post(CL3, body=b"abc") + get(b"/2") + b"x\r\n"
    answers = exchange(echo_url, sent + PROBE)

    assert [answer.saw for answer in answers] == ["/slow", "/1", "/a", "/2", 4000]


def test_an_unread_body_after_expect_closes_the_connection(echo_url: str) -> None:
    """After an error answer to `Expect: 100-continue`, the connection ends, because the body
    might follow.
    """
    sent = post(b"Expect: 100-continue", HIDDEN_LENGTH).replace(b"/a", b"/unread")
    answers = exchange(echo_url, sent, HIDDEN)

    assert [answer.saw for answer in answers] == ["/unread"]
    assert answers[0].headers["connection"] == "close"


def test_expect_100_continue(echo_url: str) -> None:
    """A request with `Expect: 100-continue` gets `100 Continue`, and then its body is read."""
    sent = post(b"Expect: 100-continue", CL3)
    answers = exchange(echo_url, sent, b"abc", PROBE)

    assert [answer.saw for answer in answers] == ["/a", "/probe"]
    assert answers[0].json["body"] == "abc"


@pytest.mark.parametrize(
    ("whole", "rest"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(get(), b"", id="one"),
        pytest.param(b"", get()[:-1], id="half a head"),
        pytest.param(get() + post(CL3, body=b"abc"), get()[:9], id="half a head behind two"),
        pytest.param(get(), post(CL3, body=b"ab"), id="half a body"),
        pytest.param(get() + post(TE, body=CHUNKS), post(TE, body=CHUNKS[:-1]), id="half chunks"),
        pytest.param(get(), b"\r\n", id="a blank line"),
        pytest.param(get() + b"x y\r\n" + get()[:9], b"", id="what cannot be read"),
        pytest.param(get(b"/a", *H2C) + get()[:9], b"", id="a wish for HTTP/2"),
    ],
)
def test_whole_requests_end_before_an_incomplete_one(whole: bytes, rest: bytes) -> None:
    """Bytes of an incomplete last request are cut off. Complete requests stay, also if invalid."""
    assert whole_requests(whole + rest) == whole
