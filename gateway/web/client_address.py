"""Client address of a request, also behind proxies.

Rules:
- The client address is the socket's address, unless the socket's peer is a trusted proxy. Then it
  is the last address in the proxy's header that is not a trusted proxy. A client can forge earlier
  addresses.
- The peer of a Unix socket has no address. The peer is trusted if "unix" is configured.
- The search ends at a text that is not an address, and finds the last proxy before this text.
- X-Forwarded-For and Forwarded (RFC 7239) have the same meaning. A proxy that writes one header can
  pass the other unchanged. So a header that names no client is ignored if the other names a client.
- If both headers name different clients, one header is forged. Wrong keys then count for the
  proxy's address. The limit of concurrent requests counts both clients, separate from their other
  requests: a client can neither avoid its own limit nor exhaust another client's limit.
- A request whose header names no client counts for the proxy, because a client can damage the
  header. A request without these headers is the proxy's own.
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from starlette.types import Scope

from gateway.settings.address import UNIX, Proxy
from gateway.web.head import head_of

MAX_HOPS = 32
_LONGEST_HOP = 100
"""Maximum length of an address in a header: IPv6 with zone, port and blanks around."""
_KEPT = 1024
"""Maximum number of cached addresses."""

_PAIR = re.compile(r"""[ \t]*([a-z]+)=("(?:[^"\\]|\\.)*"|[^ \t",;=]*)[ \t]*""", re.IGNORECASE)
_WITH_PORT = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::[0-9]+)?|([0-9.]+):[0-9]+")


def client_address(scope: Scope, proxies: Sequence[Proxy]) -> str:
    """Return the client's address, or "" if unknown, as for the peer of a Unix socket."""
    peer = _peer(scope)
    if not is_from_proxy(scope, proxies):
        return peer
    hop_lists = _hop_lists(scope)
    clients = _clients(hop_lists, peer, proxies)
    found = clients or {_last_hop(hops, peer, proxies) for hops in hop_lists}
    return found.pop() if len(found) == 1 else peer


def counted_addresses(scope: Scope, proxies: Sequence[Proxy]) -> Collection[str]:
    """Return the addresses for which a trusted proxy's request counts in limits.

    Empty for a request of the proxy itself; two addresses if the headers contradict each other.
    """
    peer, hop_lists = _peer(scope), _hop_lists(scope)
    clients = _clients(hop_lists, peer, proxies)
    is_unnamed = not clients and any(_address(hop) is None for hops in hop_lists for hop in hops)
    return [peer] if is_unnamed else clients


def is_from_proxy(scope: Scope, proxies: Sequence[Proxy]) -> bool:
    """True if the socket's peer is a trusted proxy. Reads only `client` and `server` of `scope`."""
    if not proxies:
        return False
    peer = _peer(scope)
    if peer:
        return _is_proxy(_address(peer), proxies)
    server = scope.get("server")  # a closed TCP connection has no address of the peer either
    return UNIX in proxies and (server is None or server[1] is None)


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    address: str = client[0] if client else ""
    return address


def _hop_lists(scope: Scope) -> Sequence[Sequence[str]]:
    """Return the last `MAX_HOPS` texts of X-Forwarded-For and of Forwarded, if present."""
    head = head_of(scope)
    listed = [hop for line in head.values(b"x-forwarded-for") for hop in line.split(",")]
    forwarded = [hop for line in head.values(b"forwarded") for hop in _hops(line)]
    return [each[-MAX_HOPS:] for each in (listed, forwarded) if each]


def _clients(hop_lists: Sequence[Sequence[str]], peer: str, proxies: Sequence[Proxy]) -> set[str]:
    """Return the client's address by each list of addresses, without trusted proxies."""
    found = {_last_hop(hops, peer, proxies) for hops in hop_lists} - {peer}
    return {each for each in found if not _is_proxy(_address(each), proxies)}


def _last_hop(hops: Sequence[str], peer: str, proxies: Sequence[Proxy]) -> str:
    """Return the last address that is not a trusted proxy's, else the last proxy reached."""
    last = peer
    for hop in reversed(hops):
        address = _address(hop)
        if address is None:
            return last
        last = str(address)
        if not _is_proxy(address, proxies):
            return last
    return last


def _is_proxy(address: IPv4Address | IPv6Address | None, proxies: Sequence[Proxy]) -> bool:
    return address is not None and any(
        address in proxy for proxy in proxies if not isinstance(proxy, str)
    )


def _hops(line: str) -> Sequence[str]:
    """Return the `for` of each element of a Forwarded line; [""] for a malformed line.

    An element without `for` is "". A comma within quotes does not separate elements: the proxy can
    quote a host that the client chose.
    """
    hops, at = [""], 0
    while (pair := _PAIR.match(line, at)) is not None:
        if pair[1].lower() == "for":
            hops[-1] = pair[2].strip('"')
        at = pair.end()
        if at == len(line):
            return hops
        if line[at] == ",":
            hops.append("")
        elif line[at] != ";":
            break
        at += 1
    return [""]


def _address(hop: str) -> IPv4Address | IPv6Address | None:
    return _parsed(hop) if len(hop) <= _LONGEST_HOP else None


@lru_cache(_KEPT)
def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address with or without a port. An IPv4-mapped IPv6 address becomes IPv4."""
    match = _WITH_PORT.fullmatch(text.strip())
    try:
        address = ip_address((match[1] or match[2]) if match else text.strip())
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
