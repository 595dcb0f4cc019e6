"""Heartbeats of this process in Redis, and its share of all rates while Redis is unavailable.

Rules
- A share is the fraction of each rate that a process can use while it does not reach Redis: 1/N
  with the last known number N of processes, or less until all processes know of it. The script
  keeps the sum of all shares at 1 or less.
- Other processes use the share of a process until they notice that its heartbeats are missing. So a
  process waits for this time after the last heartbeat that might have reached Redis. Only then does
  it use its share.
- A process that lost Redis probes it with a write. After a successful probe, the process stops
  using its share, and then sends a heartbeat. If this heartbeat fails, the process sends nothing
  for `rest_seconds`.
- A killed process is removed at once if another process runs on the same machine, else after two
  minutes (`kept_seconds`). If a process runs without Redis for longer than this, all processes
  together might exceed the rates by its share.
- Each process has a session in PostgreSQL. A process that never reached Redis takes the number of
  sessions as N. A lower number counts after two minutes, because a process that lost its session
  might still run. A process that has reached Redis before ignores a lower number. A higher number
  lowers its share, because processes can start while Redis is unavailable.
- If the number of sessions raises the share, the process waits for `settle_seconds`, so that
  processes that start at the same time see each other first. Without a number the share is 0.1.
"""

import math
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from gateway.cluster.scripts import HEARTBEAT, LEAVE, PROBE
from gateway.cluster.store import Store, StoreUnavailable, repeated

MEMBERS = "{gateway}:members"
_PROBE = "{gateway}:probe"

UNKNOWN_SHARE = 0.1
MICROSECONDS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Tempo:
    """Times of heartbeats in seconds, which decide when a process counts as present."""

    beat_seconds: float = 0.5
    """Time between two heartbeats, or between two probes of an unavailable Redis."""
    late_seconds: float = 0.5
    """Maximum delay of a heartbeat. Redis ignores a heartbeat with a longer delay."""
    silent_seconds: float = 1.5
    """Time without a heartbeat after which a process can use its share of rates without Redis."""
    settle_seconds: float = 2.0
    """Time in which all processes send a heartbeat to a Redis that lost its data."""
    kept_seconds: float = 120.0
    """Time without a heartbeat after which Redis removes a process."""
    rest_seconds: float = 10.0
    """Pause after a heartbeat that failed although a probe of Redis succeeded."""

    def script_arguments(self) -> Sequence[int]:
        """Return `silent_seconds`, `settle_seconds` and `kept_seconds` in microseconds."""
        seconds = (self.silent_seconds, self.settle_seconds, self.kept_seconds)
        return [round(each * MICROSECONDS) for each in seconds]


class Follower(Protocol):
    """Rates that use Redis while Redis is available. Both methods can be called repeatedly."""

    def disconnected(self, share: float, since: float) -> None:
        """Begin an outage of Redis. Use `share` of all rates from the monotonic time `since`."""

    def connected(self) -> None:
        """End an outage. Redis might have lost its data."""


class Membership:
    """Sends the heartbeats of this process, and computes its share of all rates."""

    def __init__(
        self,
        store: Store,
        *,
        tempo: Tempo = Tempo(),
        clock: Callable[[], float] = time.monotonic,
        counted: Callable[[int], None] = lambda _count: None,
        host: str | None = None,
    ) -> None:
        self._store = store
        self._store.lost = self._lost
        self.tempo = tempo
        self._clock = clock
        self._counted = counted
        self.id = secrets.token_hex(8)
        self._host, self._pid = host or socket.gethostname(), os.getpid()
        self._followers: list[Follower] = []
        self._share = 0.0
        self.count = 0
        """Last known number of processes, or 0 if unknown.

        A lower number counts only after a delay, because processes return one by one to a Redis
        that lost its data.
        """
        self._fewer_since = math.inf
        self.last = 0
        """Redis's time in microseconds at the last answered heartbeat, or 0."""
        self._was_disconnected = False
        self._ahead_seconds = 0.0
        """Redis's clock minus this process's clock, too low by up to the delay of an answer."""
        self._counts_until = -math.inf
        """Time on `clock` until which other processes might use this process's share of rates."""
        self._rests_until = -math.inf

    def follow(self, follower: Follower) -> None:
        self._followers.append(follower)
        if not self._store.is_available:
            follower.disconnected(self._usable_share, self._counts_until)

    async def beat(self) -> None:
        """Send a heartbeat. While Redis is unavailable, probe Redis first."""
        if self._clock() < self._rests_until:
            return
        try:
            if self._store.is_available:
                await self._register()
                return
            self._note_time(int(await self._store.probe(PROBE, [_PROBE])))
            self._rests_until = self._clock() + self.tempo.rest_seconds
            await self._register()
            self._rests_until = -math.inf
        except StoreUnavailable:
            self._was_disconnected = True

    def sessions_counted(self, count: int) -> None:
        """While Redis is unavailable, adopt the number of PostgreSQL sessions as process count."""
        if self._store.is_available or (self.last and count <= self.count):
            return
        known, share = self.count, self._usable_share
        # A process that lost its session, or that is silent in Redis, might still run.
        self._note_count(count, fewer_after_seconds=self.tempo.kept_seconds)
        if self.count == known:
            return
        self._counted(self.count)
        self._share = min(self._share, 1 / self.count)
        if self._usable_share != share:
            wait_seconds = self.tempo.settle_seconds if self._usable_share > share else 0.0
            self._counts_until = max(self._counts_until, self._clock() + wait_seconds)
        self._disconnect()

    async def leave(self) -> None:
        """Remove this process from Redis, after its last call to Google."""
        with suppress(StoreUnavailable):
            await self._store.run(LEAVE, [MEMBERS], self.id)

    async def _register(self) -> None:
        tempo, now = self.tempo, self._clock()
        self._counts_until = now + tempo.late_seconds + tempo.silent_seconds
        if not self._store.is_available:
            self._disconnect()
        deadline = round((now + self._ahead_seconds + tempo.late_seconds) * MICROSECONDS)
        is_on_time, seen, *rest = await self._store.probe(
            HEARTBEAT,
            [MEMBERS],
            self.id,
            2**53 if self._was_disconnected else self.last,
            f"{self._share:.6f}",
            f"{self._host} {self._pid}",
            deadline,
            *tempo.script_arguments(),
        )
        self._note_time(int(seen))
        if not is_on_time:
            return
        count, share, was_lost, *silent = rest
        self.last, self._share = int(seen), int(share) / MICROSECONDS
        self._was_disconnected = False
        self._note_count(count, fewer_after_seconds=self.tempo.settle_seconds)
        self._counted(count)
        if was_lost or not self._store.is_available:
            self._store.returned()
            for follower in self._followers:
                follower.connected()
        names = dict(zip(silent[::2], silent[1::2], strict=True))
        dead = [id_ for id_, name in names.items() if self._is_dead(name.decode(errors="replace"))]
        if dead:
            await self._store.run(LEAVE, [MEMBERS], *dead)

    def _note_count(self, count: int, *, fewer_after_seconds: float) -> None:
        now = self._clock()
        self._fewer_since = min(self._fewer_since, now) if count < self.count else math.inf
        if count >= self.count or now - self._fewer_since >= fewer_after_seconds:
            self.count = count

    def _note_time(self, redis_time: int) -> None:
        self._ahead_seconds = redis_time / MICROSECONDS - self._clock()

    @property
    def _usable_share(self) -> float:
        if self.last:
            return self._share
        return 1 / self.count if self.count else UNKNOWN_SHARE

    def _lost(self) -> None:
        self._was_disconnected = True
        self._disconnect()

    def _disconnect(self) -> None:
        for follower in self._followers:
            follower.disconnected(self._usable_share, self._counts_until)

    def _is_dead(self, name: str) -> bool:
        """True if the process `name` ("HOST PID") ran on this machine and has ended."""
        host, _, pid = name.rpartition(" ")
        if host != self._host:
            return False
        if int(pid) == self._pid:  # an earlier process of a restarted container
            return True
        try:
            os.kill(int(pid), 0)
        except (ProcessLookupError, OverflowError):  # too large for a process ID
            return True
        except PermissionError:
            return False
        return False


@asynccontextmanager
async def open_membership(
    store: Store, *, counted: Callable[[int], None]
) -> AsyncIterator[Membership]:
    """Register this process, and send heartbeats in a task. `counted` gets the process count."""
    membership = Membership(store, counted=counted)
    await membership.beat()
    try:
        async with repeated(membership.beat, membership.tempo.beat_seconds):
            yield membership
    finally:
        await membership.leave()
