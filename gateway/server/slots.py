"""Limits for the number of connections, in total and per client address, and deadlines.

Rules:
- Above a limit, a new connection replaces an idle connection, or is refused. Above the limit of its
  client address, a new connection replaces only an idle connection of the same address.
- An IPv6 client counts by its /64 network, an IPv4 client by its address. "Network" means both.
- Clients of a Unix socket have no address and count together.
- A connection of a trusted proxy counts for no address. While the connection has a request, it
  counts for the client address in the headers of the proxy.
- If these headers contradict each other, the request counts for each address in the headers. Such
  requests have their own counts, so that a forged address does not use up its owner's limit.
- An address is stored only while it has a count, so the number of connections limits the memory.
- One task checks all deadlines periodically, so that requests need no timers.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import Any

from starlette.types import Scope

from gateway.access.address_rates import network_of
from gateway.settings.address import Proxy
from gateway.settings.model import ServerSettings
from gateway.telemetry.events import request_failed
from gateway.web.client_address import counted_addresses, is_from_proxy

NEVER = math.inf

_MAX_PERIOD_SECONDS = 0.1
"""Maximum seconds between two checks of all deadlines."""
_MIN_PERIOD_SECONDS = 0.02
_MAX_STEP_SECONDS = 1.0


class Sweeper:
    """Clock for deadlines, and a loop that calls `expire` of connections with a passed deadline.

    The clock stops while the process is suspended or the event loop is blocked for long, so that no
    deadline passes in this time. If the event loop is blocked when a deadline is set, the deadline
    is too early by the blocked time.
    """

    def __init__(self, shortest_timeout_seconds: float) -> None:
        self._period_seconds = min(
            max(shortest_timeout_seconds / 4, _MIN_PERIOD_SECONDS), _MAX_PERIOD_SECONDS
        )
        self._max_step_seconds = min(
            max(shortest_timeout_seconds / 2, 2 * _MIN_PERIOD_SECONDS), _MAX_STEP_SECONDS
        )
        self.now = 0.0
        """Time of the clock in seconds, updated every 0.1 s or more often."""

    def after(self, seconds: float) -> float:
        """Return the deadline `seconds` from now, which is noticed up to 0.2 s late."""
        return self.now + seconds + self._period_seconds

    async def run(self, connections: Collection[Any]) -> None:
        """Check the deadlines of connections periodically, until this task is cancelled."""
        loop = asyncio.get_running_loop()
        before = loop.time()
        while True:
            await asyncio.sleep(self._period_seconds)
            time = loop.time()
            try:
                self.sweep(connections, time - before)
            except Exception as error:  # the edge of a background task: go on with the next check
                request_failed(None, error)
            before = time

    def sweep(self, connections: Collection[Any], passed_seconds: float) -> None:
        """Advance the clock, and call `expire` of each connection with a passed deadline."""
        self.now += min(passed_seconds, self._max_step_seconds)
        now = self.now
        for each in [*connections]:  # `expire` can remove connections
            if each.deadline <= now or each.unread_deadline <= now:
                each.expire()


_ADDRESS_FRACTION = 4
"""Divisor of `max_connections` for the default maximum per address."""

Counted = str | tuple[str]
"""Network of a client, from `network_of`; in a tuple if it is from contradictory headers."""
PeerName = tuple[str, int | None] | None
"""Host and port of the client or the server, as in an ASGI scope."""


IdleConnections = OrderedDict[Any, None]
"""Idle connections as dictionary keys, in the order of their last answers.

A connection stays in this dictionary while it handles its next request. `make_room` skips it then.
"""


class Slots:
    """Connection limits of one server, and the current numbers of connections."""

    def __init__(self, settings: ServerSettings, proxies: Sequence[Proxy] = ()) -> None:
        max_per_address = settings.max_connections_per_address
        if max_per_address is None:
            max_per_address = settings.max_connections // _ADDRESS_FRACTION
        self.max_total = settings.max_connections
        self.max_per_address = max_per_address or math.inf
        self.proxies = proxies
        self.idle = IdleConnections()
        self.counts: dict[Counted, int] = {}
        """Number of connections, and of proxies' requests, by client network."""
        self.idle_of: dict[Counted, IdleConnections] = {}
        """Idle connections by client network."""

    def enter(self, network: Counted) -> int:
        """Add one to the count of a network, and return the new count."""
        count = self.counts[network] = self.counts.get(network, 0) + 1
        return count

    def leave(self, network: Counted) -> None:
        count = self.counts[network] - 1
        if count:
            self.counts[network] = count
        else:
            del self.counts[network]
            self.idle_of.pop(network, None)


class Slot:
    __slots__ = ("_connection", "_counted", "_idle", "_slots", "is_proxy")

    def __init__(self, slots: Slots, connection: Any) -> None:  # a Connection, which imports this
        self._slots = slots
        self._connection = connection
        self.is_proxy = False
        self._counted: Sequence[Counted] = ()
        """Networks whose counts include this connection or its request."""
        self._idle = IdleConnections()
        """Idle connections of the same client network."""

    def take(self, client: PeerName, server: PeerName, connections: int) -> float:
        """Count the connection. Returns 0 if it can stay, else the number of excess connections.

        `client` and `server` are the addresses of both ends. `connections` is the number of all
        open connections, with this one. Above a limit, an idle connection is closed for this one.
        """
        slots = self._slots
        self.is_proxy = is_from_proxy({"client": client, "server": server}, slots.proxies)
        excess: float = connections - slots.max_total
        idle = slots.idle
        if not self.is_proxy:
            network = network_of(client[0] if client else "")
            self._counted = (network,)
            address_excess = slots.enter(network) - slots.max_per_address
            self._idle = slots.idle_of.setdefault(network, IdleConnections())
            if address_excess > 0:
                idle, excess = self._idle, max(excess, address_excess)
        return excess if excess > 0 and not make_room(idle) else 0

    def set_idle(self) -> None:
        """Mark the connection as idle, so that a new connection can replace it."""
        for idle in (self._slots.idle, self._idle):
            idle[self._connection] = None
            idle.move_to_end(self._connection)

    def begin_request(self, scope: Scope) -> bool:
        """Count a proxy's request for the client address. Above the limit, count nothing: False."""
        slots = self._slots
        if slots.max_per_address == math.inf:
            return True
        addresses = counted_addresses(scope, slots.proxies)
        networks = {network_of(each) for each in addresses}
        self._counted = [(each,) for each in networks] if len(addresses) > 1 else [*networks]
        counts = [slots.enter(each) for each in self._counted]
        if max(counts, default=0) <= slots.max_per_address:
            return True
        self.end_request()
        return False

    def end_request(self) -> None:
        for each in self._counted:
            self._slots.leave(each)
        self._counted = ()

    def free(self) -> None:
        for idle in (self._slots.idle, self._idle):
            idle.pop(self._connection, None)
        self.end_request()


def make_room(idle: IdleConnections) -> bool:
    """Close the connection that is idle for the longest time. Returns False if none is idle."""
    while idle:
        connection, _ = idle.popitem(last=False)
        if connection.is_idle:
            connection.close_idle()
            return True
    return False
