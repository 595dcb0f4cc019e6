"""Sockets of httpx2 that keep the deadline of their call.

Rules: httpx2 times each read of a socket, so an answer that trickles, its head above all, could
hold a connection for ever. Only the network backend sees every read, and httpx2 has no public way
to bring one: this file alone reaches inside, says so if the inside has changed, and does no more
than shorten timeouts.
"""

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2

from gateway.google.deadline import current_deadline

SocketOption = (
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
)


def keep_deadlines(client: httpx2.Client) -> None:
    """Have all connections of a new client, those through proxies too, keep their deadlines."""
    transports = [client._transport, *client._mounts.values()]
    for transport in filter(None, transports):
        pool = transport._pool  # type: ignore[attr-defined]  # private, see the rules
        pool._network_backend = _Backend(pool._network_backend)


class _Stream(httpcore2.NetworkStream):
    """A connection whose reads and writes end at the deadline of their thread."""

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _shortened(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _shortened(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = _shortened(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, seconds))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore2.NetworkBackend):
    """Makes connections that keep deadlines."""

    def __init__(self, inner: httpcore2.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = _shortened(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, seconds, local_address, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


def _shortened(timeout: float | None, late: type[Exception]) -> float | None:
    """The timeout, or what is left of the deadline if that is less."""
    deadline = current_deadline()
    if deadline is None:
        return timeout
    remaining = deadline.remaining_seconds
    if not remaining:
        raise late("the deadline passed")
    return remaining if timeout is None else min(timeout, remaining)
