"""Client that sends raw bytes and parses all answers."""

import contextlib
import json
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class WireAnswer:
    """Status, headers by lower-case name, and JSON body of one answer."""

    status: int
    headers: dict[str, str]
    json: Any

    @property
    def saw(self) -> str | int:
        """Path of an echo answer, or code of an error answer."""
        found: str | int = self.json.get("path") or self.json.get("code")
        return found


@contextlib.contextmanager
def connected(url: str, *, source: str = "") -> Iterator[socket.socket]:
    """Connection from the address `source`, closed at the end of the block."""
    parts = urlsplit(url)
    with socket.create_connection(
        (parts.hostname, parts.port), timeout=TIMEOUT_SECONDS, source_address=(source, 0)
    ) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield client


def exchange(url: str, *parts: bytes, source: str = "") -> list[WireAnswer]:
    """Send each part in its own packet, and return all answers until the server closes."""
    with connected(url, source=source) as client:
        send(client, *parts)
        return answers_of(client)


def send(client: socket.socket, *parts: bytes) -> None:
    """Send each part in its own packet, until the server closes the connection."""
    with contextlib.suppress(ConnectionError):
        for part in parts:
            client.sendall(part)


def answers_of(client: socket.socket) -> list[WireAnswer]:
    """All answers until the server closes the connection. A reset fails the test."""
    received = bytearray()
    while part := client.recv(65_536):
        received += part
    return list(parsed(bytes(received)))


def parsed(received: bytes) -> Iterator[WireAnswer]:
    """Parse successive answers, each with a Content-Length."""
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("ascii").split("\r\n")
        status = int(re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", first)[1])  # type: ignore[index]
        if status == 100:
            continue
        headers = {name.lower(): value for name, value in (line.split(": ") for line in lines)}
        length = int(headers["content-length"])
        body, received = received[:length], received[length:]
        assert len(body) == length
        yield WireAnswer(status=status, headers=headers, json=json.loads(body or b"{}"))


def single_bytes(data: bytes) -> Sequence[bytes]:
    """Returns the data as parts of one byte each."""
    return [data[at : at + 1] for at in range(len(data))]
