"""Spent quota in PostgreSQL: the same numbers as in the file beside a SQLite database.

Rules
- No call waits for the database: the latest numbers are stored shortly after they are noted.
- A failure is logged once until storing works again; quota is limited as before.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import Boolean, Column, Float, String, Table, select
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.google.quota import SpentQuota, credible, seconds_until
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
"""Reads and writes."""


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
    spent = _StoredSpentQuota(engine, account, [full_at.get(each, 0.0) for each in _KINDS], now)
    try:
        yield spent
    finally:
        await spent.aclose()


class _StoredSpentQuota:
    """A `SpentQuota` that a task stores."""

    def __init__(
        self,
        engine: AsyncEngine,
        account: str,
        full_at: Sequence[float],
        now: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._account = account
        self._now = now
        self._full_at = credible(full_at, now())
        self._is_stored = True
        self._task: asyncio.Task[None] | None = None
        self._has_failed = False

    def seconds(self, *, is_write: bool) -> float:
        return seconds_until(self._full_at[is_write], self._now())

    def note(self, seconds: float, *, is_write: bool) -> None:
        self._full_at[is_write] = self._now() + seconds
        self._is_stored = False
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._store_all())

    async def aclose(self) -> None:
        """Wait until the latest instants are stored."""
        if self._task is not None:
            await self._task

    async def _store_all(self) -> None:
        while not self._is_stored:
            self._is_stored = True
            rows = [
                {"account": self._account, "is_write": each, "full_at": self._full_at[each]}
                for each in _KINDS
            ]
            try:
                async with self._engine.begin() as connection:
                    await connection.execute(_PUT, rows)
                self._has_failed = False
            except STORE_ERRORS as error:
                if not self._has_failed:
                    spent_quota_failed(error)
                self._has_failed = True
