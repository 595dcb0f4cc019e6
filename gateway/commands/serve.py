"""The command `sheets-gateway serve`: checks, sockets and the lock of the key store."""

import asyncio
import ctypes
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp

from gateway import __version__
from gateway.access.pepper import pepper_of
from gateway.app import create_app
from gateway.commands.check import check_setup
from gateway.commands.doctor.account import context_of, opened_accounts
from gateway.commands.options import configuration_words, unusable_store
from gateway.commands.terminal import say
from gateway.errors import GatewayError
from gateway.google.calls import Send
from gateway.google.credentials import DOWNLOAD
from gateway.server.running import GatewayServer, by_port, run
from gateway.server.sockets import base_url, bind, inherited
from gateway.settings.address import is_allowed_endpoint, is_loopback
from gateway.settings.model import ConfigError, ServerSettings, Settings, load_settings
from gateway.storage.database import reason_of
from gateway.storage.key_store import KeyStore
from gateway.storage.lock import store_lock
from gateway.telemetry.events import (
    configure_logging,
    credentials_missing,
    serving,
    store_lock_lost,
)
from gateway.telemetry.metrics import create_metrics
from gateway.worksheets.access import Layouts

TAKEOVER_SECONDS = 5.0
"""Seconds, added to `shutdown_seconds`, to wait for the lock of the previous gateway process."""
CREDENTIALS_SECONDS = 2.0
"""Maximum time to find Application Default Credentials before the start."""
_NO_CREDENTIALS = (
    "google.credentials is not set, and no Application Default Credentials were found within "
    f"{CREDENTIALS_SECONDS:.0f} s. Set google.credentials to a key file: {DOWNLOAD}"
)
_OTHER_FILES = 256
"""Number of open files to allow in addition to the connections of clients."""
_PR_SET_PDEATHSIG = 1


def serve_gateway(settings: Settings, *, config: Path | None, fd: int | None) -> NoReturn:
    """Serve until a signal. Raises ConfigError or LockError if the gateway cannot start.

    `fd` is the number of an inherited listening socket, or None. The previous process with this
    socket might still answer requests, and have the lock of the key store. This process waits for
    the lock; meanwhile new connections wait in the socket. In a cluster there is no lock, so both
    processes serve.
    """
    configure_logging(form=settings.log.format)
    key_count = asyncio.run(_open_once(settings))
    server = settings.server
    max_wait_seconds = 0.0 if fd is None else server.shutdown_seconds + TAKEOVER_SECONDS
    taken = None if fd is None else inherited(fd)
    with (
        nullcontext()
        if settings.is_cluster
        else store_lock(settings.access.database, max_wait_seconds=max_wait_seconds, lost=_stop)
    ):
        listening = taken or bind(server.host, server.port)
        app, sockets, urls = _prepared(settings, config, listening, key_count)
        proxies = settings.access.trusted_proxies
        made = GatewayServer(app, server, proxies=proxies, is_inherited=fd is not None)
        others = "".join(f", {name} on {url}" for name, url in urls.items())
        run(made, sockets, f"Sheets gateway on {base_url(listening)}{others}")


def serve_worker() -> NoReturn:
    """Serve as a worker process of `gateway.commands.workers`.

    The last command-line argument is a JSON object with the worker's number, socket and settings.
    Prints one line when the worker serves: the URL of its metrics, or a blank line. The worker
    stops if its parent process ends.
    """
    job = json.loads(sys.argv[-1])
    _end_with(job["parent"])
    config = job["config"] and Path(job["config"])
    try:
        settings = load_settings(config, os.environ, job["overrides"])
        configure_logging(form=settings.log.format)
        key_count = asyncio.run(_open_once(settings))
        fd, is_inherited = job["fd"], job["is_inherited"]
        listening = inherited(fd) if is_inherited else socket.socket(fileno=fd)
        listening.set_inheritable(False)
        app, sockets, urls = _prepared(settings, config, listening, key_count, job["number"])
    except ConfigError as error:
        say(*(f"sheets-gateway: {problem}" for problem in error.problems), err=True)
        sys.exit(2)
    server = GatewayServer(
        app,
        settings.server,
        proxies=settings.access.trusted_proxies,
        is_inherited=is_inherited,
        started=lambda: say(urls.get("metrics", "")),
    )
    run(server, sockets)


def _prepared(
    settings: Settings,
    config: Path | None,
    listening: socket.socket,
    key_count: int,
    worker: int = 0,
) -> tuple[ASGIApp, list[socket.socket], Mapping[str, str]]:
    """Build the application and open its other sockets. Logs the start.

    Returns the application, all sockets, and the URLs of `metrics` and `console` if they are
    served. Each worker has its own port for metrics. Worker 0 alone serves the console.
    """
    app: ASGIApp = create_app(settings)
    sockets, urls, admin = [listening], dict[str, str](), settings.admin
    if settings.metrics.listen is not None:
        host, port = settings.metrics.listen
        own = bind(host, port and port + worker, port_by="metrics.listen")
        hosts = {host.lower(), *settings.metrics.hosts}
        app = with_metrics(app, own, beside=listening, hosts=hosts)
        sockets.append(own)
        urls["metrics"] = f"{base_url(own)}/metrics"
    if admin.listen is not None and worker == 0:
        own = bind(*admin.listen, port_by="admin.listen")
        app = with_console(app, settings, own, beside=listening)
        sockets.append(own)
        urls["console"] = admin.public_url or base_url(own)
    asyncio.run(_announce(settings, config, [base_url(listening), *urls.values()], key_count))
    _allow_files(settings.server)
    return app, sockets, urls


def with_metrics(
    app: ASGIApp, listening: socket.socket, *, beside: socket.socket, hosts: Collection[str] = ()
) -> ASGIApp:
    """Return an application that serves `/metrics` at the port of `listening`, else `app`.

    `beside` is the socket of `app`. `hosts` are accepted Host headers, besides localhost and IP
    addresses. Raises `ConfigError` if both sockets have the same port, because the port selects the
    application.
    """
    return by_port(app, _own_port(listening, beside, "metrics"), create_metrics(hosts=hosts))


def with_console(
    app: ASGIApp, settings: Settings, listening: socket.socket, *, beside: socket.socket
) -> ASGIApp:
    """Return an application that serves the console at the port of `listening`, else `app`.

    `beside` is the socket of `app`. Raises `ConfigError` if both sockets have the same port.
    """
    # Jinja2 takes a twentieth of a second to import.
    from gateway.admin.console import create_console  # noqa: PLC0415

    async def check(
        spreadsheet: str | None, sends: Mapping[str, Send]
    ) -> Sequence[tuple[str, str]]:
        found = check_setup(settings, spreadsheet, sends=sends)
        return [(each.level, each.text) async for each in found]

    port = _own_port(listening, beside, "admin")
    return by_port(app, port, create_console(settings, api_url=base_url(beside), check=check))


def _own_port(listening: socket.socket, beside: socket.socket, section: str) -> int:
    """Return the port of `listening`. Raises ConfigError if `beside` has the same port.

    `section` is the section of the settings with the address of `listening`.
    """
    port: int = listening.getsockname()[1]
    if beside.family != socket.AF_UNIX and beside.getsockname()[1] == port:
        problem = f"must have another port than {port}, the port of the gateway itself"
        raise ConfigError(f"{section}.listen: {problem}")
    return port


def _end_with(parent: int) -> None:
    """Let Linux send SIGTERM to this process when `parent` ends. Exits if `parent` has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(0)


def _stop() -> None:
    """Stop this process with SIGTERM, because another gateway has the lock of the key store."""
    store_lock_lost()
    os.kill(os.getpid(), signal.SIGTERM)


async def _announce(
    settings: Settings, config: Path | None, listeners: Sequence[str], key_count: int
) -> None:
    """Log the start, with the Google accounts and with `listeners`, the URLs of the sockets.

    Raises `ConfigError` for an account without credentials. At an endpoint other than Google's,
    such as an emulator, missing credentials are only logged.
    """
    google, database = settings.google, settings.access.database
    accounts, found = google.by_account(), []
    async with opened_accounts(accounts) as opened:
        for name, client in opened.items():
            if accounts[name].credentials is None:
                with suppress(GatewayError):  # Google might accept the account later
                    await client.sign_in(CREDENTIALS_SECONDS)
                if not client.tokens.has_credentials:
                    host = urlsplit(google.endpoint).hostname or ""
                    is_google = is_allowed_endpoint(google.endpoint, allow_insecure=False)
                    if is_google and not is_loopback(host):
                        words = f"configuration: {configuration_words(config)}"
                        raise ConfigError(_NO_CREDENTIALS, words)
                    credentials_missing(name, google.endpoint)
            found.append(f"{name}: {context_of(accounts[name], client).who}")
    serving(
        version=__version__,
        configuration=configuration_words(config),
        listeners=listeners,
        key_store=str(database.absolute() if isinstance(database, Path) else database),
        key_count=key_count,
        accounts=found,
    )


async def _open_once(settings: Settings) -> int:
    """Open the key store, check it, and close it. Returns the number of valid keys.

    Raises ConfigError if the store, its pepper or Redis cannot be used. This runs before
    `create_app`, which creates a missing pepper file.
    """
    try:
        async with KeyStore.open(settings.access.database) as store:
            await pepper_of(store, settings.access)
            await store.check()
            redis = settings.cluster.redis
            if redis is not None and settings.is_cluster:
                # The library of Redis is an optional dependency.
                from gateway.cluster.agreement import check_agreement  # noqa: PLC0415

                await check_agreement(redis.get_secret_value(), Layouts(settings.worksheets))
            return await store.count(datetime.now(UTC))
    except SQLAlchemyError as error:
        raise ConfigError(unusable_store(reason_of(error))) from error


def _allow_files(settings: ServerSettings) -> None:
    """Raise this process's soft limit of open files for `max_connections`, up to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
