"""Signals (NOTIFY) from PostgreSQL that keys changed, on a connection that listens for them.

Rules:
- The connection is outside the pool. A query uses it once a second, so this process notices that
  the connection has ended even if packets are dropped. The query counts the sessions named
  `SESSION`. This is the number of gateways, because each has one such session.
- Signals are lost while the connection is down. So each new connection counts as a signal.
- A failure is logged, not raised. Without signals, a request makes the gateway look for changed
  keys if it last did so 2 s ago.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import NullPool

from gateway.settings.database import Database, PostgresUrl
from gateway.storage.database import APPLICATION, server_engine
from gateway.telemetry.events import key_signals_changed

CHANNEL = "gateway_keys"
SESSION = f"{APPLICATION} signals"
"""Name of the sessions in `pg_stat_activity`."""
CHECK_SECONDS = 1.0
"""Seconds between two queries on the connection."""
ANSWER_SECONDS = 1.5
"""Maximum seconds to connect, and maximum seconds for a query."""
PAUSE_SECONDS = 0.5
"""Seconds between the end of a connection and the next connection."""
_CHECK = text(
    "SELECT greatest(count(*), 1) FROM pg_stat_activity WHERE application_name = :name "
    "AND datname = current_database() AND usename = current_user"
)


@asynccontextmanager
async def key_signals(
    database: Database,
    changed: Callable[[], object],
    hung: Callable[[], object],
    counted: Callable[[int], object] = lambda _count: None,
) -> AsyncIterator[None]:
    """Call `changed` after each change of keys during the block. Does nothing for a SQLite file.

    Calls `hung` if the connection did not answer in time, because other connections can be dead,
    too. Calls `counted` once a second with the number of gateways that use this database.
    """
    if not isinstance(database, PostgresUrl):
        yield
        return

    is_available = True

    def note(error: str | None) -> None:
        nonlocal is_available
        if is_available != (error is None):
            is_available = error is None
            key_signals_changed(error)

    async def listen(engine: AsyncEngine) -> None:
        """Listen until the connection ends. Raises the error of the connection."""
        async with engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            driver: Any = (await connection.get_raw_connection()).driver_connection
            ended = asyncio.Event()
            driver.add_termination_listener(lambda _: ended.set())
            await driver.add_listener(CHANNEL, lambda *_: changed())
            note(None)
            changed()
            while True:
                counted((await connection.scalars(_CHECK, {"name": SESSION})).one())
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_SECONDS):
                        await ended.wait()

    async def run() -> None:
        while True:
            try:
                await listen(engine)
            except Exception as error:  # the edge of a background task
                note(type(error).__name__)
                if isinstance(error, TimeoutError):
                    hung()
            await asyncio.sleep(PAUSE_SECONDS)

    engine = server_engine(
        database,
        name=SESSION,
        timeout_seconds=ANSWER_SECONDS,
        statement_timeout_seconds=ANSWER_SECONDS,
        poolclass=NullPool,
    )
    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        await engine.dispose()
