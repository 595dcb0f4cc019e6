"""Send bytes over a new connection and read the answer."""

import socket
from urllib.parse import urlsplit

from tests.journeys.conftest import Api

TIMEOUT_SECONDS = 10.0


def said_to(api: Api, sent: bytes) -> bytes:
    """The answer until the gateway closes the connection."""
    url = urlsplit(api.url)
    said = b""
    with socket.create_connection(
        (url.hostname or "", url.port or 0), timeout=TIMEOUT_SECONDS
    ) as connection:
        try:
            connection.sendall(sent)
            while part := connection.recv(65_536):
                said += part
        except (ConnectionResetError, BrokenPipeError):
            return said
    return said
