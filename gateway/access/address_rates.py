"""Rate limit per client address.

Rules
- An IPv6 client counts by its /64 network, because a client commonly owns the whole network.
- The number of stored addresses has a maximum. The least recently used address is dropped first.
"""

import socket
import time
from collections.abc import Callable

from cachetools import LRUCache

from gateway.gcra import Gcra, rate_limit

DEFAULT_PER_MINUTE = 20
MAX_KEPT = 10_000
_NETWORK_BYTES = 8
_MAPPED = b"\0" * 10 + b"\xff\xff"
"""Prefix of an IPv4-mapped IPv6 address, as on a dual-stack socket."""


class AddressRates:
    """Rate limit for each address: `per_minute` requests a minute, and as many at once.

    0 as `per_minute` means no limit.
    """

    def __init__(
        self,
        per_minute: int = DEFAULT_PER_MINUTE,
        timer: Callable[[], float] = time.monotonic,
        max_kept: int = MAX_KEPT,
    ) -> None:
        self.per_minute = per_minute
        self._limit = rate_limit(per_minute, burst=per_minute)
        self._timer = timer
        self._rates: LRUCache[str, Gcra] = LRUCache(max_kept)

    def count(self, address: str) -> float:
        """Count a request. Returns 0 within the limit, else the seconds to wait."""
        rate = self._rates.setdefault(network_of(address), Gcra())
        return rate.take(self._limit, self._timer())


def network_of(address: str) -> str:
    """Return the text that identifies a client: its IPv4 address or its IPv6 /64 network.

    Returns other texts unchanged.
    """
    if ":" not in address:
        return address
    try:
        packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    except (OSError, UnicodeError, ValueError):
        return address
    if packed.startswith(_MAPPED):
        return socket.inet_ntoa(packed[len(_MAPPED) :])
    return socket.inet_ntop(socket.AF_INET6, packed[:_NETWORK_BYTES].ljust(16, b"\0"))
