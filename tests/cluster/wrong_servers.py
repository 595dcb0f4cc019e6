"""Servers that are not the expected Redis, and URLs for them."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.cluster.redis_server import PASSWORD, RedisServer

SECRET = "wrong-but-secret"
NOT_REDIS = b"HTTP/1.1 400 Bad Request\r\n\r\n"

Answer = Callable[[socket.socket], object]


@contextmanager
def wrong_url(name: str, server: RedisServer) -> Iterator[str]:
    """Yield the URL of a case: a Redis with other credentials, or a server that is not Redis."""
    place = f"127.0.0.1:{server.port}"
    urls = {
        "password": f"redis://:{SECRET}@{place}/0",
        "no password": f"redis://{place}/0",
        "user": f"redis://stranger:{SECRET}@{place}/0",
        "rights": f"redis://weak:{PASSWORD}@{place}/0",
        "no INFO": f"redis://uninformed:{PASSWORD}@{place}/0",
        "database": f"redis://:{PASSWORD}@{place}/99",
        "TLS": f"rediss://:{PASSWORD}@{place}/0",
        "host": f"redis://:{PASSWORD}@redis.invalid:{server.port}/0",
        "socket": f"unix://:{PASSWORD}@/nowhere/redis.sock",
        "closed port": f"redis://:{PASSWORD}@127.0.0.1:{free_port()}/0",
    }
    if name in urls:
        yield urls[name]
        return
    with listening(_ANSWERS[name]) as port:
        yield f"redis://:{PASSWORD}@127.0.0.1:{port}/0"


@contextmanager
def listening(answer: Answer) -> Iterator[int]:
    """Yield the port of a server that answers each connection with `answer`."""
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):  # the block ended and closed the socket
                while True:
                    connections.append(listener.accept()[0])
                    answer(connections[-1])

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for each in connections:
                each.close()


def free_port() -> int:
    """Return a port at which no server listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _answer_http(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(NOT_REDIS)
    connection.close()


_ANSWERS: dict[str, Answer] = {
    "silent": lambda _: None,
    "not Redis": _answer_http,
    "hangs up": lambda connection: connection.close(),
}
