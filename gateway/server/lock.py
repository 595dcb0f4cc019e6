"""File lock: one gateway per key store.

Rules: two gateways with one store would each queue writes of the same worksheets, and could mistake
each other's rows for their own. The kernel releases the lock when the process ends. The lock file
is never deleted, because two processes could then lock two files of the same name. It is no link:
the lock empties what it opens.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.settings.database import Database
from gateway.settings.private_file import open_private

PAUSE_SECONDS = 0.02
_TAKEN = (errno.EAGAIN, errno.EACCES)


class LockError(Exception):
    """The lock is not available; the message says why."""


@contextmanager
def exclusive_lock(
    database: Path,
    *,
    max_wait_seconds: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold the key store's lock during the block; the directory must exist.

    Waits up to `max_wait_seconds` for another process to release it, then raises LockError.
    """
    path = _lock_file(database)
    try:
        descriptor = open_private(path)
    except OSError as error:
        raise LockError(f"{path} cannot be opened or created: {error.strerror}") from error
    try:
        ends = clock() + max_wait_seconds
        while not _try_lock(descriptor, path):
            if clock() >= ends:
                raise LockError(in_use(_holder(descriptor), database))
            sleep(PAUSE_SECONDS)
        _note_holder(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def in_use(holder: str, database: Database) -> str:
    """The message for an operator."""
    return (
        f"{holder} already uses the key store {database}; "
        "only one gateway may use a key store: stop that one, or use another key store"
    )


def _lock_file(database: Path) -> Path:
    """`DATABASE.lock` beside the real file, even if the database is named by a link."""
    real = Path(os.path.realpath(database))
    return real.with_name(f"{real.name}.lock")


def _try_lock(descriptor: int, path: Path) -> bool:
    """True if we hold the lock now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise LockError(f"{path} cannot be locked: {error.strerror}") from error
    return True


def _note_holder(descriptor: int, path: Path) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    except OSError as error:  # a full disk, or a pipe
        raise LockError(f"{path} cannot be written: {error.strerror}") from error


def _holder(descriptor: int) -> str:
    holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    return f"process {holder}" if holder.isdecimal() else "another process"
