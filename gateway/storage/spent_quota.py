"""Spent quota of Google's API in PostgreSQL. A gateway with SQLite has the same data in a file.

Spent quota is stored as times: when the whole burst of reads and of writes is available again.

Rules
- No call to Google waits for the database. A background task stores the latest times.
- Only the first failure is logged until the task succeeds again. A failure does not
  change the quota in memory.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import Boolean, Column, Float, String, Table, select
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.google.quota import SpentQuota
from gateway.storage.database import STORE_ERRORS, metadata, upsert
from gateway.telemetry.events import spent_quota_failed

_spent = Table(
    "spent_quota",
    metadata,
    Column("account", String, primary_key=True),
    Column("is_write", Boolean, primary_key=True),
    Column("full_at", Float, nullable=False),
)
_PUT = upsert(_spent)
_KINDS = (False, True)
"""Values of `is_write`: reads, then writes."""


@asynccontextmanager
async def stored_spent_quota(engine: AsyncEngine, account: str) -> AsyncIterator[SpentQuota]:
    """Load the spent quota of an account or project, and store changes."""
    full_at: dict[bool, float] = {}
    try:
        async with engine.connect() as connection:
            rows = await connection.execute(select(_spent).where(_spent.c.account == account))
            full_at = {row.is_write: row.full_at for row in rows}
    except STORE_ERRORS as error:
        spent_quota_failed(error)
    latest: list[Sequence[float]] = []  # times that are not stored yet
    task: asyncio.Task[None] | None = None
    has_failed = False

    async def store() -> None:
        nonlocal has_failed
        while latest:
            instants = latest.pop()
            rows = [
                {"account": account, "is_write": each, "full_at": instants[each]} for each in _KINDS
            ]
            try:
                async with engine.begin() as connection:
                    await connection.execute(_PUT, rows)
                has_failed = False
            except STORE_ERRORS as error:
                if not has_failed:
                    spent_quota_failed(error)
                has_failed = True

    def put(instants: Sequence[float]) -> None:
        """Store times for reads and writes in a task. Later calls replace times not yet stored."""
        nonlocal task
        latest[:] = [instants]
        if task is None or task.done():
            task = asyncio.get_running_loop().create_task(store())

    try:
        yield SpentQuota([full_at.get(each, 0.0) for each in _KINDS], time.time, put)
    finally:
        if task is not None:
            await task
