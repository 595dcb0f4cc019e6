"""Clients that are slow on purpose, and how long a server keeps their sockets.

The clients run in one process, so that they take no CPU time of the measured server. Each client
sends its bytes slowly until the server closes the connection. The system's table of sockets shows
how long a server process held a socket; the client would notice the end later.
"""

import asyncio
import contextlib
import resource
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
BIT_SECONDS = 1.0
"""Seconds between two pieces that a client sends."""
LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 90.0
"""Maximum duration of a run."""
RECEIVE_BYTES = 4_096
"""Size of a client's receive buffer, so small that answers stay in the server."""
_SPARE_FILES = 256
_TABLE = Path("/proc/net/tcp")


@dataclass(frozen=True, kw_only=True)
class Habit:
    """The bytes that a client sends first, and the bytes that it sends each second after that."""

    name: str
    opening: bytes
    bit: bytes


@dataclass(frozen=True, kw_only=True)
class Fate:
    """How long a client's socket was kept; None if the run ended first."""

    habit: str
    held_seconds: float | None


@dataclass(kw_only=True)
class Watch:
    """Start of each client's connection, and the time when it was last open, by client port."""

    port: int
    began: dict[int, tuple[str, float]] = field(default_factory=dict)
    held: dict[int, float] = field(default_factory=dict)
    present: set[int] = field(default_factory=set)
    """Ports that were open at the last look."""
    are_gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def look(self, count: int) -> None:
        """Look until `count` connections have been opened and closed."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while (len(self.held) < count or self.present) and time.monotonic() < ends:
            await asyncio.sleep(LOOK_SECONDS)
            self.present = held_ports(self.port) & self.began.keys()
            self.held.update(dict.fromkeys(self.present, time.monotonic()))
        self.are_gone.set()

    def fates(self) -> Sequence[Fate]:
        """Return the result of each client, after `look`."""
        return [
            Fate(habit=name, held_seconds=self._held_seconds(port, began))
            for port, (name, began) in self.began.items()
        ]

    def _held_seconds(self, port: int, began: float) -> float | None:
        if port in self.present or port not in self.held:
            return None
        return self.held[port] + LOOK_SECONDS - began


def crowd(port: int, habits: Mapping[str, Habit], count: int) -> Sequence[Fate]:
    """Run `count` clients at once, evenly divided among the habits, until all are closed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + _SPARE_FILES, hard), hard))
    return asyncio.run(_crowd(port, [*habits.values()], count))


async def _crowd(port: int, habits: Sequence[Habit], count: int) -> Sequence[Fate]:
    watch = Watch(port=port)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch.look(count))
        for number in range(count):
            tasks.create_task(_be_slow(habits[number % len(habits)], watch))
    return watch.fates()


async def _be_slow(habit: Habit, watch: Watch) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        client.setblocking(False)
        await loop.sock_connect(client, (HOST, watch.port))
        watch.began[client.getsockname()[1]] = (habit.name, time.monotonic())
        with contextlib.suppress(ConnectionError):  # the server closed the connection
            await loop.sock_sendall(client, habit.opening)
            while not watch.are_gone.is_set():
                await asyncio.sleep(BIT_SECONDS)
                await loop.sock_sendall(client, habit.bit)
        await watch.are_gone.wait()


def held_ports(port: int) -> set[int]:
    """Return the client ports of connections that a local process on this port holds."""
    local = f"{socket.inet_aton(HOST)[::-1].hex().upper()}:{port:04X}"
    rows = (line.split() for line in _TABLE.read_text("ascii").splitlines())
    return {
        int(remote.rpartition(":")[2], 16)
        for _, here, remote, *_, inode in (row[:10] for row in rows)
        if here == local and inode != "0"
    }
