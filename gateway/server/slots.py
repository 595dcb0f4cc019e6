"""Slots: how many connections there may be, together and of each client address.

Rules:
- First come, first served: a newcomer takes the slot of an idle connection or is refused. Past its
  own limit an address makes room among its own idle connections.
- An IPv6 address counts as its /64 network: a single client commonly has all of one.
- Peers of a Unix socket have no address, and count together.
- Connections of a trusted proxy count for no address. While one of them has a request, that counts
  for the address of the proxy's client.
- An address is kept only while something counts for it, so connections bound the memory.
"""

import math
import socket
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from starlette.types import Scope

from gateway.settings.address import Proxy
from gateway.settings.model import ServerSettings
from gateway.web.client_address import forwarded_address, is_from_proxy

_SHARE_OF_ADDRESS = 4
"""Without a setting, one address may have this part of `max_connections`."""
_NETWORK_BYTES = 8
_MAPPED = b"\0" * 10 + b"\xff\xff"
"""Start of an IPv4 address within IPv6, as a socket of both has it."""

Network = str | bytes
PeerName = tuple[str, int | None] | None
"""Host and port of one side of a connection, as a scope has them."""


class Idling(Protocol):
    """What is known of a connection where there are too many."""

    @property
    def is_idle(self) -> bool: ...

    def close_idle(self) -> None: ...


IdleConnections = OrderedDict[Idling, None]
"""The one that is idle for longest comes first, and is found without a look at the others."""


def make_room(idle: IdleConnections) -> bool:
    """Close the connection that has been idle for longest; false if none is."""
    while idle:
        connection, _ = idle.popitem(last=False)
        if connection.is_idle:
            connection.close_idle()
            return True
    return False


class Slots:
    """The slots of one server, and who holds them."""

    def __init__(self, settings: ServerSettings, proxies: Sequence[Proxy] = ()) -> None:
        most_of_address = settings.max_connections_per_address
        if most_of_address is None:
            most_of_address = settings.max_connections // _SHARE_OF_ADDRESS
        self.most = settings.max_connections
        self.most_of_address = most_of_address or math.inf
        self.proxies = proxies
        self.idle = IdleConnections()
        self.counts: dict[Network, int] = {}
        """Connections and requests that count for each address."""
        self._idle_of: dict[Network, IdleConnections] = {}

    def enter(self, network: Network) -> int:
        """Count one more for an address; returns how many these are."""
        count = self.counts[network] = self.counts.get(network, 0) + 1
        return count

    def leave(self, network: Network) -> None:
        """Count one less."""
        count = self.counts[network] - 1
        if count:
            self.counts[network] = count
        else:
            del self.counts[network]
            self._idle_of.pop(network, None)

    def idle_of(self, network: Network) -> IdleConnections:
        """The idle connections of an address that something counts for."""
        return self._idle_of.setdefault(network, IdleConnections())


class Slot:
    """One connection's slot."""

    __slots__ = ("_connection", "_idle", "_network", "_slots", "is_proxy")

    def __init__(self, slots: Slots, connection: Idling) -> None:
        self._slots = slots
        self._connection = connection
        self.is_proxy = False
        self._network: Network | None = None
        """Of its address; for a proxy, of the client whose request it has."""
        self._idle = IdleConnections()
        """Those of its address."""

    def take(self, client: PeerName, server: PeerName, connections: int) -> float:
        """Take the slot, idle; returns how many connections are too many with this one.

        `connections` are all that are open. 0 means that this one may stay.
        """
        slots = self._slots
        self.is_proxy = is_from_proxy({"client": client, "server": server}, slots.proxies)
        excess: float = connections - slots.most
        idle = slots.idle
        if not self.is_proxy:
            self._network = network_of(client[0] if client else "")
            excess_of_address = slots.enter(self._network) - slots.most_of_address
            self._idle = slots.idle_of(self._network)
            if excess_of_address > 0:
                idle, excess = self._idle, max(excess, excess_of_address)
        if excess > 0 and not make_room(idle):
            return excess
        self.set_idle()
        return 0

    def set_idle(self) -> None:
        """The connection waits for a request: it may have to make room."""
        self._slots.idle[self._connection] = self._idle[self._connection] = None

    def set_busy(self) -> None:
        self._slots.idle.pop(self._connection, None)
        self._idle.pop(self._connection, None)

    def begin_request(self, scope: Scope) -> bool:
        """Count a proxy's request for its client; false if that client has too many.

        What a proxy asks for on its own behalf is not counted.
        """
        slots = self._slots
        limited = slots.most_of_address < math.inf
        address = forwarded_address(scope, slots.proxies) if limited else ""
        if not address:
            return True
        self._network = network_of(address)
        if slots.enter(self._network) <= slots.most_of_address:
            return True
        self.end_request()
        return False

    def end_request(self) -> None:
        """The answer to a proxy's request has left."""
        if self._network is not None:
            self._slots.leave(self._network)
            self._network = None

    def free(self) -> None:
        """The connection is gone."""
        self.set_busy()
        self.end_request()


def network_of(address: str) -> Network:
    """What an address counts as: itself, or the first 64 bits of one of IPv6."""
    if ":" not in address:
        return address
    packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    if packed.startswith(_MAPPED):
        return socket.inet_ntoa(packed[len(_MAPPED) :])
    return packed[:_NETWORK_BYTES]
