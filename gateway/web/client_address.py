"""Client address of a request, also behind proxies.

Rules:
- The peer is the other end of the socket. Its address is the client address, unless the peer is a
  trusted proxy.
- Each proxy appends the address of its own peer to a header, X-Forwarded-For or Forwarded (RFC
  7239). The header is read from its end. The first address that is not a trusted proxy is the
  client address. A client can forge the addresses before it.
- A text in the header that is not an address ends the search. The proxy that was read last then
  counts as the client.
- The peer of a Unix socket has no address. The peer is trusted if "unix" is configured.
- A proxy that writes one of the two headers can pass the other from the client unchanged. So a
  header that names no client is ignored if the other names a client.
- If the headers name different clients, one header is forged. Wrong keys then count for the proxy's
  address. The limit of concurrent requests counts the request for both clients, separate from their
  other requests: a client can neither avoid its own limit nor exhaust another client's limit.
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
"""Maximum characters of an address in a header, enough for IPv6 with zone, port and blanks."""
_KEPT = 1024
"""Maximum number of cached addresses."""

_PAIR = re.compile(r"""[ \t]*([a-z]+)=("(?:[^"\\]|\\.)*"|[^ \t",;=]*)[ \t]*""", re.IGNORECASE)
_WITH_PORT = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::[0-9]+)?|([0-9.]+):[0-9]+")


def client_address(scope: Scope, proxies: Sequence[Proxy]) -> str:
    """Return the client's address, or a proxy's if the headers name no client or two.

    Returns "" for the peer of a Unix socket, which has no address.
    """
    peer = _peer(scope)
    if not is_from_proxy(scope, proxies):
        return peer
    hop_lists = _hop_lists(scope)
    clients = _clients(hop_lists, peer, proxies)
    found = clients or {_last_hop(hops, peer, proxies) for hops in hop_lists}
    return found.pop() if len(found) == 1 else peer


def counted_addresses(scope: Scope, proxies: Sequence[Proxy]) -> Collection[str]:
    """Return the client addresses whose limits a request from a trusted proxy counts for.

    Returns the proxy's address if a damaged header names no client, two addresses if the headers
    contradict each other, and none for a request of the proxy itself.
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
    """Return one list of texts for each header that is present: X-Forwarded-For, Forwarded.

    A list has the last `MAX_HOPS` addresses of the header, not parsed. The last element is the
    address that the proxy nearest to the gateway added.
    """
    head = head_of(scope)
    listed = [hop for line in head.values(b"x-forwarded-for") for hop in line.split(",")]
    forwarded = [hop for line in head.values(b"forwarded") for hop in _hops(line)]
    return [each[-MAX_HOPS:] for each in (listed, forwarded) if each]


def _clients(hop_lists: Sequence[Sequence[str]], peer: str, proxies: Sequence[Proxy]) -> set[str]:
    """Return the different client addresses that the headers name: none, one or two.

    `hop_lists` has one list of texts for each header.
    """
    found = {_last_hop(hops, peer, proxies) for hops in hop_lists} - {peer}
    return {each for each in found if not _is_proxy(_address(each), proxies)}


def _last_hop(hops: Sequence[str], peer: str, proxies: Sequence[Proxy]) -> str:
    """Return the last address in `hops`, one header's texts, that is not a trusted proxy's.

    The search begins at the end. It stops at a text that is not an address. If it finds only
    proxies, it returns the address that it read last, or `peer` if it read none.
    """
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
    """Return the value of `for` in each element of a Forwarded line; [""] for a malformed line.

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
    """Parse an address with or without a port. Returns None for another text.

    An IPv4-mapped IPv6 address becomes IPv4.
    """
    match = _WITH_PORT.fullmatch(text.strip())
    try:
        address = ip_address((match[1] or match[2]) if match else text.strip())
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
