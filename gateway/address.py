"""An address to listen on, as it is written in the configuration."""

import re
from typing import NamedTuple

LOOPBACK = "127.0.0.1"
_FORM = re.compile(r"(?:(\[[0-9A-Fa-f:.%]+\]|[^:\[\]\s/@]+):)?([0-9]{1,5})", re.ASCII)


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
