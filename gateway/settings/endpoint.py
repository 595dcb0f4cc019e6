"""Hosts that may receive Google credentials and rows."""

import ipaddress
import re
from urllib.parse import urlsplit


def is_allowed_endpoint(url: str, *, allow_insecure: bool) -> bool:
    """Whether Google's credentials or a sheet's rows may be sent to this http(s) URL.

    Yes for https at Google and for loopback; `allow_insecure` admits every host. Never with user
    information. The path is not looked at: token URLs have one.
    """
    # Parsers disagree about what follows these characters; the host must be beyond doubt.
    if re.search(r"[^\x21-\x7e]|[\\@]", url):
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        parts.port  # noqa: B018  (raises for a port that is none)
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[a-z0-9.-]+|[0-9a-f:]+", host):
        return False
    return allow_insecure or is_loopback(host) or (parts.scheme == "https" and _is_google(host))


def _is_google(host: str) -> bool:
    return host == "accounts.google.com" or f".{host}".endswith(".googleapis.com")


def is_loopback(host: str) -> bool:
    """Whether a name or address of a host is this machine's alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
