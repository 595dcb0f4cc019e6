"""Connection slots: limits for all connections and for each client address; their deadlines.

Rules:
- A new connection takes the slot of an idle connection, or is refused. An address over its own
  limit replaces one of its own idle connections.
- Peers of a Unix socket have no address and count together.
- Connections of a trusted proxy count for no address. While one of them has a request, it counts
  for the address of the proxy's client.
- A request whose headers contradict each other counts for each client that they name, apart from
  other requests, so that a forged address takes nothing from its owner.
- An address is stored only while something counts for it, so the number of connections limits the
  memory.
- All deadlines are checked periodically, in place of a timer per request.
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
"""A round over 4,096 connections takes about a thousandth of this."""
_MIN_PERIOD_SECONDS = 0.02
_MAX_STEP_SECONDS = 1.0


class Sweeper:
    """A coarse clock, and a loop that compares deadlines with it.

    Deadlines are never early, except by the time that the loop was blocked when they were set. The
    clock counts only time in which the loop could run, so that no deadline passes while the whole
    process is suspended.
    """

    def __init__(self, shortest_timeout_seconds: float) -> None:
        self._period_seconds = min(
            max(shortest_timeout_seconds / 4, _MIN_PERIOD_SECONDS), _MAX_PERIOD_SECONDS
        )
        self._max_step_seconds = min(
            max(shortest_timeout_seconds / 2, 2 * _MIN_PERIOD_SECONDS), _MAX_STEP_SECONDS
        )
        self.now = 0.0
        """Time of the clock in seconds, up to a period behind."""

    def after(self, seconds: float) -> float:
        """The deadline `seconds` from now, up to two periods late."""
        return self.now + seconds + self._period_seconds

    async def run(self, connections: Collection[Any]) -> None:
        """Sweep connections, a set that may change, until this is cancelled."""
        loop = asyncio.get_running_loop()
        before = loop.time()
        while True:
            await asyncio.sleep(self._period_seconds)
            time = loop.time()
            try:
                self.sweep(connections, time - before)
            except Exception as error:  # the edge of a background task: go on with the next round
                request_failed(None, error)
            before = time

    def sweep(self, connections: Collection[Any], passed_seconds: float) -> None:
        """Expire each connection with a passed deadline, after `passed_seconds` more."""
        self.now += min(passed_seconds, self._max_step_seconds)
        now = self.now
        late = [each for each in connections if each.deadline <= now or each.unread_deadline <= now]
        for each in late:
            each.expire()


_ADDRESS_FRACTION = 4
"""Divisor of `max_connections` for the default maximum per address."""

Counted = str | tuple[str]
"""A network (`network_of`); in a tuple if it is named by contradictory headers."""
PeerName = tuple[str, int | None] | None
"""Host and port of one end of a connection, as in an ASGI scope."""


IdleConnections = OrderedDict[Any, None]
"""Connections in the order of the end of their last answer, so that the longest idle one is first.

Some may no longer be idle.
"""


class Slots:
    """The slots of one server, and their holders."""

    def __init__(self, settings: ServerSettings, proxies: Sequence[Proxy] = ()) -> None:
        max_per_address = settings.max_connections_per_address
        if max_per_address is None:
            max_per_address = settings.max_connections // _ADDRESS_FRACTION
        self.max_total = settings.max_connections
        self.max_per_address = max_per_address or math.inf
        self.proxies = proxies
        self.idle = IdleConnections()
        self.counts: dict[Counted, int] = {}
        """Connections and requests that count for each address."""
        self.idle_of: dict[Counted, IdleConnections] = {}
        """The idle connections of each address with a count."""

    def enter(self, network: Counted) -> int:
        """Count one more for an address; returns the new count."""
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
        """Networks that this connection, or the client of a proxy's request, counts for."""
        self._idle = IdleConnections()
        """Idle connections of the same address."""

    def take(self, client: PeerName, server: PeerName, connections: int) -> float:
        """Take a slot; returns the excess, 0 if the connection may stay.

        `connections` is the number of all open connections.
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
        """Mark the connection as idle: it may be closed for another one."""
        for idle in (self._slots.idle, self._idle):
            idle[self._connection] = None
            idle.move_to_end(self._connection)

    def begin_request(self, scope: Scope) -> bool:
        """Count a request of a proxy for its client's address; False if that has too many.

        Requests of the proxy itself are not counted.
        """
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
    """Close the longest idle connection; False if none is idle."""
    while idle:
        connection, _ = idle.popitem(last=False)
        if connection.is_idle:
            connection.close_idle()
            return True
    return False
