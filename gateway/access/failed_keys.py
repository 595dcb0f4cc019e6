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

from gateway.access.rates import MINUTE_SECONDS, Meter, Pace

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
        self._pace = Pace(
            interval_seconds=MINUTE_SECONDS / per_minute if per_minute else 0.0,
            burst=per_minute,
            tolerance_seconds=MINUTE_SECONDS,
        )
        self._timer = timer
        self._max_kept = max_kept
        self._meters: OrderedDict[str, Meter] = OrderedDict()

    def count(self, address: str) -> float:
        """Count a failure; gives 0, or the seconds to wait if it was one too many."""
        return self._meter(address).take(self._pace, self._timer())

    def _meter(self, address: str) -> Meter:
        network, meters = network_of(address), self._meters
        meter = meters.get(network)
        if meter is not None:
            meters.move_to_end(network)
            return meter
        if len(meters) >= self._max_kept:
            meters.popitem(last=False)
        meter = meters[network] = Meter()
        return meter


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
