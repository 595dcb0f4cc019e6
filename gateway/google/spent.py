"""Spent quota in a file, so that a restart does not spend it again.

Rules
- The file has two numbers: the instants at which the whole burst of reads and of writes is there
  again, in seconds since the epoch. They are written before a call is sent.
- A wall clock that was set meanwhile costs a minute at most.
- Without the file, or where it cannot be written, quota is limited as before, and forgotten with
  the process.
"""

import os
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.telemetry.events import spent_file_failed

_PAIR = struct.Struct("<dd")

LONGEST_SECONDS = 70.0
"""The longest pause after a 429, and the burst."""


class SpentQuota:
    """The quota that is spent, in seconds until it is there again; `descriptor` None: no file."""

    def __init__(
        self, descriptor: int | None = None, *, now: Callable[[], float] = time.time
    ) -> None:
        self._descriptor = descriptor
        self._now = now
        self._full_at = [0.0, 0.0]
        if descriptor is not None:
            content = os.pread(descriptor, _PAIR.size, 0)
            if len(content) == _PAIR.size:
                self._full_at = [*_PAIR.unpack(content)]

    def seconds(self, *, is_write: bool) -> float:
        """The seconds until the whole burst of an earlier process is there again."""
        seconds = self._full_at[is_write] - self._now()
        return min(seconds, LONGEST_SECONDS) if seconds > 0 else 0.0

    def note(self, seconds: float, *, is_write: bool) -> None:
        """Store the seconds until the whole burst is there again."""
        self._full_at[is_write] = self._now() + seconds
        if self._descriptor is None:
            return
        try:
            os.pwrite(self._descriptor, _PAIR.pack(*self._full_at), 0)
        except OSError as error:  # a full disk
            spent_file_failed(error)
            self._descriptor = None


@asynccontextmanager
async def open_spent_quota(
    path: Path, *, now: Callable[[], float] = time.time
) -> AsyncIterator[SpentQuota]:
    """Open the file, which is created if needed; `now` gives seconds since the epoch."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        spent_file_failed(error)
        yield SpentQuota(now=now)
        return
    try:
        yield SpentQuota(descriptor, now=now)
    finally:
        os.close(descriptor)
