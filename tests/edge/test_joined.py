"""Answers in one write: what may go that way, and that it says the same."""

from collections.abc import Sequence

import pytest

from gateway.edge.joined import _lines

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
