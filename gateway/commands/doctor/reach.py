"""Why Google's servers cannot be reached, and what to do."""

import socket
import ssl
from collections.abc import Callable, Sequence
from urllib.request import getproxies, proxy_bypass

import httpx2

from gateway.commands.doctor.causes import chain, first

Words = Callable[[str, BaseException], str]

PROXY_SCHEMES = ("https", "http", "all")


def unreachable_words(host: str, error: BaseException) -> str:
    """Why `host` cannot be reached, by what is behind the error; then what to do."""
    found = ((words, first(error, kind)) for kind, words in _BY_CAUSE)
    text = next((words(host, cause) for words, cause in found if cause), None)
    if text is None:
        text = f"{host} cannot be reached ({_last_words(error)}). {_LET_OUT}"
    return text + _about_proxies(host)


def asked_host(error: BaseException) -> str | None:
    """The host that a failed request was for, where the error knows it."""
    failed = first(error, httpx2.RequestError)
    try:
        return None if failed is None else failed.request.url.netloc.decode("ascii", "replace")
    except RuntimeError:  # it never became a request
        return None


def _untrusted(host: str, error: BaseException) -> str:
    reason = getattr(error, "verify_message", "") or "certificate verify failed"
    return (
        f"{host} shows a certificate that this machine does not trust ({reason}). If a proxy or "
        "virus scanner opens TLS here, set SSL_CERT_FILE to a file with its CA certificate; else "
        "install the CA certificates (package ca-certificates) and look at the machine's clock."
    )


def _no_tls(host: str, error: BaseException) -> str:
    reason = getattr(error, "reason", None) or "it broke off"
    return (
        f"TLS with {host} fails ({reason}): what answers there speaks no TLS, or a firewall is in "
        "between. Let this machine open https (port 443) to it, and look at google.endpoint."
    )


def _no_name(host: str, _error: BaseException) -> str:
    return (
        f"the name {host} is not found (DNS). Look at this machine's network and at its name "
        "servers (/etc/resolv.conf)."
    )


def _closed(host: str, _error: BaseException) -> str:
    return (
        f"{host} refuses connections: nothing listens there, or a firewall says no. {_LET_OUT} "
        "Where it is an emulator, start it."
    )


def _late(host: str, _error: BaseException) -> str:
    return f"{host} does not answer in time: a firewall may swallow the packets. {_LET_OUT}"


def _proxied(host: str, _error: BaseException) -> str:
    return f"the proxy did not let a connection to {host} through. Have it allowed there."


_LET_OUT = "Allow this machine https (port 443) to it, or set HTTPS_PROXY to the network's proxy."

# The first that is in the chain decides: what is special stands above its parents.
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
    """Which proxy the environment names; not what it names, as that may hold a password."""
    proxies = getproxies()
    found = [name for name in PROXY_SCHEMES if proxies.get(name)]
    if not found or proxy_bypass(host):
        return ""
    names = " and ".join(f"{name.upper()}_PROXY" for name in found)
    return f" Requests go through the proxy that {names} names: see that it is right."


def _last_words(error: BaseException) -> str:
    *_, innermost = chain(error)
    if isinstance(innermost, OSError) and innermost.strerror:
        return innermost.strerror
    return str(innermost).partition('"')[0][:120] or type(innermost).__name__
