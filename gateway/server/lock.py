"""One gateway for each key store: a file lock beside it.

Rules: two gateways on one store would each queue the writes of the same worksheets, and could take
each other's rows for theirs. The kernel frees the lock with its process, however that ends; the
file stays, since taking it away would let two processes lock two files of the same name.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PAUSE_SECONDS = 0.02
_TAKEN = (errno.EAGAIN, errno.EACCES)


class LockError(Exception):
    """The lock cannot be had; the message says why."""


@contextmanager
def sole_user(
    database: Path,
    *,
    patience_seconds: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Have the key store to oneself for the time of the block; its directory has to be there.

    Waits for another process that has it as long as the patience lasts, then raises LockError.
    """
    path = _lock_file(database)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LockError(f"{path} cannot be opened or made: {error.strerror}") from error
    try:
        ends = clock() + patience_seconds
        while not _is_taken(descriptor, path):
            if clock() >= ends:
                raise LockError(_in_use(descriptor, database))
            sleep(PAUSE_SECONDS)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(descriptor)


def _lock_file(database: Path) -> Path:
    """`DATABASE.lock`, the same one by whichever link the database is named."""
    real = database.resolve()
    return real.with_name(f"{real.name}.lock")


def _is_taken(descriptor: int, path: Path) -> bool:
    """Whether the lock is ours now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise LockError(f"{path} cannot be locked: {error.strerror}") from error
    return True


def _in_use(descriptor: int, database: Path) -> str:
    holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    process = f"process {holder}" if holder.isdecimal() else "another process"
    return (
        f"{process} already serves with the key store {database}; "
        "one gateway serves a key store: end that one, or give this one a store of its own"
    )
