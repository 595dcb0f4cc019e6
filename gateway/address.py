"""Addresses and networks, as they are written in the configuration."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import NamedTuple

Network = IPv4Network | IPv6Network

LOOPBACK = "127.0.0.1"
_FORM = re.compile(r"(?:(\[[0-9A-Fa-f:.%]+\]|[^:\[\]\s/@]+):)?([0-9]{1,5})", re.ASCII)
_NO_NETWORKS = 'must be a list of addresses and networks, as in ["127.0.0.1", "10.0.0.0/8"]'


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


def parse_networks(written: object) -> tuple[Network, ...]:
    """Addresses and networks, in a list or separated by commas; ValueError for anything else."""
    items = written.split(",") if isinstance(written, str) else written
    if not isinstance(items, list | tuple):
        raise ValueError(_NO_NETWORKS)
    return tuple(_parse_network(item) for item in items if item != "")


def _parse_network(written: object) -> Network:
    if isinstance(written, IPv4Network | IPv6Network):
        return written
    if not isinstance(written, str):
        raise ValueError(_NO_NETWORKS)
    try:
        return ip_network(written.strip())
    except ValueError as error:
        raise ValueError(_NO_NETWORKS) from error
