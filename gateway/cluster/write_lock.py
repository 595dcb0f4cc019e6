"""Write lock of worksheets in PostgreSQL: an advisory lock, and a database row with the holder.

The holder is the process that may write to a worksheet. A batch is one request to Google with its
writes. A fence is metadata in the spreadsheet that proves that a batch was applied. Google refuses
a new fence with the ID of an existing one. An epoch is a version of a worksheet's rows.

Rules
- The advisory lock only makes other processes wait. The database row keeps the order of writes: a
  holder stores the fence of a batch before it sends the batch. Storing fails if another process has
  become the holder.
- A new holder first looks up whether Google has the stored fence of the previous batch. If not, the
  new holder creates a fence with the same ID, so that Google refuses the batch if it arrives late.
- PostgreSQL frees the lock of a process that ends. It also frees the lock of a process that hangs,
  because the idle time of a session is limited.
- Locks have separate connections, so that waiting writers do not block other database use.
- A write begins a new epoch before the client gets the answer. So no process serves older rows as
  fresh afterwards.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gateway.cluster.shared_rows import SharedRows
from gateway.errors import UNKNOWN_RETRY_SECONDS, GatewayError, QueueFull, RecordsUnavailable
from gateway.google.sheets import Fence
from gateway.settings.database import PostgresUrl
from gateway.storage.damaged_rows import DamagedRow
from gateway.storage.database import CONNECT_TIMEOUT_SECONDS, STORE_ERRORS, server_engine
from gateway.storage.worksheet_rows import WorksheetRow, leave_row, open_fence, take_row
from gateway.storage.write_records import place_of
from gateway.telemetry.events import current_event, damaged_row, request_failed
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.sharing import OpenFence, SharedState
from gateway.worksheets.snapshot import digest_of
from gateway.worksheets.write_queue import too_busy

MAX_LOCKS = 8
"""Maximum number of worksheets to which a process writes at once. Other writes wait."""

UNLOCK_SECONDS = 2.0
RETRY_SECONDS = 5

_LOCK = text("SELECT pg_advisory_lock(hashtextextended(:place, 0))")
_UNLOCK = text("SELECT pg_advisory_unlock(hashtextextended(:place, 0))")
_LOCK_NOT_AVAILABLE = "55P03"


@dataclass(kw_only=True)
class _Hold:
    """State of a worksheet while this process holds the worksheet's lock."""

    holder: str
    earlier: OpenFence | None
    """Fence (mark) of the previous holder's last batch, if the batch's outcome is unknown."""
    left: OpenFence | None = None
    """Fence (mark) of this process's last batch, if the batch's outcome is unknown."""
    is_used: bool = False
    """True if a batch was sent, or the outcome of an earlier batch became known."""


class PostgresWriteLock:
    """Implements `WriteLock` in PostgreSQL. `clock` returns seconds since the epoch for fences."""

    def __init__(
        self,
        locks: AsyncEngine,
        engine: AsyncEngine,
        rows: SharedRows,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._locks = locks
        self._engine = engine
        self._rows = rows
        self._clock = clock
        self._holds: dict[WorksheetId, _Hold] = {}

    @asynccontextmanager
    async def held(self, state: SharedState) -> AsyncIterator[None]:
        worksheet = state.id
        try:
            connection = await self._locked(worksheet)
        except STORE_ERRORS as error:
            raise _no_lock(error) from error
        try:
            try:
                hold = await self._take(state)
            except STORE_ERRORS as error:
                raise _no_lock(error) from error
            except DamagedRow as error:
                damaged_row(error.table, error.row, error.problem)
                raise RecordsUnavailable(
                    "The gateway cannot read its record of an earlier write to this "
                    "worksheet, so nothing was written. Ask the gateway's operator for help.",
                    outcome="not_applied",
                    retry_after_seconds=UNKNOWN_RETRY_SECONDS,
                ) from error
            seen_seconds = state.newest_seconds
            state.take_news()
            with state.written():
                try:
                    yield
                finally:
                    del self._holds[worksheet]
                    if hold.is_used or state.newest_seconds != seen_seconds:
                        await self._leave(state, hold)
        finally:
            await self._unlock(connection, worksheet)

    def earlier(self, worksheet: WorksheetId) -> OpenFence | None:
        return self._holds[worksheet].earlier

    def settled(self, worksheet: WorksheetId, fence: Fence) -> None:
        hold = self._holds[worksheet]
        if hold.earlier is not None and hold.earlier.fence == fence:
            hold.earlier, hold.is_used = None, True

    async def opening(self, worksheet: WorksheetId, fence: Fence) -> None:
        hold = self._holds[worksheet]
        opened = OpenFence(fence, self._clock())
        try:
            async with self._engine.begin() as connection:
                is_held = await open_fence(connection, worksheet, hold.holder, opened)
        except STORE_ERRORS as error:
            raise _no_lock(error) from error
        if not is_held:
            raise QueueFull(
                "Another process of the gateway took over the writes to this worksheet. Nothing "
                "was written; send the request again.",
                outcome="not_applied",
                retry_after_seconds=1,
            )
        hold.left, hold.is_used = None, True

    def left_open(self, worksheet: WorksheetId, fence: Fence) -> None:
        self._holds[worksheet].left = OpenFence(fence, self._clock())

    async def _locked(self, worksheet: WorksheetId) -> AsyncConnection:
        connection = await self._locks.connect()
        try:
            await connection.execute(_LOCK, {"place": place_of(worksheet)})
        except BaseException:
            await connection.invalidate()
            await connection.close()
            raise
        return connection

    async def _take(self, state: SharedState) -> _Hold:
        """Store this process as the holder, and apply writes that other processes made before."""
        worksheet, holder = state.id, secrets.token_urlsafe(12)
        async with self._engine.begin() as connection:
            row = await take_row(connection, worksheet, holder)
        hold = _Hold(holder=holder, earlier=row.open_fence)
        self._holds[worksheet] = hold
        if row.epoch is None or row.epoch != state.own_epoch or row.open_fence is not None:
            if not await self._rows.is_current(state) or row.open_fence is not None:
                state.forget()
                state.overtaken()
            state.header.adopt(
                row.sheet_id, row.header_digest, row.last_row, as_of=state.overtaken_at
            )
        return hold

    async def _leave(self, state: SharedState, hold: _Hold) -> None:
        """Publish a new epoch in Redis, then store data for the next writer in the database."""
        extent = state.header.extent
        await self._rows.begin_epoch(state)
        row = WorksheetRow(
            epoch=secrets.token_urlsafe(12),
            open_fence=hold.left or hold.earlier,
            sheet_id=state.header.last_sheet(),
            last_row=None if extent is None else extent.last_row,
            header_digest=None if extent is None else digest_of(extent.header),
        )
        is_left = False
        try:
            async with self._engine.begin() as connection:
                is_left = await leave_row(connection, state.id, hold.holder, row)
        except STORE_ERRORS as error:
            request_failed(current_event(), error)
        if is_left:
            state.own_epoch = row.epoch
        else:  # other processes might have written since
            state.own_epoch = None
            state.changed(None)
            state.header.forget()

    async def _unlock(self, connection: AsyncConnection, worksheet: WorksheetId) -> None:
        """Free the lock. If the statement fails, close the connection to free the lock."""
        try:
            async with asyncio.timeout(UNLOCK_SECONDS):
                await connection.execute(_UNLOCK, {"place": place_of(worksheet)})
        except (TimeoutError, RuntimeError, *STORE_ERRORS):  # uvloop raises RuntimeError
            with suppress(RuntimeError, *STORE_ERRORS):
                await connection.invalidate()
        await connection.close()


@asynccontextmanager
async def open_write_lock(
    database: PostgresUrl,
    engine: AsyncEngine,
    rows: SharedRows,
    *,
    clock: Callable[[], float],
    max_waiting_seconds: float,
    longest_seconds: float,
) -> AsyncIterator[PostgresWriteLock]:
    """Open the write locks. A session that is idle for `longest_seconds` loses its locks.

    A write that waits for a lock longer than `max_waiting_seconds` gets `QueueFull`. `clock`
    returns seconds since the epoch.
    """
    locks = server_engine(
        database,
        name="sheets-gateway lock",
        statement_timeout_seconds=max_waiting_seconds + CONNECT_TIMEOUT_SECONDS,
        settings={
            "lock_timeout": f"{max_waiting_seconds * 1000:.0f}",
            "idle_session_timeout": f"{longest_seconds * 1000:.0f}",
        },
        isolation_level="AUTOCOMMIT",
        pool_size=MAX_LOCKS,
        max_overflow=0,
        pool_timeout=max_waiting_seconds,
        pool_pre_ping=True,
        pool_recycle=longest_seconds / 2,
    )
    try:
        yield PostgresWriteLock(locks, engine, rows, clock=clock)
    finally:
        await locks.dispose()


def _no_lock(error: Exception) -> GatewayError:
    code = getattr(error.orig, "sqlstate", "") if isinstance(error, DBAPIError) else ""
    if code == _LOCK_NOT_AVAILABLE or isinstance(error, NoFreeConnection):
        return too_busy()
    return RecordsUnavailable(
        "The gateway's database does not answer, so nothing was written. Send the request again.",
        outcome="not_applied",
        retry_after_seconds=RETRY_SECONDS,
    )
