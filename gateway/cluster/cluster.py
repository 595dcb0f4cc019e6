"""State that gateway processes share through PostgreSQL and Redis."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.cluster.agreement import open_agreement
from gateway.cluster.key_rates import SharedKeyRates, open_key_rates
from gateway.cluster.membership import Membership, open_membership
from gateway.cluster.quota import SharedQuota
from gateway.cluster.shared_rows import SharedRows
from gateway.cluster.store import Store, open_store
from gateway.cluster.write_lock import open_write_lock
from gateway.settings.database import PostgresUrl
from gateway.settings.model import Settings
from gateway.storage.database import open_database
from gateway.telemetry.events import processes_counted, store_opened
from gateway.worksheets.access import Layouts
from gateway.worksheets.fences import LIMIT_SECONDS
from gateway.worksheets.sharing import Peers

LOCK_RESERVE_SECONDS = 5.0
"""Seconds that a lock's database session can be idle beyond the longest duration of a write."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """State that processes share: Google's quota, rates of API keys, rows and write locks."""

    store: Store
    membership: Membership
    quota: SharedQuota
    key_rates: SharedKeyRates
    peers: Peers


@asynccontextmanager
async def open_cluster(
    settings: Settings, database: PostgresUrl, redis: str, clock: Callable[[], float]
) -> AsyncIterator[Cluster]:
    """Connect to Redis and PostgreSQL, and register this process. Redis can be unavailable.

    `redis` is a URL. `clock` returns seconds since the epoch. Raises ConfigError if the database is
    unusable, or if running processes have other `[[worksheets]]` settings.
    """
    store_opened()
    google, layouts = settings.google, Layouts(settings.worksheets)
    longest_seconds = (
        settings.writes.max_waiting_seconds
        + google.max_waiting_seconds
        + google.read_timeout_seconds
        + google.write_timeout_seconds
        + LIMIT_SECONDS
        + LOCK_RESERVE_SECONDS
    )
    async with (
        open_store(redis) as store,
        open_membership(store, counted=processes_counted) as membership,
        open_database(database) as engine,
        open_key_rates(store, membership) as key_rates,
        open_agreement(store, layouts),
    ):
        quota, rows = SharedQuota(store, membership), SharedRows(store, layouts=layouts)
        async with open_write_lock(
            database,
            engine,
            rows,
            clock=clock,
            max_waiting_seconds=settings.writes.max_waiting_seconds,
            longest_seconds=longest_seconds,
        ) as lock:
            try:
                yield Cluster(
                    store=store,
                    membership=membership,
                    quota=quota,
                    key_rates=key_rates,
                    peers=Peers(rows=rows, lock=lock),
                )
            finally:
                await store.finish()
