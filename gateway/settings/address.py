"""Addresses and networks, parsed from the configuration."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Literal, NamedTuple

Network = IPv4Network | IPv6Network
UnixPeers = Literal["unix"]
Proxy = Network | UnixPeers
"""Where a proxy is: in a network, or at the other end of a Unix socket."""

UNIX: UnixPeers = "unix"
"""Every peer of a Unix socket, which has no address."""

LOOPBACK = "127.0.0.1"
_FORM = re.compile(r"(?:(\[[0-9A-Fa-f:.%]+\]|[^:\[\]\s/@]+):)?([0-9]{1,5})", re.ASCII)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]\s/@]+)(?::[0-9]*)?", re.ASCII)
_HOST_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?", re.ASCII)
_NO_HOST_NAMES = 'must be a list of host names without ports, as in ["metrics.internal"]'
_NO_PROXIES = (
    'must be a list of addresses and networks, as in ["127.0.0.1", "10.0.0.0/8"]; "unix" is every '
    "peer of a Unix socket"
)


class Address(NamedTuple):
    """A host, without brackets, and a port; port 0 is any free one."""

    host: str
    port: int


def parse_address(written: object) -> Address:
    """`HOST:PORT`, `[IPV6]:PORT` or a `PORT` of the loopback; ValueError for anything else."""
    if isinstance(written, Address):
        return written
    found = _FORM.fullmatch(written) if isinstance(written, str) else None
    if found is None or int(found[2]) > 65535:
        raise ValueError('must be "HOST:PORT", or "PORT" alone for this machine\'s loopback')
    return Address(host=(found[1] or LOOPBACK).strip("[]"), port=int(found[2]))


def host_in(header: str) -> str:
    """The host of a Host header: in lower case, without port and brackets; blank if malformed."""
    found = _AUTHORITY.fullmatch(header)
    return _plain(found[1]) if found else ""


def is_ip_address(host: str) -> bool:
    """Whether this is an IPv4 or IPv6 address, without brackets."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def parse_host_names(written: object) -> tuple[str, ...]:
    """Host names in a list or separated by commas, in lower case; ValueError for all else."""
    items = written.split(",") if isinstance(written, str) else written
    if not isinstance(items, list | tuple):
        raise ValueError(_NO_HOST_NAMES)
    return tuple(_parse_host_name(item) for item in items if item != "")


def _parse_host_name(written: object) -> str:
    if not isinstance(written, str) or not _HOST_NAME.fullmatch(written.strip()):
        raise ValueError(_NO_HOST_NAMES)
    return _plain(written.strip())


def _plain(host: str) -> str:
    return host.strip("[]").removesuffix(".").lower()


def parse_proxies(written: object) -> tuple[Proxy, ...]:
    """Addresses, networks and `unix`, in a list or separated by commas; ValueError for all else."""
    items = written.split(",") if isinstance(written, str) else written
    if not isinstance(items, list | tuple):
        raise ValueError(_NO_PROXIES)
    return tuple(_parse_proxy(item) for item in items if item != "")


def _parse_proxy(written: object) -> Proxy:
    if isinstance(written, IPv4Network | IPv6Network):
        return written
    if not isinstance(written, str):
        raise ValueError(_NO_PROXIES)
    if written.strip().lower() == UNIX:
        return UNIX
    try:
        return ip_network(written.strip())
    except ValueError as error:
        raise ValueError(_NO_PROXIES) from error
