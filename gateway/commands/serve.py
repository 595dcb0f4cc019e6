"""`sheets-gateway serve`: checks, sockets and lock before the first request."""

import asyncio
import errno
import os
import resource
import signal
import socket
from collections.abc import Collection
from typing import NoReturn

from starlette.types import ASGIApp

from gateway.access.pepper import pepper_of
from gateway.app import create_app
from gateway.server.running import ByPort, base_url, bind, inherited, make_gateway_server, run
from gateway.server.session_lock import store_lock
from gateway.settings.model import ConfigError, ServerSettings, Settings
from gateway.storage.key_store import KeyStore
from gateway.telemetry.events import configure_logging, store_lock_lost
from gateway.telemetry.metrics import create_metrics

TAKEOVER_SECONDS = 5.0
"""How long a predecessor may exceed its `shutdown_seconds`."""
_OTHER_FILES = 256

_CANNOT_LISTEN = {
    errno.EADDRINUSE: "another program uses the port. Stop it, or choose another port with PORT_BY",
    errno.EACCES: "ports below 1024 require privileges. Choose another port with PORT_BY",
    errno.EADDRNOTAVAIL: "this machine does not have this address. 127.0.0.1 is the loopback "
    "address, 0.0.0.0 means all addresses",
}
"""Explanation and advice by the error of `bind`."""


def serve_gateway(settings: Settings, *, fd: int | None = None) -> NoReturn:
    """Serve until a signal. Raises ConfigError or LockError if that is impossible.

    With `fd` the listening socket is inherited. A predecessor may still serve its last requests:
    new connections wait in the socket until it has ended.
    """
    configure_logging()
    asyncio.run(_open_once(settings))
    app: ASGIApp = create_app(settings)
    server = settings.server
    max_wait_seconds = 0.0 if fd is None else server.shutdown_seconds + TAKEOVER_SECONDS
    taken = None if fd is None else _inherited(fd)
    with store_lock(settings.access.database, max_wait_seconds=max_wait_seconds, lost=_stop):
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
    """`app`, but only `/metrics` at the port of `listening`; `hosts` as in `create_metrics`.

    Raises `ConfigError` if the app's own socket, `beside`, has the same port at another address:
    applications are selected by port.
    """
    port = listening.getsockname()[1]
    if beside.family != socket.AF_UNIX and beside.getsockname()[1] == port:
        problem = f"must have another port than {port}, the port of the gateway itself"
        raise ConfigError([f"metrics.listen: {problem}"])
    return ByPort(app, {port: create_metrics(hosts=hosts)})


def listening_at(host: str, port: int, *, port_by: str = "--port") -> socket.socket:
    """Open a listening socket. Raises ConfigError with an explanation.

    `port_by` is the option or setting that chooses the port.
    """
    try:
        return bind(host, port)
    except OSError as error:
        words = _CANNOT_LISTEN.get(error.errno or 0, error.strerror or "")
        reason = words.replace("PORT_BY", port_by)
    except OverflowError:
        reason = "a port is a number from 0 to 65535"
    except (TypeError, UnicodeError):  # names that IDNA cannot encode
        reason = "invalid host name"
    raise ConfigError([f"cannot listen on {host}:{port}: {reason}"])


def _inherited(fd: int) -> socket.socket:
    try:
        return inherited(fd)
    except OSError as error:
        raise ConfigError(
            [f"--fd {fd}: no listening socket was inherited under this number: {error.strerror}"]
        ) from error


def _stop() -> None:
    """End this process as an operator does: another gateway has taken the key store."""
    store_lock_lost()
    os.kill(os.getpid(), signal.SIGTERM)


async def _open_once(settings: Settings) -> None:
    """Open the key store and close it, so that its problems are reported before serving.

    It runs before the application loads the pepper, which would create a missing one.
    """
    async with KeyStore.open(settings.access.database) as store:
        await pepper_of(store, settings.access)


def _allow_files(settings: ServerSettings) -> None:
    """Raise the limit of open files for the expected connections, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
