"""Create the ASGI application of the gateway from the settings (composition root)."""

import asyncio
import hashlib
import importlib.util
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from gateway.access.address_rates import AddressRates
from gateway.access.keys import (
    OF_FILE,
    ActiveKeys,
    Gatekeeper,
    LastUse,
    server_outage,
    warn_of_any_spreadsheet_keys,
)
from gateway.access.pepper import cursor_key, load_pepper, row_tag_key
from gateway.access.rates import KeyRates, KeyUsage
from gateway.access.turnstile import open_turnstile
from gateway.errors import KeysUnavailable
from gateway.google.client import Client, Google, assemble, open_accounts, open_budgets
from gateway.google.credentials import check_credentials
from gateway.google.quota import SpentQuota, open_spent_quota
from gateway.query.place import Cursors
from gateway.settings.database import PostgresUrl
from gateway.settings.model import MAIN_ACCOUNT, NO_REDIS_LIBRARY, ConfigError, Settings
from gateway.storage.key_signals import key_signals
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger, steady_clock
from gateway.web.admission import Admission, AuthCache
from gateway.web.forms import Forms
from gateway.web.frame import Frame, respond
from gateway.web.parsing import Parsing
from gateway.web.state import State
from gateway.web.title_aliases import TitleAliases
from gateway.worksheets.access import Layouts
from gateway.worksheets.catalogue import Catalogue
from gateway.worksheets.fences import Fences
from gateway.worksheets.rows import RowService

if TYPE_CHECKING:
    from gateway.cluster.cluster import Cluster

OpenClients = Callable[[], AbstractAsyncContextManager[Mapping[str, Client]]]


def create_app(settings: Settings, open_clients: OpenClients | None = None) -> Frame:
    """Create the gateway's application. Tests pass `open_clients` to replace Google's accounts.

    Raises ConfigError if a file or URL in the settings cannot be used.
    """
    pepper = load_pepper(settings.access)
    if settings.is_cluster and settings.cluster.redis is not None:
        if importlib.util.find_spec("redis") is None:
            raise ConfigError(NO_REDIS_LIBRARY)
        from gateway.cluster.store import check_url  # noqa: PLC0415 - as in `_cluster`

        check_url(settings.cluster.redis.get_secret_value())
    if open_clients is None:
        open_clients = partial(
            open_accounts,
            settings.google.by_account(),
            max_rendering_bytes=settings.cache.max_worksheet_bytes,
        )
        # The application reads the files again when it starts. Here an error is a ConfigError.
        for account in settings.google.by_account().values():
            check_credentials(account, os.environ)

    return Frame(respond, settings.server, lambda _: _opened(settings, pepper, open_clients))


@asynccontextmanager
async def _opened(
    settings: Settings, pepper: bytes, open_clients: OpenClients
) -> AsyncIterator[State]:
    """Open all objects that requests need, in order of dependency, and close in reverse order."""
    clock, database = steady_clock(), settings.access.database
    async with (
        KeyStore.open(database) as store,
        store.storing_usage(_now) as flush_usage,
        store.open_ledger(clock, max_bytes=settings.writes.max_record_bytes) as ledger,
        _cluster(settings, clock) as cluster,
        _access(settings, pepper, store, cluster) as (keys, admission, reread_keys),
        _google(settings, open_clients, store, cluster) as google,
        open_turnstile(settings.turnstile) as turnstile,
        aclosing(_rows(settings, pepper, google, ledger, cluster, clock)) as rows,
    ):
        yield State(
            admission=admission,
            parsing=Parsing(),
            forms=Forms(
                settings.forms,
                turnstile,
                settings.access.trusted_proxies,
                timer=asyncio.get_running_loop().time,
            ),
            store=store,
            reread_keys=reread_keys,
            sheets=google.sheets,
            flush_usage=flush_usage,
            ready=store.ping,
            outlasts_outage=lambda: keys.outlasts_outage,
            is_redis_available=lambda: cluster.store.is_available if cluster else None,
            was_accepted=google.acceptance.found,
            accounts=google.pipeline.accounts,
            title_aliases=TitleAliases(write_seconds=settings.cache.header_ttl_seconds),
            rows=rows,
            cursors=Cursors(cursor_key(pepper)),
            catalogue=Catalogue(
                google.sheets,
                max_worksheets=settings.cache.max_worksheets,
                clock=time.monotonic,
                layouts=Layouts(settings.worksheets),
            ),
            api=settings.api,
            admin=settings.admin,
            server=settings.server,
        )


@asynccontextmanager
async def _access(
    settings: Settings, pepper: bytes, store: KeyStore, cluster: "Cluster | None"
) -> AsyncIterator[tuple[ActiveKeys, Admission, Callable[[], Awaitable[None]]]]:
    """Open the active keys, the admission (key and rate checks), and `State.reread_keys`."""
    await warn_of_any_spreadsheet_keys(store, _now())
    access = settings.access
    is_server = isinstance(access.database, PostgresUrl)
    outage = server_outage(access.grace_seconds) if is_server else OF_FILE
    keys = ActiveKeys(
        store.changes, settings.plans, clock=_now, tag_key=row_tag_key(pepper), outage=outage
    )
    auth_cache = AuthCache(keys.fresh_until)

    def forget_keys() -> None:
        auth_cache.clear()
        keys.changed()

    async def reread_keys() -> None:
        forget_keys()
        with suppress(KeysUnavailable):  # the change applies within 5 s without this call
            await keys.settled()

    await keys.load()
    async with (
        aclosing(keys),
        aclosing(LastUse(store.touch, _now)) as last_use,
        key_signals(
            access.database,
            forget_keys,
            store.abort_idle,
            cluster.membership.sessions_counted if cluster else lambda _count: None,
        ),
    ):
        gatekeeper = Gatekeeper(
            keys=keys,
            pepper=pepper,
            clock=_now,
            failures=AddressRates(access.failures_per_minute),
            used=last_use.note,
        )
        rates = KeyRates(settings.plans, new_usage=cluster.key_rates.usage if cluster else KeyUsage)
        admission = Admission(gatekeeper.identify, rates, auth_cache, access.trusted_proxies)
        yield keys, admission, reread_keys


@asynccontextmanager
async def _google(
    settings: Settings, open_clients: OpenClients, store: KeyStore, cluster: "Cluster | None"
) -> AsyncIterator[Google]:
    """Open Google's accounts. Quota that an earlier process used counts as used."""
    database = settings.access.database

    def open_spent(name: str) -> AbstractAsyncContextManager[SpentQuota]:
        if isinstance(database, PostgresUrl):
            return store.open_spent_quota(name)
        # Files in the folder of the SQLite file, because storing the quota must not delay a call.
        suffix = "" if name == MAIN_ACCOUNT else "." + re.sub(r"[^\w-]", "_", name)
        return open_spent_quota(database.with_name(f"{database.name}.quota{suffix}"))

    share = cluster.quota.share if cluster else None
    async with (
        open_clients() as clients,
        open_budgets(settings, clients, open_spent, share) as budgets,
    ):
        google = assemble(clients, budgets, turn_seconds=settings.writes.max_waiting_seconds)
        async with aclosing(google.acceptance):
            yield google


def _rows(
    settings: Settings,
    pepper: bytes,
    google: Google,
    ledger: SqlLedger,
    cluster: "Cluster | None",
    clock: Callable[[], float],
) -> RowService:
    write_turn = google.pipeline.write_turn
    return RowService(
        google.sheets,
        cache=settings.cache,
        writes=settings.writes,
        api=settings.api,
        ledger=ledger,
        clock=time.monotonic,
        wall_clock=clock,
        fences=Fences(
            google.sheets,
            key=fence_key(pepper),
            clock=clock,
            write_turn=write_turn,
            recorded=ledger.open_fences,
            kept=ledger.kept_fences if cluster else None,
        ),
        # Running processes handle their open writes. The write lock has writes of ended processes.
        open_writes=() if cluster else ledger.open_writes,
        peers=cluster.peers if cluster else None,
        layouts=Layouts(settings.worksheets),
        write_turn=write_turn,
        read_budget=google.pipeline.accounts.reads_per_second,
    )


_now = partial(datetime.now, UTC)


def fence_key(pepper: bytes) -> str:
    """Return the metadata key of fences (marks of applied writes) for gateways with this pepper."""
    return "gw-" + hashlib.blake2b(pepper, digest_size=6, person=b"fences").hexdigest()


@asynccontextmanager
async def _cluster(
    settings: Settings, clock: Callable[[], float]
) -> AsyncIterator["Cluster | None"]:
    """Open the state that processes share, or yield None without Redis or PostgreSQL."""
    redis, database = settings.cluster.redis, settings.access.database
    if redis is None or not isinstance(database, PostgresUrl):
        yield None
        return
    # The Redis library is optional, and takes a third of a second to import.
    from gateway.cluster.cluster import open_cluster  # noqa: PLC0415

    async with open_cluster(settings, database, redis.get_secret_value(), clock) as cluster:
        yield cluster
