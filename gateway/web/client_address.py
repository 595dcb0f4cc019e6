"""Client address of a request, also behind proxies.

Rules:
- It is the socket's address, unless that is a trusted proxy's. Then it is the last hop in the
  proxy's header that is not a trusted proxy; earlier hops may be forged by the client.
- The peer of a Unix socket has no address; it is trusted if "unix" is configured.
- A hop that is not an address ends the search: the last proxy counts.
- X-Forwarded-For and Forwarded (RFC 7239) are equivalent. A proxy that writes one may pass the
  other through unchanged, so a header that names no client is ignored if the other names one.
- If both name different clients, one of them is forged, and the address of the proxy counts for
  wrong keys. The limit of concurrent requests counts both, apart from other requests: a client can
  neither avoid its own limit nor exhaust the limit of another.
- A request with a header that names no client counts for the proxy, because a client may have
  damaged the header. A request without these headers is the proxy's own.
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
"""Maximum length of a hop: an IPv6 address with zone, port and blanks around it."""
_KEPT = 1024
"""Maximum number of cached addresses."""

_PAIR = re.compile(r"""[ \t]*([a-z]+)=("(?:[^"\\]|\\.)*"|[^ \t",;=]*)[ \t]*""", re.IGNORECASE)
_WITH_PORT = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::[0-9]+)?|([0-9.]+):[0-9]+")


def client_address(scope: Scope, proxies: Sequence[Proxy]) -> str:
    """The client's address; blank if unknown, as for the peer of a Unix socket."""
    peer = _peer(scope)
    if not is_from_proxy(scope, proxies):
        return peer
    hop_lists = _hop_lists(scope)
    clients = _clients(hop_lists, peer, proxies)
    found = clients or {_last_hop(hops, peer, proxies) for hops in hop_lists}
    return found.pop() if len(found) == 1 else peer


def counted_addresses(scope: Scope, proxies: Sequence[Proxy]) -> Collection[str]:
    """Addresses that a request from a trusted proxy counts for.

    Empty for a request of the proxy itself; two if the headers contradict each other.
    """
    peer, hop_lists = _peer(scope), _hop_lists(scope)
    clients = _clients(hop_lists, peer, proxies)
    is_unnamed = not clients and any(_address(hop) is None for hops in hop_lists for hop in hops)
    return [peer] if is_unnamed else clients


def is_from_proxy(scope: Scope, proxies: Sequence[Proxy]) -> bool:
    """True if the socket's peer is a trusted proxy; only the scope's addresses are used."""
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
    """The last hops in each of the two headers that the request has."""
    head = head_of(scope)
    listed = [hop for line in head.values(b"x-forwarded-for") for hop in line.split(",")]
    forwarded = [hop for line in head.values(b"forwarded") for hop in _hops(line)]
    return [each[-MAX_HOPS:] for each in (listed, forwarded) if each]


def _clients(hop_lists: Sequence[Sequence[str]], peer: str, proxies: Sequence[Proxy]) -> set[str]:
    """Addresses of the client in the headers, without trusted proxies."""
    found = {_last_hop(hops, peer, proxies) for hops in hop_lists} - {peer}
    return {each for each in found if not _is_proxy(_address(each), proxies)}


def _last_hop(hops: Sequence[str], peer: str, proxies: Sequence[Proxy]) -> str:
    """The last hop that is not a trusted proxy."""
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
    """The `for` of each hop of a line, blank if missing; a single blank if the line is malformed.

    A comma within quotes does not separate hops: the proxy may quote a host that the client chose.
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
    """An address with or without a port; IPv4 in IPv6 form becomes IPv4."""
    match = _WITH_PORT.fullmatch(text.strip())
    try:
        address = ip_address((match[1] or match[2]) if match else text.strip())
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
