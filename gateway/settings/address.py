"""Parsers and checks of addresses, host names, proxies and URLs in the settings."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

Network = IPv4Network | IPv6Network
UnixPeers = Literal["unix"]
Proxy = Network | UnixPeers
"""A trusted proxy: a network, or "unix" for every peer of a Unix socket."""

UNIX: UnixPeers = "unix"
"""Value of `Proxy` that stands for all peers of a Unix socket, which have no IP address."""

LOOPBACK = "127.0.0.1"
_FORM = re.compile(r"(?:(\[[0-9A-Fa-f:.%]+\]|[^:\[\]\s/@]+):)?([0-9]{1,5})", re.ASCII)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]\s/@]+)(?::[0-9]*)?", re.ASCII)
_HOST_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?", re.ASCII)
_NO_HOST_NAMES = (
    'must be a list of host names without ports, as in ["a.internal", "b.internal"], or in a '
    "variable a.internal,b.internal"
)
_NO_PROXIES = (
    'must be a list of addresses and networks, as in ["127.0.0.1", "10.0.0.0/8"], or in a variable '
    '127.0.0.1,10.0.0.0/8; "unix" is every peer of a Unix socket'
)


class Address(NamedTuple):
    """A host without brackets, and a port. Port 0 means any free port."""

    host: str
    port: int


def parse_address(written: object) -> Address:
    """Parse `HOST:PORT`, `[IPV6]:PORT`, or `PORT` alone for 127.0.0.1. Raises ValueError."""
    if isinstance(written, Address):
        return written
    found = _FORM.fullmatch(written) if isinstance(written, str) else None
    if found is None or int(found[2]) > 65535:
        raise ValueError('must be "HOST:PORT", or "PORT" alone for this machine\'s loopback')
    return Address(host=(found[1] or LOOPBACK).strip("[]"), port=int(found[2]))


def host_in(header: str) -> str:
    """Return the host of a Host header in lower case, without port and brackets.

    Returns "" if the header is malformed.
    """
    found = _AUTHORITY.fullmatch(header)
    return _plain(found[1]) if found else ""


def is_ip_address(host: str) -> bool:
    """True if `host` is an IPv4 or IPv6 address without brackets."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def parse_host_names(written: object) -> tuple[str, ...]:
    """Parse a list or comma-separated text of host names to lower case. Raises ValueError."""
    return tuple(map(_parse_host_name, _items(written, _NO_HOST_NAMES)))


def _parse_host_name(written: object) -> str:
    if not isinstance(written, str) or not _HOST_NAME.fullmatch(written.strip()):
        raise ValueError(_NO_HOST_NAMES)
    return _plain(written.strip())


def _plain(host: str) -> str:
    return host.strip("[]").removesuffix(".").lower()


def parse_proxies(written: object) -> tuple[Proxy, ...]:
    """Parse a list or comma-separated text of addresses, networks and `unix`. Raises ValueError."""
    return tuple(map(_parse_proxy, _items(written, _NO_PROXIES)))


def _items(written: object, problem: str) -> Sequence[object]:
    """Return the non-empty items of a list or comma-separated text.

    Raises ValueError with the text `problem` for other types.
    """
    items = written.split(",") if isinstance(written, str) else written
    if not isinstance(items, list | tuple):
        raise ValueError(problem)
    return [item for item in items if item != ""]


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


def is_allowed_endpoint(url: str, *, allow_insecure: bool) -> bool:
    """True if the gateway is allowed to send credentials and rows to this http(s) URL.

    Allowed are https URLs of Google, and loopback addresses. `allow_insecure` allows every host.
    URLs with a user or password are never allowed. Every path is allowed, as in token URLs.
    """
    # URL parsers disagree about the text after these characters.
    if re.search(r"[^\x21-\x7e]|[\\@]", url):
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        parts.port  # noqa: B018  (raises for an invalid port)
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[a-z0-9.-]+|[0-9a-f:]+", host):
        return False
    is_google = host == "accounts.google.com" or f".{host}".endswith(".googleapis.com")
    return allow_insecure or is_loopback(host) or (parts.scheme == "https" and is_google)


def is_loopback(host: str) -> bool:
    """True if a host name or address is a loopback address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
