"""Answers that end too early, over real sockets.

The fake Google of other tests cannot send a part of an answer. Here a server sends some bytes of an
answer and closes the connection.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gateway.errors import WriteOutcomeUnknown
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import A_READ, A_WRITE, KeyFile, failures

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
BODY = b'{"spreadsheetId":"%b"}' % (b"x" * 48)
TOKEN = b'{"access_token":"t","expires_in":3599,"token_type":"Bearer"}'
GZIPPED = HEAD + b"content-encoding: gzip\r\ncontent-length: 5\r\n\r\nplain"

UNFINISHED = {
    "nothing": b"",
    "half a status line": HEAD[:10],
    "half a head": HEAD,
    "no HTTP": b"<html>503</html>\r\n\r\n",
    "head alone": HEAD + b"content-length: 68\r\n\r\n",
    "half a body": HEAD + b"content-length: 68\r\n\r\n" + BODY[:30],
    "half a chunk": HEAD + b"transfer-encoding: chunked\r\n\r\n44\r\n" + BODY[:30],
    "no last chunk": HEAD + b"transfer-encoding: chunked\r\n\r\n44\r\n" + BODY + b"\r\n",
    "up to the end": HEAD + b"\r\n" + BODY[:30],
    "not gzip": GZIPPED,
    "half an error": b"HTTP/1.1 503 Unavailable\r\ncontent-length: 68\r\n\r\n{",
}


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Run a server that closes each connection after these bytes; token answers are complete."""
    token = HEAD + b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(TOKEN), TOKEN)

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                is_token = b"/token" in _first_line_of_request(connection)
                connection.sendall(token if is_token else answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _first_line_of_request(connection: socket.socket) -> bytes:
    """Read the whole request, because closing earlier would reset the connection."""
    with connection.makefile("rb") as received:
        first, length = received.readline(), 0
        while (line := received.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        received.read(length)
    return first


@pytest.mark.parametrize("answer", UNFINISHED.values(), ids=UNFINISHED)
async def test_an_incomplete_answer_leaves_the_outcome_unknown(
    key_file: KeyFile, answer: bytes
) -> None:
    """After any incomplete answer, the outcome of a write is unknown."""
    with answering(answer) as url:
        settings = GoogleSettings(endpoint=url, credentials=key_file(token_uri=f"{url}/token"))
        errors = await failures(settings, {"read": A_READ, "write": A_WRITE})

    assert isinstance(errors["write"], WriteOutcomeUnknown)
    assert (errors["read"].code, errors["read"].outcome) == (5020, None)
