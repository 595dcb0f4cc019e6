"""What this process shares with others through Redis."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.cluster.membership import open_membership
from gateway.cluster.quota import SharedQuota
from gateway.cluster.store import open_store
from gateway.telemetry.events import processes_counted


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """`quota` shares the rates of accounts and projects."""

    quota: SharedQuota


@asynccontextmanager
async def open_cluster(redis: str) -> AsyncIterator[Cluster]:
    """Join the processes of a Redis, which need not be there yet."""
    async with (
        open_store(redis) as store,
        open_membership(store, counted=processes_counted) as membership,
    ):
        quota = SharedQuota(store, membership)
        try:
            yield Cluster(quota=quota)
        finally:
            await quota.aclose()
