"""Membership of a process in the cluster of a Redis: heartbeats, and its share of the rates.

Rules
- A share is the part of each rate that a process may use while it does not reach Redis: 1/N with N
  processes as last seen, or less until the others know of it. The script keeps the sum at 1.
- Other processes use the share of a silent process until they notice its silence. So a process
  waits for that time after its last heartbeat that may have counted, before it uses its share.
- A process that returns stops using its share before it sends a heartbeat. It probes Redis with a
  write first; if heartbeats fail nevertheless, they pause for `rest_seconds`.
- A killed process is removed at once by others on its machine, and after two minutes by all others.
  A process that was cut off for longer may use its share beyond the rates.
- PostgreSQL has a session of each process. Their number is N for a process that never reached
  Redis; a lower one counts after two minutes, because a process that lost its session may run on.
  For others it only lowers the share: processes may start while Redis is unavailable.
- A share that grows by this number is used after `settle_seconds`, so that processes that start at
  the same time see each other first. A process without a number takes a tenth.
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
    """Intervals at which processes notice each other's coming and going."""

    beat_seconds: float = 0.5
    """Time between heartbeats, or between probes of Redis."""
    late_seconds: float = 0.5
    """Maximum delay of a heartbeat; a later one is void."""
    silent_seconds: float = 1.5
    """Time without a heartbeat after which others leave a process its share."""
    settle_seconds: float = 2.0
    """Time in which all processes return to a Redis that lost its data."""
    kept_seconds: float = 120.0
    """Time without a heartbeat after which a process is removed as dead."""
    rest_seconds: float = 10.0
    """Pause after a heartbeat that failed although a probe succeeded."""

    def script_arguments(self) -> Sequence[int]:
        """`silent_seconds`, `settle_seconds` and `kept_seconds` in microseconds."""
        seconds = (self.silent_seconds, self.settle_seconds, self.kept_seconds)
        return [round(each * MICROSECONDS) for each in seconds]


class Follower(Protocol):
    """State shared through Redis. Both methods may be called repeatedly."""

    def disconnected(self, share: float, since: float) -> None:
        """Redis is unavailable: use a share of all rates, from the instant `since` on."""

    def connected(self) -> None:
        """Redis is available, and may have lost its data."""


class Membership:
    """Heartbeats and share of this process."""

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
        """Number of processes as last seen; 0 if unknown.

        It shrinks with a delay: processes may return to a Redis that lost its data.
        """
        self._fewer_since = math.inf
        self.last = 0
        """Redis's time at the last heartbeat that it answered."""
        self._was_disconnected = False
        self._ahead_seconds = 0.0
        """Redis's clock minus this process's, minus at most the delay of an answer."""
        self._counts_until = -math.inf
        """The instant until which others may use the share of this process."""
        self._rests_until = -math.inf

    def follow(self, follower: Follower) -> None:
        self._followers.append(follower)
        if not self._store.is_available:
            follower.disconnected(self._usable_share, self._counts_until)

    async def beat(self) -> None:
        """Send a heartbeat; while Redis is unavailable, probe it first."""
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
        """Note the number of sessions in PostgreSQL, which counts while Redis is unavailable."""
        if self._store.is_available or (self.last and count <= self.count):
            return
        known, share = self.count, self._usable_share
        # A process that lost its session may run on, as may one that is silent in Redis.
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
        """Return the share, after the last call to Google."""
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
        """True if a silent process ran on this machine and has ended."""
        host, _, pid = name.rpartition(" ")
        if host != self._host:
            return False
        if int(pid) == self._pid:  # an earlier process of a restarted container
            return True
        try:
            os.kill(int(pid), 0)
        except (ProcessLookupError, OverflowError):  # process numbers are smaller
            return True
        except PermissionError:
            return False
        return False


@asynccontextmanager
async def open_membership(
    store: Store, *, counted: Callable[[int], None]
) -> AsyncIterator[Membership]:
    """Open a membership that sends heartbeats in a background task."""
    membership = Membership(store, counted=counted)
    await membership.beat()
    try:
        async with repeated(membership.beat, membership.tempo.beat_seconds):
            yield membership
    finally:
        await membership.leave()
