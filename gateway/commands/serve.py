"""`sheets-gateway serve`: checks, sockets and lock before the first request."""

import asyncio
import errno
import resource
import socket
from collections.abc import Collection
from typing import NoReturn

from starlette.types import ASGIApp

from gateway.access.pepper import pepper_of
from gateway.app import create_app
from gateway.server.lock import exclusive_lock
from gateway.server.running import ByPort, base_url, bind, inherited, make_gateway_server, run
from gateway.settings.model import ConfigError, ServerSettings, Settings
from gateway.storage.key_store import KeyStore
from gateway.telemetry.events import configure_logging
from gateway.telemetry.metrics import create_metrics

TAKEOVER_SECONDS = 5.0
"""How much longer than its `shutdown_seconds` a predecessor is waited for."""
_OTHER_FILES = 256

_CANNOT_LISTEN = {
    errno.EADDRINUSE: "another program has the port. End it, or choose another with PORT_BY",
    errno.EACCES: "ports below 1024 need rights of their own. Choose another with PORT_BY",
    errno.EADDRNOTAVAIL: "this machine has no such address. 127.0.0.1 is for itself alone, "
    "0.0.0.0 is all that it has",
}
"""By the error of a socket that cannot listen: what that means, and what to do."""


def serve_gateway(settings: Settings, *, fd: int | None = None) -> NoReturn:
    """Serve until a signal; ConfigError or LockError if it cannot be.

    With `fd` the listening socket is inherited, and a predecessor on it may still be at its last
    requests: it is waited for, while new connections wait in the socket.
    """
    configure_logging()
    asyncio.run(_open_once(settings))
    app: ASGIApp = create_app(settings)
    server = settings.server
    max_wait_seconds = 0.0 if fd is None else server.shutdown_seconds + TAKEOVER_SECONDS
    taken = None if fd is None else _inherited(fd)
    with exclusive_lock(settings.access.database, max_wait_seconds=max_wait_seconds):
        listening = taken or listening_at(server.host, server.port)
        sockets, greeting = [listening], f"Sheets gateway on {base_url(listening)}"
        metrics = settings.metrics
        if metrics.listen is not None:
            sockets.append(listening_at(*metrics.listen, port_by="metrics.listen"))
            hosts = {metrics.listen.host.lower(), *metrics.hosts}
            app = with_metrics(app, sockets[1], beside=listening, hosts=hosts)
            greeting += f", metrics on {base_url(sockets[1])}/metrics"
        _allow_files(server)
        proxies, is_inherited = settings.access.trusted_proxies, fd is not None
        served = make_gateway_server(app, server, proxies=proxies, is_inherited=is_inherited)
        run(served, sockets, greeting)


def with_metrics(
    app: ASGIApp, listening: socket.socket, *, beside: socket.socket, hosts: Collection[str] = ()
) -> ASGIApp:
    """`app`, but `/metrics` alone at the port of `listening`; `hosts` as in `create_metrics`.

    Raises `ConfigError` if `beside`, where the app itself is served, has this port too, at another
    address: connections are told apart by their port.
    """
    port = listening.getsockname()[1]
    if beside.family != socket.AF_UNIX and beside.getsockname()[1] == port:
        problem = f"must have another port than {port}, where the gateway itself listens"
        raise ConfigError([f"metrics.listen: {problem}"])
    return ByPort(app, {port: create_metrics(hosts=hosts)})


def listening_at(host: str, port: int, *, port_by: str = "--port") -> socket.socket:
    """A socket that listens there; ConfigError in words if that cannot be.

    `port_by` is what the port is chosen with.
    """
    try:
        return bind(host, port)
    except OSError as error:
        words = _CANNOT_LISTEN.get(error.errno or 0, error.strerror or "")
        reason = words.replace("PORT_BY", port_by)
    except OverflowError:
        reason = "a port is a number from 0 to 65535"
    except (TypeError, UnicodeError):  # what a socket says of a name past IDNA
        reason = "this is no name of a host"
    raise ConfigError([f"cannot listen on {host}:{port}: {reason}"])


def _inherited(fd: int) -> socket.socket:
    try:
        return inherited(fd)
    except OSError as error:
        raise ConfigError(
            [f"--fd {fd}: no listening socket was inherited under this number: {error.strerror}"]
        ) from error


async def _open_once(settings: Settings) -> None:
    """Open the key store and close it: a mistake about it is told before anything is served.

    Before the application takes the pepper, too: it would make another where there is none.
    """
    async with KeyStore.open(settings.access.database) as store:
        await pepper_of(store, settings.access)


def _allow_files(settings: ServerSettings) -> None:
    """Allow as many open files as connections may need, as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
