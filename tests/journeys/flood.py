"""Send far more than a gateway accepts, as fast as possible, and read the answer meanwhile."""

import selectors
import socket
import time
from dataclasses import dataclass
from itertools import chain, repeat
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 30.0
PIECE_BYTES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Flooded:
    """Answers to a flood, and the bytes sent until its end."""

    answer: bytes
    sent_bytes: int

    @property
    def status(self) -> int:
        return int(self.answer[9:12] or 0)


def flood(url: str, start: bytes, unit: bytes, total_bytes: int) -> Flooded:
    """Send `start`, then `unit` repeatedly, until the gateway cuts the connection.

    Also ends after `total_bytes`, when the gateway has closed its side of the connection. Raises
    TimeoutError if neither happens.
    """
    piece = unit * max(PIECE_BYTES // len(unit), 1)
    address = urlsplit(url)
    pieces = filter(None, chain([start], repeat(piece, -(-total_bytes // len(piece)))))
    ends = time.monotonic() + TIMEOUT_SECONDS
    answer, sent, rest, is_open = b"", 0, next(pieces), True
    with (
        socket.create_connection((address.hostname, address.port)) as client,
        selectors.DefaultSelector() as selector,
    ):
        client.setblocking(False)
        selector.register(client, selectors.EVENT_READ)
        while is_open or rest:
            wanted = selectors.EVENT_READ * is_open | selectors.EVENT_WRITE * bool(rest)
            selector.modify(client, wanted)
            ready = sum(mask for _, mask in selector.select(TIMEOUT_SECONDS))
            if time.monotonic() > ends:
                raise TimeoutError("the gateway neither takes it all nor ends it")
            try:
                if ready & selectors.EVENT_READ:
                    part = client.recv(65_536)
                    answer += part
                    is_open = bool(part)
                if ready & selectors.EVENT_WRITE:
                    count = client.send(rest)
                    sent += count
                    rest = rest[count:] or next(pieces, b"")
            except ConnectionError:
                break
    return Flooded(answer=answer, sent_bytes=sent)
