"""`sheets-gateway serve`: checks, sockets and lock before the first request."""

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
from gateway.server.running import ByPort, GatewayServer, run
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
"""Wait for a predecessor beyond its `shutdown_seconds`."""
CREDENTIALS_SECONDS = 2.0
"""Maximum time to search Application Default Credentials before the start."""
_NO_CREDENTIALS = (
    "google.credentials is not set, and no Application Default Credentials were found within "
    f"{CREDENTIALS_SECONDS:.0f} s. Set google.credentials to a key file: {DOWNLOAD}"
)
_OTHER_FILES = 256
_PR_SET_PDEATHSIG = 1


def serve_gateway(settings: Settings, *, config: Path | None, fd: int | None) -> NoReturn:
    """Serve until a signal. Raises ConfigError or LockError if that is impossible.

    With `fd` the listening socket is inherited. A predecessor may still serve its last requests:
    new connections wait in the socket until it has ended. In a cluster there is no lock, so both
    serve at the same time.
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
    """Serve as a worker of `gateway.commands.workers`, as the last argument describes.

    Prints the URL of its metrics, or a blank line, once it serves. It ends with its parent.
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
    """The application, its sockets, and the URLs of its `metrics` and `console`; logs the start.

    Each worker has its own port for metrics. The first one serves the console, whose sessions are
    in the key store.
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
    """Serve only `/metrics` at the port of `listening`, else `app`; `hosts` as in `create_metrics`.

    Raises `ConfigError` if the app's own socket, `beside`, has the same port at another address:
    applications are selected by port.
    """
    return ByPort(app, {_own_port(listening, beside, "metrics"): create_metrics(hosts=hosts)})


def with_console(
    app: ASGIApp, settings: Settings, listening: socket.socket, *, beside: socket.socket
) -> ASGIApp:
    """Serve the console at the port of `listening`, else `app`; raises as `with_metrics`."""
    # Jinja2 takes a twentieth of a second to import.
    from gateway.admin.console import create_console  # noqa: PLC0415

    async def check(
        spreadsheet: str | None, sends: Mapping[str, Send]
    ) -> Sequence[tuple[str, str]]:
        found = check_setup(settings, spreadsheet, sends=sends)
        return [(each.level, each.text) async for each in found]

    port = _own_port(listening, beside, "admin")
    console = create_console(settings, api_url=base_url(beside), check=check)
    return ByPort(app, {port: console})


def _own_port(listening: socket.socket, beside: socket.socket, section: str) -> int:
    """The port of `listening`. Raises ConfigError if `beside` has it, too."""
    port: int = listening.getsockname()[1]
    if beside.family != socket.AF_UNIX and beside.getsockname()[1] == port:
        problem = f"must have another port than {port}, the port of the gateway itself"
        raise ConfigError(f"{section}.listen: {problem}")
    return port


def _end_with(parent: int) -> None:
    """Request SIGTERM at the parent's end (Linux only); exit if the parent has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(0)


def _stop() -> None:
    """End this process as by an operator's signal, after another gateway took the key store."""
    store_lock_lost()
    os.kill(os.getpid(), signal.SIGTERM)


async def _announce(
    settings: Settings, config: Path | None, listeners: Sequence[str], key_count: int
) -> None:
    """Log the start. Raises `ConfigError` for an account without credentials.

    For an endpoint other than Google's, such as an emulator, missing credentials are a warning.
    """
    google, database = settings.google, settings.access.database
    accounts, found = google.by_account(), []
    async with opened_accounts(accounts) as opened:
        for name, client in opened.items():
            if accounts[name].credentials is None:
                with suppress(GatewayError):  # Google may accept them later; the log says so
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
    """Open the key store and close it, so that its problems are reported before serving.

    Returns the number of valid keys.

    It runs before the application loads the pepper, which would create a missing one.
    """
    try:
        async with KeyStore.open(settings.access.database) as store:
            await pepper_of(store, settings.access)
            await store.check()
            redis = settings.cluster.redis
            if redis is not None and settings.is_cluster:
                # Redis's library is in an extra.
                from gateway.cluster.agreement import check_agreement  # noqa: PLC0415

                await check_agreement(redis.get_secret_value(), Layouts(settings.worksheets))
            return await store.count(datetime.now(UTC))
    except SQLAlchemyError as error:
        raise ConfigError(unusable_store(reason_of(error))) from error


def _allow_files(settings: ServerSettings) -> None:
    """Raise the limit of open files for the expected connections, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
