"""Allowance of invalid keys for each client address.

Rules:
- Only failures count: an address that has failed too often may still use every key that counts.
- An IPv6 client has a /64 to choose from, so that is its address here.
- There is a bound to what is kept; who failed longest ago is forgotten first.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from gateway.gcra import Gcra, rate_limit

DEFAULT_PER_MINUTE = 20
MAX_KEPT = 10_000
_NETWORK_BYTES = 8


class FailedKeys:
    """What each address has used of its failures: so many a minute, and as many at once.

    0 a minute is no limit.
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
        self._max_kept = max_kept
        self._failures: OrderedDict[str, Gcra] = OrderedDict()

    def count(self, address: str) -> float:
        """Count a failure; gives 0, or the seconds to wait if it was one too many."""
        return self._failures_of(address).take(self._limit, self._timer())

    def _failures_of(self, address: str) -> Gcra:
        network, all_failures = network_of(address), self._failures
        failures = all_failures.get(network)
        if failures is not None:
            all_failures.move_to_end(network)
            return failures
        if len(all_failures) >= self._max_kept:
            all_failures.popitem(last=False)
        failures = all_failures[network] = Gcra()
        return failures


def network_of(address: str) -> str:
    """What stands for all addresses that a client may choose from; any text may come."""
    if ":" not in address:
        return address
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(parsed.packed[:_NETWORK_BYTES].ljust(16, b"\0")))
