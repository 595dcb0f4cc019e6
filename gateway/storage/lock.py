"""Lock of a key store, so that only one gateway uses it.

Rules
- Two gateways with one store would each queue writes to the same worksheets, and could mistake rows
  of the other gateway for their own.
- The lock of a SQLite file is a lock file. The kernel releases the lock when the process ends. The
  lock file is never deleted, because two processes could then lock two files with the same name. It
  must not be a link, because locking empties the file.
- The lock of a PostgreSQL database is an advisory lock of a session. PostgreSQL releases it when
  the session ends, also when the server restarts. A separate thread keeps the session, and takes
  the lock again in a new session. If another gateway took the lock first, this process has lost the
  lock and must end.
"""

import asyncio
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.settings.database import Database, PostgresUrl
from gateway.settings.private_file import open_private
from gateway.storage.database import STORE_ERRORS, open_database

PAUSE_SECONDS = 0.02
_TAKEN = (errno.EAGAIN, errno.EACCES)


class LockError(Exception):
    """The lock of the key store is not available. The message says why."""


@contextmanager
def exclusive_lock(
    database: Path,
    *,
    max_wait_seconds: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold the lock file of a SQLite store during the block. The store's directory must exist.

    Waits at most `max_wait_seconds` for another process to release the lock, then raises LockError.
    """
    # The lock file is next to the real file, even if `database` is a link.
    real = Path(os.path.realpath(database))
    path = real.with_name(f"{real.name}.lock")
    try:
        descriptor = open_private(path)
    except OSError as error:
        raise LockError(f"{path} cannot be opened or created: {error.strerror}") from error
    try:
        ends = clock() + max_wait_seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise LockError(f"{path} cannot be locked: {error.strerror}") from error
            if clock() >= ends:
                number = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
                holder = f"process {number}" if number.isdecimal() else "another process"
                raise LockError(in_use(holder, database))
            sleep(PAUSE_SECONDS)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        except OSError as error:  # a full disk, or a pipe
            raise LockError(f"{path} cannot be written: {error.strerror}") from error
        yield
    finally:
        os.close(descriptor)


def in_use(holder: str, database: Database) -> str:
    """Returns a message to the operator that `holder` ("process 12") uses the key store."""
    return (
        f"{holder} already uses the key store {database}; "
        "only one gateway may use a key store: stop that gateway, or use another key store"
    )


CHECK_SECONDS = 1.0
"""Seconds between two queries that check whether the database session still exists."""
SESSION_PAUSE_SECONDS = 0.1
_TRY_LOCK = text("SELECT pg_try_advisory_lock('api_keys'::regclass::oid::bigint)")
_CHECK = text("SELECT 1")


def store_lock(
    database: Database, *, max_wait_seconds: float = 0.0, lost: Callable[[], object] = lambda: None
) -> AbstractContextManager[None]:
    """Hold the lock of a key store during the block: the lock file, or PostgreSQL's session lock.

    If another process holds the lock for longer than `max_wait_seconds`, raises LockError. If the
    database session ends and another gateway takes the lock, calls `lost` in another thread. The
    lock of a SQLite file cannot be lost.
    """
    if isinstance(database, PostgresUrl):
        return session_lock(database, max_wait_seconds=max_wait_seconds, lost=lost)
    return exclusive_lock(database, max_wait_seconds=max_wait_seconds)


@contextmanager
def session_lock(
    database: PostgresUrl,
    *,
    max_wait_seconds: float = 0.0,
    lost: Callable[[], object] = lambda: None,
) -> Iterator[None]:
    """Hold the session lock of a PostgreSQL store during the block.

    Waits at most `max_wait_seconds` for another process to release the lock, then raises LockError.
    Calls `lost` in another thread if another gateway took the lock after the session had ended.
    """
    stopped, acquired = threading.Event(), Future[None]()

    async def pause(seconds: float) -> None:
        await asyncio.to_thread(stopped.wait, seconds)

    async def hold(engine: AsyncEngine) -> None:
        """Hold the lock until `stopped` is set. Returns at once if another gateway has the lock.

        Raises an error if the session ends.
        """
        async with engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            if not await connection.scalar(_TRY_LOCK):
                return
            if not acquired.done():
                acquired.set_result(None)
            while not stopped.is_set():
                await pause(CHECK_SECONDS)
                await connection.execute(_CHECK)

    async def keep() -> None:
        async with open_database(database) as engine:
            while not stopped.is_set():
                try:
                    await hold(engine)
                except STORE_ERRORS:
                    if not acquired.done():
                        raise
                    await pause(CHECK_SECONDS)
                    continue
                if stopped.is_set():
                    return
                if acquired.done():
                    lost()
                    return
                if time.monotonic() >= ends:
                    raise LockError(in_use("another gateway", database))
                await pause(SESSION_PAUSE_SECONDS)

    def run() -> None:
        try:
            asyncio.run(keep())
        except BaseException as error:  # raised in the thread that waits for the lock
            if acquired.done():
                raise
            acquired.set_exception(error)

    ends = time.monotonic() + max_wait_seconds
    thread = threading.Thread(target=run, name="session lock", daemon=True)
    thread.start()
    try:
        acquired.result()
        yield
    finally:
        stopped.set()
        thread.join()
