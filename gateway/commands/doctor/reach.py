"""Reasons why Google cannot be reached, and solutions."""

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx2

from gateway.telemetry.foreign_words import unquoted

E = TypeVar("E", bound=BaseException)
Words = Callable[[str, BaseException], str]

PROXY_SCHEMES = ("https", "http", "all")

_DEEPEST = 10


def unreachable_words(host: str, error: BaseException) -> str:
    """Explain from the error's causes why `host` cannot be reached, and what to do."""
    found = ((words, find_cause(error, kind)) for kind, words in _BY_CAUSE)
    text = next((words(host, cause) for words, cause in found if cause), None)
    if text is None:
        text = f"{host} cannot be reached ({_last_words(error)}). {_LET_OUT}"
    return text + _about_proxies(host)


def asked_host(error: BaseException) -> str | None:
    """The host of a failed request, if the error knows it."""
    failed = find_cause(error, httpx2.RequestError)
    try:
        return None if failed is None else failed.request.url.netloc.decode("ascii", "replace")
    except RuntimeError:  # the error has no request
        return None


def _untrusted(host: str, error: BaseException) -> str:
    reason = getattr(error, "verify_message", "") or "certificate verify failed"
    return (
        f"{host} shows a certificate that this machine does not trust ({reason}). If a proxy or "
        "virus scanner opens TLS here, set SSL_CERT_FILE to a file with its CA certificate; "
        "otherwise install the CA certificates (package ca-certificates) and check the machine's "
        "clock."
    )


def _no_tls(host: str, error: BaseException) -> str:
    reason = getattr(error, "reason", None) or "the connection broke"
    return (
        f"TLS with {host} fails ({reason}): the server does not use TLS, or a firewall interferes. "
        "Allow this machine https (port 443) to it, and check google.endpoint."
    )


def _no_name(host: str, _error: BaseException) -> str:
    return (
        f"the name {host} is not found (DNS). Check this machine's network and name "
        "servers (/etc/resolv.conf)."
    )


def _closed(host: str, _error: BaseException) -> str:
    return (
        f"{host} refuses connections: nothing listens there, or a firewall blocks them. {_LET_OUT} "
        "Where it is an emulator, start it."
    )


def _late(host: str, _error: BaseException) -> str:
    return f"{host} does not answer in time: a firewall may drop the packets. {_LET_OUT}"


def _proxied(host: str, _error: BaseException) -> str:
    return f"the proxy refused a connection to {host}. Allow it there."


_LET_OUT = "Allow this machine https (port 443) to it, or set HTTPS_PROXY to the network's proxy."

# The first match decides, so subclasses come before their base classes.
_BY_CAUSE: Sequence[tuple[type[BaseException], Words]] = (
    (ssl.SSLCertVerificationError, _untrusted),
    (ssl.SSLError, _no_tls),
    (httpx2.ProxyError, _proxied),
    (socket.gaierror, _no_name),
    (ConnectionRefusedError, _closed),
    (TimeoutError, _late),
    (httpx2.TimeoutException, _late),
)


def _about_proxies(host: str) -> str:
    """The proxy variables in use; not their values, which may contain a password."""
    proxies = getproxies()
    found = [name for name in PROXY_SCHEMES if proxies.get(name)]
    if not found or proxy_bypass(host):
        return ""
    names = " and ".join(f"{name.upper()}_PROXY" for name in found)
    return f" Requests go through the proxy of {names}: check its address."


def _last_words(error: BaseException) -> str:
    *_, innermost = chain(error)
    if isinstance(innermost, OSError) and innermost.strerror:
        return innermost.strerror
    return unquoted(str(innermost))[:120] or type(innermost).__name__


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, outermost first."""
    return islice(_chain(error), _DEEPEST)


def find_cause(error: BaseException, kind: type[E] | tuple[type[E], ...]) -> E | None:
    """The outermost error of a type among the causes."""
    return next((each for each in chain(error) if isinstance(each, kind)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        # httpcore2 passes the cause of its errors as their argument.
        inner = error.args[0] if error.args else None
        error = error.__cause__ or (inner if isinstance(inner, BaseException) else None)
