"""Spent quota in a file, so that a restart does not spend it again.

Rules
- Two numbers are stored: the instants at which the whole burst of reads and of writes is there
  again, in seconds since the epoch. The file has them before a call is sent.
- A wall clock that was set meanwhile, or a damaged number, costs a minute once.
- Without the file, or where it cannot be written, quota is limited as before, and forgotten with
  the process.
"""

import os
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.settings.private_file import open_private
from gateway.telemetry.events import spent_quota_failed

_PAIR = struct.Struct("<dd")

LONGEST_SECONDS = 70.0
"""The longest pause after a 429, and the burst."""


Instants = tuple[float, float]
"""Of reads and of writes."""

Keep = Callable[[Instants], None]
"""Stores the instants, without waiting for it."""


class SpentQuota:
    """The quota that is spent, in seconds until it is there again; `keep` stores it, if given."""

    def __init__(
        self,
        full_at: Instants = (0.0, 0.0),
        keep: Keep | None = None,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        latest = now() + LONGEST_SECONDS
        reads, writes = (min(latest, each) if each > 0 else 0.0 for each in full_at)  # 0 for NaN
        self._full_at = reads, writes
        self._keep = keep
        self._now = now

    def seconds(self, *, is_write: bool) -> float:
        """The seconds until the whole burst of an earlier process is there again."""
        return min(max(0.0, self._full_at[is_write] - self._now()), LONGEST_SECONDS)

    def note(self, seconds: float, *, is_write: bool) -> None:
        """Store the seconds until the whole burst is there again."""
        reads, writes = self._full_at
        full_at = self._now() + seconds
        self._full_at = (reads, full_at) if is_write else (full_at, writes)
        if self._keep is not None:
            self._keep(self._full_at)


@asynccontextmanager
async def open_spent_quota(
    path: Path, *, now: Callable[[], float] = time.time
) -> AsyncIterator[SpentQuota]:
    """Open the file, which is created if needed; `now` gives seconds since the epoch."""
    try:
        descriptor = open_private(path)
    except OSError as error:
        spent_quota_failed(error)
        yield SpentQuota(now=now)
        return
    try:
        yield SpentQuota(_read(descriptor), _writer(descriptor), now=now)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Instants:
    try:
        content = os.pread(descriptor, _PAIR.size, 0)
    except OSError as error:  # a pipe
        spent_quota_failed(error)
        return 0.0, 0.0
    if len(content) != _PAIR.size:
        return 0.0, 0.0
    reads, writes = _PAIR.unpack(content)
    return reads, writes


def _writer(descriptor: int) -> Keep:
    has_failed = False

    def write(full_at: Instants) -> None:
        nonlocal has_failed
        if has_failed:
            return
        try:
            os.pwrite(descriptor, _PAIR.pack(*full_at), 0)
        except OSError as error:  # a full disk
            has_failed = True
            spent_quota_failed(error)

    return write
