"""Spent quota in PostgreSQL: the same numbers as in the file beside a SQLite database.

Rules
- No call waits for the database: the latest numbers are stored shortly after they are noted.
- A failure is logged once until storing works again; quota is limited as before.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sqlalchemy import Boolean, Column, Float, String, Table, select
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.google.quota import Instants, SpentQuota
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


@asynccontextmanager
async def stored_spent_quota(
    engine: AsyncEngine, account: str, *, now: Callable[[], float] = time.time
) -> AsyncIterator[SpentQuota]:
    """Read what an earlier process spent of an account or project.

    `now` gives seconds since the epoch.
    """
    full_at: dict[bool, float] = {}
    try:
        async with engine.connect() as connection:
            rows = await connection.execute(select(_spent).where(_spent.c.account == account))
            full_at = {row.is_write: row.full_at for row in rows}
    except STORE_ERRORS as error:
        spent_quota_failed(error)
    writer = _Writer(engine, account)
    try:
        yield SpentQuota((full_at.get(False, 0.0), full_at.get(True, 0.0)), writer.keep, now=now)
    finally:
        await writer.aclose()


class _Writer:
    """Stores the latest instants in a task."""

    def __init__(self, engine: AsyncEngine, account: str) -> None:
        self._engine = engine
        self._account = account
        self._waiting: Instants | None = None
        self._task: asyncio.Task[None] | None = None
        self._has_failed = False

    def keep(self, full_at: Instants) -> None:
        self._waiting = full_at
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._store_all())

    async def aclose(self) -> None:
        """Wait until the latest instants are stored."""
        if self._task is not None:
            await self._task

    async def _store_all(self) -> None:
        while self._waiting is not None:
            reads, writes = self._waiting
            self._waiting = None
            rows = [
                {"account": self._account, "is_write": is_write, "full_at": full_at}
                for is_write, full_at in zip((False, True), (reads, writes), strict=True)
            ]
            try:
                async with self._engine.begin() as connection:
                    await connection.execute(_PUT, rows)
                self._has_failed = False
            except STORE_ERRORS as error:
                if not self._has_failed:
                    spent_quota_failed(error)
                self._has_failed = True
